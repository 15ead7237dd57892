"""Ask a service for a second opinion on texts: in threads, outside of all locks, and within a limited time."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from abound.errors import AboundError
from abound.second_opinion.outside import OutsideOpinion
from abound.server.http.encoding import encode
from abound.server.opinions import Heard, Scores
from abound.server.queries import TextRow
from abound.server.replica import Replica
from abound.store.names import Name
from abound.texts import Text, joined

ASKED_LABELS = 20  # the best labels of a text
AT_ONCE = 8  # questions of a process
SILENCES = 3  # questions in a row without an answer, after which the other texts of a request are not asked about
REMEMBERED = 1000  # texts whose scores a correction can have
RESULTS = ("answered", "failed", "cached", "over_budget", "paused")


class Opinions:
    """What a service says about texts.

    Parameters
    ----------
    service : OutsideOpinion
    timeout : float
        How many seconds all texts of a request may take.
    """

    def __init__(self, service: OutsideOpinion, timeout: float) -> None:
        self._service, self._timeout = service, timeout
        self._pool = ThreadPoolExecutor(AT_ONCE, "abound-opinion")
        self._remembered: OrderedDict[str, Scores] = OrderedDict()

    @property
    def counts(self) -> dict[str, int]:
        """How many questions had each of the results."""
        counts = self._service.counts
        return {result: getattr(counts, result) for result in RESULTS}

    @property
    def is_failing(self) -> bool:
        """Whether the last request failed."""
        return self._service.is_failing

    def close(self) -> None:
        """End the threads; questions that wait are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def hear(self, replica: Replica, texts: Sequence[Text]) -> Heard:
        """Return the scores of the best labels of texts; texts without an answer in time are left out."""
        heard: dict[str, Scores] = {}
        waiting = iter({joined(text): text for text in texts}.items())
        round_ = _Round()
        try:
            async with asyncio.timeout(self._timeout), asyncio.TaskGroup() as group:
                for _ in range(min(AT_ONCE, len(texts))):
                    group.create_task(self._ask_next(replica, waiting, heard, round_))
        except TimeoutError:
            pass
        return heard

    async def hear_about(self, replica: Replica, text: Text) -> Scores | None:
        """Return the scores for a text that is learned: those of its last ranking, otherwise the service is asked."""
        known = self._remembered.get(joined(text))
        return known if known is not None else (await self.hear(replica, [text])).get(joined(text))

    async def _ask_next(
        self, replica: Replica, waiting: Iterator[tuple[str, Text]], heard: dict[str, Scores], round_: "_Round"
    ) -> None:
        """Ask about one text after another."""
        for key, text in waiting:
            if round_.silences >= SILENCES:
                return
            try:
                labels = await _best_labels(replica, text)
            except AboundError:  # the ranking will say why
                return
            scores = await self._ask(text, labels)
            round_.silences = round_.silences + 1 if scores is None else 0
            if scores:
                heard[key] = scores
                self._remember(key, scores)

    async def _ask(self, text: Text, labels: list[tuple[Name, str]]) -> Scores | None:
        by_id = {str(label): (label, name) for label, name in reversed(labels)}  # 7 and "7" are the same to a service
        question = [(given, name) for given, (_, name) in by_id.items()]
        scores = await asyncio.get_running_loop().run_in_executor(self._pool, self._service.ask, text, question)
        return None if scores is None else {by_id[given][0]: score for given, score in scores.items()}

    def _remember(self, key: str, scores: Scores) -> None:
        self._remembered[key] = scores
        self._remembered.move_to_end(key)
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)


class _Round:
    """The questions of one request."""

    def __init__(self) -> None:
        self.silences = 0


async def _best_labels(replica: Replica, text: Text) -> list[tuple[Name, str]]:
    """Return the best labels of a text with their names; other requests are answered between the steps."""
    await encode(replica, [text])
    row = TextRow(replica, text)
    await asyncio.sleep(0)
    with replica.reading():
        name_of = replica.tagger.name_of
        return [(entry.label, name_of(entry.label)) for entry in row.rank(ASKED_LABELS)]

"""Rank and learn on a server instead of a loaded model, for --server."""

import hashlib
import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.label_names import note_labels
from abound.cli.rank_changes import DEPTH, compare, ranks_of
from abound.closing import Closing
from abound.texts import Text

if TYPE_CHECKING:
    from abound.cli.inputs import Inputs
    from abound.client import Ranked
    from abound.data import Document
    from abound.tagger import BandedEntry, Entry

ServerOption = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Use a server, such as http://127.0.0.1:8000, instead of MODEL."),
]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", envvar="ABOUND_KEY", help="API key of the server.")
]
SOURCE = "command line"  # of records
MODEL_HELP = "A model directory, or the home of a served model; omit it with --server."


class RemoteTagger(Closing):
    """Rank on a server with the interface of a tagger."""

    def __init__(self, url: str, key: str | None, *, paths: bool = False) -> None:
        from abound.client import Client

        self.client = Client(url, key=key, source=SOURCE)
        self.label_names: dict[str, list[str]] = {}  # of the labels that were ranked
        self._paths = paths
        self._path_of: dict[str, list[str]] = {}

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def rank_many(self, texts: Sequence[Text], k: int = 10, **choosing: Any) -> "list[list[Entry]]":
        """Rank the best labels of each text."""
        from abound.tagger import Entry

        rankings = self._remember_names(self.client.rank_many(texts, k, paths=self._paths, **choosing))
        return [[Entry(entry.label, entry.score, entry.rank, entry.probability) for entry in row] for row in rankings]

    def assign_many(
        self, texts: Sequence[Text], *, threshold: float | None = None, precision: float | None = None, **choosing: Any
    ) -> "list[list[Entry]]":
        """Return the labels to apply to each text."""
        from abound.tagger import Entry

        decision: dict[str, Any] = {"threshold": threshold, "precision": precision}
        rankings = self._remember_names(self.client.assign_many(texts, paths=self._paths, **decision, **choosing))
        return [[Entry(entry.label, entry.score, entry.rank, entry.probability) for entry in row] for row in rankings]

    def rank_with_bands_many(self, texts: Sequence[Text]) -> "list[list[BandedEntry]]":
        """Rank the labels of each text and assign them to bands."""
        from abound.tagger import BandedEntry

        rankings = self._remember_names(self.client.rank_many(texts, bands=True, paths=self._paths))
        return [
            [BandedEntry(entry.label, entry.score, entry.rank, entry.probability, str(entry.band)) for entry in row]
            for row in rankings
        ]

    def _remember_names(self, rankings: "list[list[Ranked]]") -> "list[list[Ranked]]":
        for row in rankings:
            for entry in row:
                if entry.name is not None:
                    self.label_names[str(entry.label)] = [entry.name]
                if entry.path is not None:
                    self._path_of[str(entry.label)] = entry.path
        return rankings

    def path_names(self, label: Any) -> list[str]:
        """Return the names of the labels on the path to a ranked label."""
        above = self._path_of.get(str(label))
        return [] if above is None else [*above, self.name_of(label)]

    def name_of(self, label: Any) -> str:
        """Return the display name of a label."""
        return self.label_names.get(str(label), [str(label)])[0]


def model_and_input(model: str | None, what: str | None, server: str | None) -> tuple[str | None, str | None]:
    """Return the model and the input. With a server, there is no model and the first argument is the input."""
    if server is None:
        if model is None:
            raise typer.BadParameter("give a MODEL, or a server with --server")
        return model, what
    if what is not None:
        raise typer.BadParameter("omit MODEL with --server; give one argument")
    return None, model


def teach_server(
    url: str, key: str | None, text: Text, labels: list[str], wrong: list[str], labels_are: str
) -> dict[str, Any]:
    """Teach a server one text, and return the ranks of its labels before and after."""
    from abound.client import Client

    with Client(url, key=key, source=SOURCE) as client:
        before = ranks_of(client.rank(text, DEPTH))
        started = time.perf_counter()
        learned = client.learn(text, added=labels, rejected=wrong, labels_are=labels_are)
        seconds = time.perf_counter() - started
        after = ranks_of(client.rank(text, DEPTH))
    note_labels(learned.resolved, learned.new_labels)
    shown = [str(learned.resolved.get(label, label)) for label in labels + wrong]
    taught = compare(shown, before, after)
    return {"rows": 1, "seconds": round(seconds, 6), "sequence": learned.sequence, "taught": taught}


def learn_on_server(url: str, key: str | None, inputs: "Inputs", labels_are: str) -> dict[str, Any]:
    """Send every row of a file to a server. Rows that were sent before are not learned again."""
    from abound.cli.progress import Progress
    from abound.client import Client

    rows = repeated = unlabelled = sequence = 0
    resolved: dict[str, Any] = {}
    made: list[Any] = []
    with Client(url, key=key, source=SOURCE) as client, Progress("learning", inputs.share) as progress:
        for number, document in enumerate(inputs.training_rows()):
            if not document.labels and not document.wrong:
                unlabelled += 1
                continue
            decisions: dict[str, Any] = {"added": document.labels, "rejected": document.wrong, "labels_are": labels_are}
            learned = client.learn(document.text, **decisions, key=key_of_row(number, document))
            resolved |= learned.resolved
            made += learned.new_labels
            rows, repeated, sequence = rows + 1, repeated + learned.repeated, learned.sequence
            progress.update(rows)
        seconds = progress.seconds
    inputs.note_skipped()
    note_labels(resolved, made)
    return {
        "rows": rows,
        "rows_without_label": unlabelled,
        "learnt_before": repeated,
        "skipped": inputs.n_skipped,
        "seconds": round(seconds, 3),
        "sequence": sequence,
    }


def key_of_row(number: int, document: "Document") -> str:
    """Return the idempotency key of a row, so that the same file can be sent again."""
    wrong = [document.wrong] if document.wrong else []
    content = json.dumps([number, document.text, document.labels, *wrong]).encode()
    return "row-" + hashlib.blake2b(content, digest_size=16).hexdigest()

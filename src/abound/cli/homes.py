"""The homes of served models: learning in them, and which model they were created from."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abound.cli.common import note
from abound.cli.label_names import note_labels
from abound.cli.rank_changes import DEPTH, compare, ranks_of
from abound.cli.remote import SOURCE, key_of_row
from abound.texts import Text

if TYPE_CHECKING:
    from abound.cli.inputs import Inputs
    from abound.server import Home, Writer

TEACH = "teach the server with --server URL instead of a home"
WAITING = 256  # rows that wait for a commit


def is_home(path: str | Path) -> bool:
    """Return whether a directory is the home of a served model."""
    from abound import store

    return store.is_home(path)


def count_corrections(home: "Home") -> int:
    """Return how many corrections of a home count; those that are no longer kept are not known."""
    from abound.store.journal import Journal
    from abound.store.journal.records import Learn

    with Journal(home.journal_path) as journal:
        excluded = set(journal.lineage().excluded)
        stored = (one for one in journal.read(journal.start) if one.sequence not in excluded)
        return sum(isinstance(one.record, Learn) for one in stored)


def _corrections(home: "Home") -> str:
    number = count_corrections(home)
    return f"{number:,} correction{'' if number == 1 else 's'}"


def note_served(model: str) -> None:
    """Print that the home beside a model, if there is one, keeps serving the model that was there before."""
    beside = Path(model).with_name(Path(model).name + ".served")
    if is_home(beside):
        from abound.server import Home

        note(
            f"{beside} keeps serving the old model with {_corrections(Home(beside))}; run `abound refit {beside} DATA` "
            "to move them to a new model"
        )


def note_other_origin(model: str, home: "Home", report: Callable[[str], None] = note) -> None:
    """Report if a home was created from another model than the one that is now in the model's directory."""
    if Path(model).resolve() == home.path.resolve():
        return
    from abound.errors import ModelError
    from abound.store.directory import read_manifest

    origin = home.origin()
    try:
        current = str(read_manifest(Path(model))["state_hash"])
    except ModelError:  # the model is gone or damaged, and is not needed
        return
    if origin is not None and origin.state_hash != current:
        report(
            f"{home.path} was created from another model than {model} has now; it keeps serving its own model with "
            f"{_corrections(home)}; run `abound refit {home.path} DATA` to move them to a new model"
        )


def teach_home(path: str, text: Text, labels: list[str], wrong: list[str], labels_are: str) -> dict[str, Any]:
    """Teach a home that is not being served one text, and return the ranks of its labels before and after."""
    from abound.store.journal import Origin
    from abound.store.journal.records import Learn

    with open_writer(path, TEACH) as writer:
        replica = writer.replica
        before = ranks_of(replica.rank(text, DEPTH)) if replica.tagger.n_rows else {}
        started = time.perf_counter()
        record = Learn(text, (), tuple(wrong), tuple(labels), None if labels_are == "either" else labels_are)
        receipt = writer.submit(record, origin=Origin(source=SOURCE)).result()
        seconds = time.perf_counter() - started
        note_labels(receipt.resolved, receipt.new_labels)
        given = [receipt.resolved.get(label, label) for label in labels + wrong]
        shown = map(str, replica.labels.resolve_all(given))
        taught = compare(shown, before, ranks_of(replica.rank(text, DEPTH)))
    return {"rows": 1, "seconds": round(seconds, 6), "sequence": receipt.sequence, "taught": taught}


def learn_in_home(path: str, inputs: "Inputs", labels_are: str) -> dict[str, Any]:
    """Write every row of a file to the journal of a home; rows that were written before are not learned again."""
    from abound.cli.inputs import chunks
    from abound.cli.progress import Progress
    from abound.store.journal import Origin
    from abound.store.journal.records import Learn

    rows = repeated = unlabelled = sequence = number = 0
    how = None if labels_are == "either" else labels_are
    resolved: dict[str, Any] = {}
    made: list[Any] = []
    with (
        open_writer(path, TEACH) as writer,
        Progress("learning", inputs.share) as progress,
    ):
        for chunk in chunks(inputs.training_rows(), WAITING):
            answers = []
            for document in chunk:
                if document.labels or document.wrong:
                    record = Learn(document.text, (), document.wrong, document.labels, how)
                    answers.append(writer.submit(record, key_of_row(number, document), Origin(source=SOURCE)))
                else:
                    unlabelled += 1
                number += 1
            for answer in answers:
                receipt = answer.result()
                resolved |= receipt.resolved
                made += receipt.new_labels
                rows, repeated, sequence = rows + 1, repeated + receipt.repeated, receipt.sequence
            progress.update(rows)
        seconds = progress.seconds
    inputs.note_skipped()
    note_labels(resolved, made)
    counts = {"rows": rows, "rows_without_label": unlabelled, "learnt_before": repeated, "skipped": inputs.n_skipped}
    return {**counts, "seconds": round(seconds, 3), "sequence": sequence}


def open_writer(path: str, remedy: str) -> "Writer":
    """Open the journal of a home for writing; if it is being served, an error says what to do instead."""
    from abound.errors import JournalInUse
    from abound.server import Home, Writer

    try:
        return Writer(Home(path), report=note)
    except JournalInUse:
        raise ValueError(f"{path} is being served; {remedy}") from None

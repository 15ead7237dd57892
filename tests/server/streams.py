"""Streams of records with a known result, and the state that they lead to without journal or snapshot."""

import random

from abound import Tagger
from abound.server import Replica
from abound.server.labels import LabelTable
from abound.store.journal.records import AddLabel, BandFeedback, Learn, MergeLabels, RenameLabel, RetireLabel
from abound.store.names import Name

WORDS = ["apple", "pear", "car", "lorry", "track", "sauce", "pasta", "run", "red", "fast", "old", "pie"]
LABELS = ["fruit", "vehicle", "sport", "cooking", "colour", "age"]


def base() -> Tagger:
    return Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle", "sport"]])


def visible(table: LabelTable) -> list[Name]:
    return [name for name in table.book.names if name not in table.aliases and name not in table.retired]


def lesson(number: int, seed: int = 0) -> Learn:
    chance = random.Random(f"{seed}-{number}")
    text = " ".join(chance.choices(WORDS, k=5)) + f" word{number}"
    right = chance.choice(LABELS)
    wrong = chance.choice([label for label in LABELS[:4] if label != right])  # the others will be one
    if wrong not in LABELS[:3]:  # a label that is rejected must be known, and the first model has these
        wrong = next(label for label in LABELS if label != right)
    rejected = [wrong] if chance.random() < 0.4 else []
    if chance.random() < 0.2:
        return Learn(text, added=[f"label{number}"], rejected=rejected)
    return Learn(text, accepted=[right], rejected=rejected)


def stream(n, seed=0):
    """Return n records that can all be applied, with surgery among them."""
    surgery = {
        4: AddLabel("weather", ["rain and snow"]),
        7: AddLabel("plain"),
        9: RenameLabel("weather", "climate"),
        12: BandFeedback("fruit", 0.25, "suggest", "apply", "red apple pie"),
        14: MergeLabels("plain", "climate"),
        17: AddLabel("gone"),
        19: RetireLabel("gone"),
        22: MergeLabels("age", "colour"),
        25: BandFeedback("fruit", 0.5, "apply", "apply"),
        28: AddLabel("gone"),
    }
    first = [Learn("old and red", added=["age", "colour"])]
    return [*first, *(surgery.get(i) or lesson(i, seed) for i in range(1, n))][:n]


def trained(records) -> Replica:
    """Return a replica that has applied records one after another, from the first model."""
    replica = Replica(base())
    for sequence, record in enumerate(records, 1):
        replica.check(record)
        replica.apply(sequence, record)
    return replica

"""The state of a home as a tagger: it ranks, explains and measures what the server shows."""

import random

import numpy as np
import pytest

import abound
from abound import Tagger
from abound.calibration import Decision
from abound.errors import UnknownFormat
from abound.server import Home, Replica, Writer
from abound.server.queries import assign, cut
from abound.server.served import ServedTagger, open_state
from abound.store.journal.records import AddLabel, BandFeedback, Learn, MergeLabels, RenameLabel, RetireLabel

WORDS = [f"w{i}" for i in range(60)]


def texts(seed, n):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=8)) for _ in range(n)]


def labels_of(text):
    return sorted({f"l{int(word[1:]) % 20}" for word in text.split()[:2]})


@pytest.fixture
def home(tmp_path):
    learned = texts(1, 400)
    tagger = Tagger(ranker_params={"few_labels": 10}).fit(learned, [labels_of(text) for text in learned])
    tagger.feedback_many(learned[:50], [labels_of(text) for text in learned[:50]])
    home = Home.create(tmp_path / "served", tagger)
    records = [
        Learn("w3 w4 something new", added=["fresh"], rejected=["l3"]),
        MergeLabels("l1", "l2"),
        MergeLabels("l5", "l2"),
        RenameLabel("l6", "six"),
        RetireLabel("l7"),
        AddLabel("later", ["a later label"]),
        Learn("w9 w10 w11", accepted=["six"], rejected=["l2"]),
        BandFeedback("l9", 0.5, "apply", "hide", "w9 w10"),
    ]
    with Writer(home) as writer:
        for record in records:
            writer.submit(record).result(30)
    return home


@pytest.fixture
def replica(home):
    with Writer(home) as writer:
        return writer.replica


def test_the_state_of_a_home_ranks_as_the_server(home, replica):
    state, some = abound.load(home.path), texts(2, 30)
    assert isinstance(state, ServedTagger)
    assert state.sequence == 8
    for k in (1, 3, 10, 40):
        assert state.rank_many(some, k) == replica.rank_many(some, k)
    assert "l7" not in {entry.label for row in state.rank_many(some, 40) for entry in row}
    assert state.assign_many(some, keep_parents=True) == assign(replica, some, Decision(), keep_parents=True)
    assert state.rank_with_bands_many(some) == cut(replica, some)
    assert state.explain(some[0], "l1") == replica.explain(some[0], "l1")
    assert state.explain(some[0], "l1").label == "l2"
    with pytest.raises(ValueError, match="is retired"):
        state.explain(some[0], "l7")
    only = state.rank(some[0], 5, only=["l6", "l1"])
    assert only == replica.rank_many(some[:1], 5, replica.chooser(["l6", "l1"], []))[0]
    assert {entry.label for entry in only} <= {"six", "l2"}
    assert state.state_hash() == replica.state_hash()


def test_truth_is_read_by_the_current_names(home, replica):
    state, some = abound.load(home.path), texts(3, 200)
    true = [labels_of(text) for text in some]
    shown = [{replica.labels.resolve(name) for name in names} - {"l7"} for names in true]
    measured = state.evaluate(some, true, k=5).metrics(["P@1"])["P@1"].value
    kept = [(text, names) for text, names in zip(some, shown, strict=True) if names]
    hits = [replica.rank(text, 1)[0].label in names for text, names in kept]
    assert measured == pytest.approx(np.mean(hits))
    assert any("l7" in names for names in true)
    assert state.evaluate(some, true).n_labelled == len(kept)
    assert state.n_shown == state.n_labels - 3
    counts = state.label_counts
    number, plain = state.ranker.labels_.id_of, replica.tagger.label_counts
    assert counts[number("l2")] == sum(plain[number(name)] for name in ("l1", "l2", "l5"))
    assert counts[number("l1")] == counts[number("l7")] == 0


def test_a_state_learns_as_a_replica_does_and_the_journal_stays(home, replica):
    state = open_state(home)
    state.learn("w20 w21 apples", ["l6"], wrong=["l1"])
    replica.apply(9, Learn("w20 w21 apples", added=["l6"], rejected=["l1"]))
    assert state.state_hash() == replica.state_hash()
    with pytest.raises(ValueError, match="is retired"):
        state.learn("w1", ["l7"])
    assert open_state(home).sequence == 8
    for refused in (lambda: state.fit(["a"], [["b"]]), lambda: state.predict(["a"])):
        with pytest.raises(NotImplementedError):
            refused()


def test_a_saved_state_keeps_the_label_edits(home, tmp_path):
    state, some = abound.load(home.path), texts(4, 20)
    state.save(tmp_path / "model")
    again = abound.load(tmp_path / "model")
    assert again.rank_many(some) == state.rank_many(some)
    assert again.state_hash() == state.state_hash()
    assert type(abound.load(home.snapshot_path(0))) is Tagger
    with pytest.raises(UnknownFormat, match=r"home of a served model; load it with abound\.load"):
        Tagger.load(home.path)
    with pytest.raises(ValueError, match="d_max"):
        abound.load(home.path, d_max=3)


def test_merged_homes_keep_their_label_edits(home, tmp_path):
    state = abound.load(home.path)
    learned = texts(5, 100)
    other = Tagger(ranker_params={"few_labels": 10}).fit(learned, [labels_of(text) for text in learned])
    merged = abound.merge(state, other)
    assert isinstance(merged, ServedTagger)
    assert (merged.table.resolve("l1"), merged.table.resolve("l6")) == ("l2", "six")
    assert merged.table.retired == set()  # the other model still uses it
    assert type(abound.merge(other, other)) is Tagger
    both = abound.merge(state, abound.load(home.path))
    assert both.table.retired == {"l7"}
    assert not {"l1", "l5", "l6", "l7"} & {entry.label for row in both.rank_many(learned) for entry in row}
    again = Replica(Tagger())
    assert not again.labels.aliases

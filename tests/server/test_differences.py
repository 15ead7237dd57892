"""The difference of two states: votes, texts, label edits and people."""

import pytest

from abound.errors import JournalError
from abound.server import Home, Writer, differences
from abound.server.differences import compare_states
from abound.server.snapshotter import write_snapshot
from abound.store.journal import Origin
from abound.store.journal.records import AddLabel, Learn, MergeLabels, RenameLabel, Undo
from tests.server.streams import base, trained

RECORDS = [
    (Learn("a green pear", added=["fruit"]), "ann"),
    (Learn("a sour pear", added=["fruit"], rejected=["vehicle"]), "bob"),
    (AddLabel("cooking"), None),
    (Learn("pear sauce", added=["cooking", "dessert"]), "bob"),
    (RenameLabel("vehicle", "vehicles"), "ann"),
    (Learn("a fast lorry", added=["vehicles"]), "ann"),
    (MergeLabels("dessert", "cooking"), "ann"),
]


@pytest.fixture
def home(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Writer(home, snapshot_every=None) as writer:
        for record, who in RECORDS:
            writer.submit(record, origin=Origin(who)).result(30)
    return home


def vote_of(replica, word, label):
    """Return a word's vote in a text of this word only, without the label's bias."""
    if label not in replica.labels.book:
        return 0.0
    explained = replica.explain(word, label)
    return sum(vote.vote for vote in explained.words if vote.word == word)


def test_a_difference_that_was_computed_by_hand(home):
    found = compare_states(home, 1, 6)
    assert found.corrections == {"bob": 2, "ann": 1}
    assert [(edit["sequence"], edit["kind"]) for edit in found.edits] == [(3, "add label"), (5, "rename label")]
    assert found.added == ["cooking", "dessert"]  # "vehicles" was known as "vehicle"
    # The base has one text of fruit, vehicle and sport each; record 1 is another text of fruit.
    assert {name: found.texts[name] for name in ("fruit", "vehicles", "cooking", "dessert")} == {
        "fruit": (2, 3),
        "vehicles": (1, 2),
        "cooking": (0, 1),
        "dessert": (0, 1),
    }
    assert not found.is_partial
    best = {one.name: one.votes for one in found.labels}
    assert {"sauce", "lorry"} <= {one.name for one in found.words}
    assert {vote.before for vote in best["cooking"]} == {0.0}
    assert all(vote.after != 0.0 for vote in best["cooking"])


def test_votes_are_those_of_the_two_states(home):
    found = compare_states(home, 1, 4)
    before, after = (trained([record for record, _ in RECORDS[:n]]) for n in (1, 4))
    compared = 0
    for change in found.labels:
        for vote in change.votes:
            if " " not in vote.name:
                assert vote.before == pytest.approx(vote_of(before, vote.name, change.name), abs=1e-6)
                assert vote.after == pytest.approx(vote_of(after, vote.name, change.name), abs=1e-6)
                compared += 1
        amounts = [abs(vote.change) for vote in change.votes]
        assert amounts == sorted(amounts, reverse=True)
        assert change.amount >= sum(amounts) - 1e-6
    assert compared > 5
    amounts = [change.amount for change in found.words]
    assert amounts == sorted(amounts, reverse=True)
    by_pair = {(label.name, vote.name): vote for label in found.labels for vote in label.votes}
    for word in found.words:
        for vote in word.votes:
            other = by_pair.get((vote.name, word.name))
            assert other is None or (other.before, other.after) == (vote.before, vote.after)


def test_a_merged_label_has_the_votes_of_its_parts(home):
    found = compare_states(home, 6, 7)
    assert found.edits == [{"sequence": 7, "kind": "merge labels", "label": "dessert", "into": "cooking"}]
    assert (found.added, dict(found.corrections), found.words) == ([], {}, [])  # both parts voted before, too


def test_snapshots_do_not_change_the_difference(home):
    without = compare_states(home, 2, 6)
    write_snapshot(home, 2)
    write_snapshot(home, 4)
    assert compare_states(home, 2, 6) == without


def test_an_undo_is_seen_and_its_record_counts_before_it(home):
    with Writer(home, snapshot_every=None) as writer:
        writer.change(Undo([4, 7]), origin=Origin("ann")).result(60)
    found = compare_states(home, 7, 8)
    assert (found.texts["cooking"], found.edits, dict(found.corrections)) == ((2, 0), [], {})
    assert {vote.after for vote in next(one for one in found.labels if one.name == "cooking").votes} == {0.0}
    assert compare_states(home, 3, 8).corrections == {"ann": 1}
    assert "dessert" not in compare_states(home, 3, 8).added


def test_states_that_cannot_be_built_are_refused(home, monkeypatch):
    for first, second in ((3, 3), (5, 2), (0, 8), (-1, 3)):
        with pytest.raises(JournalError, match="the earlier one first"):
            compare_states(home, first, second)
    monkeypatch.setattr(Home, "snapshots", lambda _: [4])
    with pytest.raises(JournalError, match="there are snapshots of 4"):
        compare_states(home, 2, 6)


def test_the_memory_is_limited(home, monkeypatch):
    whole = compare_states(home, 0, 7)
    monkeypatch.setattr(differences, "MAX_CELLS", 3 * whole.n_compared[0])
    part = compare_states(home, 0, 7)
    assert part.is_partial
    assert part.n_compared == (whole.n_compared[0], 3)
    assert part.words[0].name == "pear"  # the most frequent word
    monkeypatch.setattr(differences, "MAX_LABELS", 2)
    assert compare_states(home, 0, 7).n_compared[0] == 2
    monkeypatch.setattr(differences, "MAX_CHARACTERS", 20)
    assert compare_states(home, 0, 7).is_partial

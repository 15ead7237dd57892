"""The history of a replica's corrections."""

from abound import Tagger
from abound.server import Home, Replica, Writer
from abound.server.history import EXAMPLES, WINDOW, History
from abound.server.home import OUTCOMES
from abound.store.journal.records import Forget, Learn, RenameLabel, Undo


def history_of(*rights):
    """Return a history in which the first label was right or wrong, correction by correction."""
    history = History()
    for sequence, right in enumerate(rights, 1):
        record = Learn("text", added=["yes"])
        history.evaluate(sequence, record, lambda *_, right=right: ["yes" if right else "no"])
        history.note(sequence, record)
    return history


def test_the_prediction_is_the_one_before_learning():
    replica = Replica(Tagger().fit(["a red apple"], [["fruit"]]))
    replica.apply(1, Learn("a red apple", accepted=["fruit"]))
    replica.apply(2, Learn("a red apple", added=["cider"]))
    replica.apply(3, Learn("a red apple", added=["cider"]))
    assert [outcome.right for outcome in replica.history.outcomes] == [True, False, True]
    assert replica.history.learned == 3


def test_a_rejection_counts_only_against_the_first_label():
    replica = Replica(Tagger().fit(["a red apple", "a red car"], [["fruit"], ["vehicle"]]))
    replica.apply(1, Learn("a red apple", rejected=["vehicle"]))  # it was second: nothing is known about the first
    replica.apply(2, Learn("a red apple", rejected=["fruit"]))
    assert [(outcome.sequence, outcome.right) for outcome in replica.history.outcomes] == [(2, False)]


def test_the_window_holds_a_thousand():
    history = history_of(*[False] * 200, *[True] * WINDOW)
    assert len(history.outcomes) == WINDOW
    assert all(outcome.right for outcome in history.outcomes)
    assert history.learned == WINDOW + 200


def test_offers_count_the_first_ten_labels_by_their_current_names():
    history, ranked = History(), [f"l{rank}" for rank in range(1, 12)]
    history.evaluate(1, Learn("text", accepted=["l2"]), lambda _, k: ranked[:k])
    history.evaluate(2, Learn("text", rejected=["l1", "l2"]), lambda _, k: ranked[:k])  # the others are not known
    history.evaluate(3, Learn("text", added=["new"]), lambda _, k: ranked[:k])
    offers = history.offers(3, lambda name: "l2" if name == "l3" else name)
    assert offers["l1"] == (3, 3)
    assert offers["l2"] == (3 + 2, 2 + 2)  # with those of l3
    assert offers["l10"] == (2, 2)
    assert "l11" not in offers
    assert "new" not in offers


def test_the_last_correction_of_a_label_is_known_by_all_its_names():
    history = History()
    history.note(1, Learn("text", accepted=["a"], rejected=["b"]), 1_000)
    history.note(2, Learn("text", added=["b"]), 2_000)
    assert [history.changed(names) for names in (["a"], ["b"], ["a", "b"], ["c"])] == [1_000, 2_000, 2_000, 0]
    assert list(history.recent()) == ["b", "a"]
    assert history.last_time == 2_000


def test_labels_that_get_better_and_worse():
    history = History()
    for sequence in range(1, 9):
        record = Learn("text", added=["up", "down", "same"])
        found = ["same", "up" if sequence > 4 else "down"]
        history.evaluate(sequence, record, lambda *_, found=found: found)
    better, worse = history.trends()
    assert better == [("up", 0.0, 1.0)]
    assert worse == [("down", 1.0, 0.0)]


def test_examples_and_counts_go_by_all_names():
    history = History()
    for sequence in range(1, 10):
        history.note(sequence, Learn(f"text {sequence}", accepted=["old"], rejected=["other"]))
    history.note(10, Learn("x" * 10_000, added=["new"]))
    accepted, rejected, examples = history.decisions(["new", "old"])
    assert (accepted, rejected) == (10, 0)
    assert [example.sequence for example in examples] == [10, 9, 8, 7, 6][:EXAMPLES]
    assert len(examples[0].text) == 300
    assert history.decisions(["other"])[:2] == (0, 9)
    assert history.decisions(["never"]) == (0, 0, [])


def test_a_restart_remembers_what_the_journal_holds(tmp_path):
    home = Home.create(tmp_path / "home", Tagger().fit(["a red apple"], [["fruit"]]))
    with Writer(home, snapshot_every=None) as writer:
        for i in range(3):
            writer.submit(Learn(f"apple {i}", accepted=["fruit"])).result()
        assert writer.snapshot(3)
        writer.submit(RenameLabel("fruit", "fruits")).result()
        writer.submit(Learn("a pear", added=["fruits"])).result()
        state = writer.replica.state_hash()
    with Writer(home, snapshot_every=None) as writer:
        history = writer.replica.history
        assert writer.replica.state_hash() == state
        assert history.learned == 4
        assert history.decisions(["fruit", "fruits"])[:2] == (4, 0)
        assert [outcome.sequence for outcome in history.outcomes] == [1, 2, 3, 5]


def test_an_undo_takes_back_the_outcomes_of_its_records_alone(tmp_path):
    home = Home.create(tmp_path / "home", Tagger().fit(["a red apple"], [["fruit"]]))
    with Writer(home, snapshot_every=None) as writer:
        for i in range(4):
            writer.submit(Learn(f"apple {i}", accepted=["fruit"])).result()
            if i == 1:
                assert writer.snapshot(2)
        before = list(writer.replica.history.outcomes)
        assert all(outcome.time > 1e15 for outcome in before)
        writer.change(Undo((3,))).result(60)
        after = writer.replica.history.outcomes
        assert [outcome.sequence for outcome in after] == [1, 2, 4]
        assert list(after)[:2] == before[:2]


def test_outcomes_before_the_snapshot_survive_a_restart_and_forgotten_ones_do_not(tmp_path):
    home = Home.create(tmp_path / "home", Tagger().fit(["a red apple"], [["fruit"]]))
    with Writer(home, snapshot_every=None) as writer:
        for i in range(4):
            writer.submit(Learn(f"apple {i}", accepted=["fruit"], added=[i, f"label {i}"])).result()
        assert writer.snapshot(3)
        before = list(writer.replica.history.outcomes)
    with Writer(home, snapshot_every=None) as writer:
        assert list(writer.replica.history.outcomes) == before
        writer.change(Forget((2,))).result(60)
        assert [outcome.sequence for outcome in writer.replica.history.outcomes] == [1, 3, 4]
    assert b"label 1" not in (home.path / OUTCOMES).read_bytes()
    (home.path / OUTCOMES).write_bytes(b"[[1, true]]")
    with Writer(home, snapshot_every=None) as writer:
        assert writer.replica.history.learned == 3

"""The replica: the same records lead to the same state, with or without snapshots in between."""

import threading
import time

import pytest

from abound import Frequency, Tagger
from abound.errors import AboundError, DamagedModel, RefusedRecord, UnknownFormat
from abound.server import Replica
from abound.server.fair_lock import FairLock
from abound.store.journal.records import AddLabel, BandFeedback, Learn, MergeLabels, RenameLabel, RetireLabel
from tests.server.streams import base, lesson, stream, trained, visible
from tests.store.damage import broken


def apply(replica, *records):
    for record in records:
        replica.check(record)
        replica.apply(replica.sequence + 1, record)


def labels(replica, text, k=10):
    return [entry.label for entry in replica.rank(text, k)]


# -- the same state --------------------------------------------------------------------------------


def test_learning_is_what_a_tagger_learns():
    records = [lesson(i) for i in range(30)]
    tagger = base()
    for record in records:
        tagger.learn(record.text, [*record.accepted, *record.added], wrong=record.rejected)
    assert trained(records).tagger.state_hash() == tagger.state_hash()


@pytest.mark.parametrize("ranker", ["cascade", "feature-focus", "mmp"])
def test_a_snapshot_between_any_two_records_changes_nothing(tmp_path, ranker):
    records = [r if not isinstance(r, Learn) else Learn(r.text, r.accepted, (), r.added) for r in stream(36)]
    once = Replica(Tagger(ranker), journal="j")
    often = Replica(Tagger(ranker), journal="j")
    records = [AddLabel("fruit"), AddLabel("vehicle"), *records]
    for number, record in enumerate(records, 1):
        for replica in (once, often):
            replica.check(record)
            replica.apply(number, record)
        assert often.state_hash() == once.state_hash()
        if number % 3:
            continue
        often.save(tmp_path / str(number))
        often = Replica.load(tmp_path / str(number))
        assert (often.sequence, often.journal) == (number, "j")
        assert often.state_hash() == once.state_hash()
        assert often.rank("old red apple pie") == once.rank("old red apple pie")


def test_the_order_of_equal_changes_does_not_show():
    ab, ba = Replica(base()), Replica(base())
    add = [AddLabel("a"), AddLabel("b")]
    apply(ab, *add, MergeLabels("a", "fruit"), MergeLabels("b", "fruit"))
    apply(ba, *add, MergeLabels("b", "a"), MergeLabels("a", "fruit"))
    assert ab.state_hash() == ba.state_hash()


def test_a_record_is_applied_once_and_in_order():
    replica = trained(stream(3))
    for sequence in (2, 3, 5):
        with pytest.raises(ValueError, match=f"the next record is 4, got {sequence}"):
            replica.apply(sequence, lesson(9))


def test_a_replica_that_broke_off_says_so(monkeypatch):
    replica = trained(stream(3))
    monkeypatch.setattr(replica.tagger, "learn_ids", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        replica.apply(4, lesson(9))
    for call in (lambda: replica.rank("red"), replica.state_hash, lambda: replica.apply(4, lesson(9))):
        with pytest.raises(AboundError, match="failed at record 4"):
            call()


# -- labels ----------------------------------------------------------------------------------------


def test_a_label_is_added_renamed_merged_and_retired():
    replica = Replica(base())
    apply(replica, AddLabel("weather", ["rain and snow"]))
    assert labels(replica, "snow", 1) == ["weather"]
    apply(replica, RenameLabel("weather", "climate"))
    assert labels(replica, "snow", 1) == ["climate"]
    assert replica.tagger.name_of("climate") == "rain and snow"
    apply(replica, Learn("hail", added=["weather"]))  # the old name stays valid
    assert labels(replica, "hail", 1) == ["climate"]
    apply(replica, MergeLabels("climate", "sport"))
    assert labels(replica, "hail", 1) == labels(replica, "snow", 1) == ["sport"]
    apply(replica, Learn("fog", added=["climate"]))
    assert labels(replica, "fog", 1) == ["sport"]
    apply(replica, RetireLabel("climate"))
    assert labels(replica, "hail and a fast car", 1) == ["vehicle"]
    assert not {"sport", "climate", "weather"} & set(labels(replica, "hail and a fast car"))
    with pytest.raises(RefusedRecord, match="'sport' is retired; add it"):
        replica.check(Learn("fog", added=["weather"]))
    apply(replica, AddLabel("sport"))
    assert labels(replica, "hail", 1) == ["sport"]
    assert visible(replica.labels) == ["fruit", "vehicle", "sport"]


def test_a_label_gets_a_former_name_back():
    replica = Replica(base())
    apply(replica, RenameLabel("fruit", "fruits"), RenameLabel("fruits", "fruit"))
    assert labels(replica, "apple", 1) == ["fruit"]
    assert replica.labels.aliases == {"fruits": "fruit"}


def test_votes_of_merged_labels_are_counted_together():
    replica = Replica(Tagger("feature-focus"))
    texts = [("apple one", "a"), ("apple two", "b"), ("apple three", "c"), ("apple four", "c"), ("apple five", "a")]
    apply(replica, *(Learn(text, added=[label]) for text, label in texts), Learn("apple six", added=["c"]))
    apart = {entry.label: entry.score for entry in replica.rank("apple")}
    assert labels(replica, "apple")[0] == "c"
    apply(replica, MergeLabels("b", "a"))
    together = {entry.label: entry.score for entry in replica.rank("apple")}
    assert together == {"a": pytest.approx(apart["a"] + apart["b"]), "c": apart["c"]}
    assert [entry.rank for entry in replica.rank("apple")] == [1, 2]
    assert labels(replica, "apple", 1) == [max(together, key=together.get)]
    assert replica.rank_many(["apple", "four"]) == [replica.rank("apple"), replica.rank("four")]
    explained = replica.explain("apple", "b")
    assert (explained.label, explained.score) == ("a", pytest.approx(together["a"]))
    assert sum(word.vote for word in explained.words) == pytest.approx(together["a"])


def test_a_rejection_reaches_all_parts_of_a_merged_label():
    replica = Replica(base())
    apply(replica, *(Learn("red pear", added=[label]) for label in ("a", "b")), MergeLabels("a", "b"))
    assert labels(replica, "red pear")[0] == "b"

    def parts():
        return [replica.tagger.explain("red pear", label).score for label in ("a", "b")]

    before = parts()
    apply(replica, *([Learn("red pear", rejected=["b"])] * 3))
    assert all(now < then for now, then in zip(parts(), before, strict=True))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (AddLabel("old"), "'old' is another name of label 'new'"),
        (RenameLabel("unknown", "x"), "label 'unknown' is not known"),
        (RenameLabel("new", "fruit"), "label 'fruit' exists already; merge the two"),
        (RenameLabel("new", "new"), "exists already"),
        (RenameLabel("fruit", "old"), "label 'old' exists already"),
        (RenameLabel("vehicle", "sport"), "was merged, or is already the label's name"),
        (MergeLabels("new", "unknown"), "label 'unknown' is not known"),
        (MergeLabels("old", "new"), "'old' and 'new' are already merged"),
        (MergeLabels("new", "gone"), "label 'gone' is retired"),
        (RetireLabel("gone"), "label 'gone' is retired"),
        (BandFeedback("unknown", 0.1, "a", "b"), "label 'unknown' is not known"),
        (Learn("x", added=["gone"]), "label 'gone' is retired"),
        (Learn("x", added=["old"], rejected=["new"]), "'new' is given as both right and wrong for the same text"),
        (Learn("x", added=["vehicle"], rejected=["sport"]), "both right and wrong"),
    ],
)
def test_what_cannot_be_applied_is_refused(record, words):
    replica = Replica(base())
    apply(replica, AddLabel("old"), RenameLabel("old", "new"), AddLabel("gone"), RetireLabel("gone"))
    apply(replica, MergeLabels("sport", "vehicle"))
    before = replica.state_hash()
    with pytest.raises(RefusedRecord, match=words):
        replica.check(record)
    assert replica.state_hash() == before


def test_a_closed_vocabulary_and_a_ranker_without_rejections():
    replica = Replica(base())
    replica.check(Learn("x", added=["fruit"]), closed=True)
    with pytest.raises(RefusedRecord, match="'new' is not known, and the vocabulary is closed"):
        replica.check(Learn("x", added=["new"]), closed=True)
    with pytest.raises(RefusedRecord, match="a feature-focus ranker cannot learn from wrong labels"):
        Replica(Tagger("feature-focus")).check(Learn("x", rejected=["a"]))


# -- snapshots that are not ------------------------------------------------------------------------


def test_a_snapshot_is_checked(tmp_path):
    trained(stream(30)).save(tmp_path / "snapshot")
    assert Tagger.load(tmp_path / "snapshot").n_labels > 5  # it is a model like any other
    broken(tmp_path / "snapshot", "served_target_names", lambda names: names[::-1].copy())
    with pytest.raises(DamagedModel):
        Replica.load(tmp_path / "snapshot")
    Frequency().fit([[1]], ["a"]).save(tmp_path / "frequency")
    with pytest.raises(UnknownFormat, match="only a tagger can be served"):
        Replica.load(tmp_path / "frequency")


# -- threads ---------------------------------------------------------------------------------------


def test_a_lock_is_given_out_in_order():
    lock, order, threads = FairLock(), [], []

    def wait(number):
        with lock:
            order.append(number)

    with lock:
        for number in range(20):
            threads.append(threading.Thread(target=wait, args=(number,)))
            threads[-1].start()
            while len(lock._waiting) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == list(range(20))
    with lock:
        pass


def test_ranking_never_sees_half_a_record():
    # A record gives both words the same label: a reader must see both of them changed, or none.
    replica, seen, done = Replica(Tagger()), [], threading.Event()
    apply(replica, Learn("left right", added=["a"]))

    def look():
        while not done.is_set():
            seen.append(tuple(labels(replica, "left right", 1)))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(150):
        apply(replica, Learn("left right", added=[f"b{number}"]))
        assert labels(replica, "left right", 1) == [f"b{number}"]
    done.set()
    for thread in threads:
        thread.join()
    assert replica.wait_for(151, 0)
    assert not replica.wait_for(152, 0.01)
    order = [int(found[1:]) if found != "a" else -1 for (found,) in seen]
    assert order == sorted(order)

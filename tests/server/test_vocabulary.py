"""A served model is updated to a new version of its vocabulary, as one record."""

import time

import pytest

from abound import Tagger
from abound.data import Relations, Vocabulary
from abound.hierarchy import Hierarchy
from abound.server import Home, Replica, Writer
from abound.server.vocabulary import Update, as_request, vocabulary_of
from abound.store.journal.records import EditLabels, Learn, MergeLabels, RetireLabel, Undo

EACH = 500  # changes of each kind
KINDS = {"added", "renamed", "merged", "split", "deprecated", "removed", "moved", "names"}


def uri(number):
    return f"http://example.org/p{number}"


def versions(n_labels, each):
    """Return a vocabulary and its next version, with some changes of each kind."""
    names = {uri(i): [f"concept {i}", f"idea {i}"] for i in range(n_labels)}
    broader = {uri(i): uri(i % 100) for i in range(100, n_labels)}
    old = Vocabulary(dict(names), Relations(sorted(names), broader=sorted(broader.items())))
    replaced = []
    blocks = [range(100 + kind * each, 100 + (kind + 1) * each) for kind in range(7)]
    for i in blocks[0]:  # renamed
        names[uri(f"r{i}")] = names.pop(uri(i))
        broader[uri(f"r{i}")] = broader.pop(uri(i))
        replaced.append((uri(i), uri(f"r{i}")))
    for i in blocks[1]:  # merged
        replaced.append((uri(i), uri(i % 100)))
    for i in blocks[2]:  # split
        for part in "xy":
            names[uri(f"{part}{i}")] = [f"part {part} of {i}"]
            broader[uri(f"{part}{i}")] = uri(1)
            replaced.append((uri(i), uri(f"{part}{i}")))
    for i in blocks[3]:  # deprecated
        replaced.append((uri(i), ""))
    for i in (*blocks[1], *blocks[2], *blocks[3], *blocks[4]):  # and removed
        del names[uri(i)], broader[uri(i)]
    for i in blocks[5]:  # moved
        broader[uri(i)] = uri((i + 1) % 100)
    for i in blocks[6]:  # other names
        names[uri(i)] = [f"better {i}", f"idea {i}"]
    for i in range(each):
        names[uri(f"n{i}")] = [f"new concept {i}"]
        broader[uri(f"n{i}")] = uri(i % 100)
    new = Vocabulary(names, Relations(sorted(names), broader=sorted(broader.items()), replaced=replaced))
    return old, new


def served(path, vocabulary):
    tagger = Tagger()
    tagger.fit(["the first text", "another one"], [[uri(0)], [uri(1)]], label_names=vocabulary.names)
    tagger.hierarchy = Hierarchy.of(vocabulary.relations)
    return Home.create(path, tagger)


def found(replica, prefix):
    return [match.label for match in replica.search.find(prefix, 200)[1]]


def check_update(path, n_labels, each):
    old, new = versions(n_labels, each)
    home = served(path, old)
    with Writer(home, snapshot_every=None) as writer:
        replica = writer.replica
        assert Update(replica, old).changes == []
        for i in (150, 100 + each, 100 + 2 * each):  # some of them have corrections
            writer.submit(Learn(f"special{i} text", added=[uri(i)])).result(30)
        before = replica.state_hash()
        replica.search.find("concept", 1)
        started = time.perf_counter()
        update = Update(replica, new)
        record = EditLabels(update.edits())
        writer.submit(record).result(60)
        seconds = time.perf_counter() - started
        counts = update.counts()
        assert {kind: n for kind, n in counts.items() if kind != "added"} == dict.fromkeys(KINDS - {"added"}, each)
        assert counts["added"] == 3 * each
        assert Update(replica, new).edits() == ()  # nothing is left
        assert replica.rank(f"special{100 + each}", 1)[0].label == uri((100 + each) % 100)
        merged, split = 100 + each, 100 + 2 * each
        assert found(replica, f"idea {merged}")[:1] == [uri(merged % 100)]
        parts = [uri(f"{part}{split}") for part in "xy"]
        assert sorted(replica.names.find(f"concept {split}")) == parts
        assert set(parts) <= set(found(replica, f"concept {split}"))
        assert replica.tagger.path_of(uri("n5")) == [uri(5), uri("n5")]
        moved = 100 + 5 * each
        assert replica.tagger.path_of(uri(moved))[0] == uri((moved + 1) % 100)
        after = replica.state_hash()
        writer.change(Undo([4])).result(120)
        assert writer.replica.state_hash() == before
        assert sorted(change.kind for change in Update(writer.replica, new).changes).count("split") == each
    without = Replica.load(home.snapshot_path(0))
    for number, i in enumerate((150, 100 + each, 100 + 2 * each), 1):
        without.apply(number, Learn(f"special{i} text", added=[uri(i)]))
    assert without.state_hash() == before  # a journal without the record
    without.apply(4, record)
    assert without.state_hash() == after
    return seconds


def test_a_vocabulary_is_updated_by_one_record(tmp_path):
    check_update(tmp_path / "home", 1_000, 20)


@pytest.mark.slow
def test_500_changes_of_every_kind_take_less_than_10_seconds(tmp_path):
    seconds = check_update(tmp_path / "home", 25_000, EACH)
    print(f"{seconds:.1f} s")
    assert seconds < 10


def test_what_people_have_edited_stays(tmp_path):
    old, _ = versions(200, 1)
    with Writer(served(tmp_path / "home", old), snapshot_every=None) as writer:
        for record in (
            MergeLabels(uri(150), uri(151)),
            RetireLabel(uri(152)),
            MergeLabels(uri(161), uri(160)),
            RetireLabel(uri(163)),
            Learn("mine", added=["my own label"]),
        ):
            writer.submit(record).result(30)
        replaced = [(uri(160), uri(161)), (uri(162), uri(163)), (uri(164), uri(150))]
        names = {label: given for label, given in old.names.items() if label not in {uri(160), uri(162), uri(164)}}
        concepts = sorted(names)
        new = Vocabulary(names, Relations(concepts, broader=old.relations.broader, replaced=replaced))
        update = Update(writer.replica, new)
        assert update.kept == sorted(map(uri, (150, 152, 161, 163)))
        edits = update.edits()
        # 160 and 161 are merged already; what replaces 162 is retired; what replaces 164 was merged into 151
        assert edits == (MergeLabels(uri(164), uri(150)), RetireLabel(uri(162)))
        writer.submit(EditLabels(edits)).result(30)
        assert writer.replica.labels.resolve(uri(164)) == uri(151)
        assert "my own label" not in writer.replica.labels.retired


def test_removed_labels_can_stay(tmp_path):
    old, new = versions(1_000, 5)
    replica = Replica.load(served(tmp_path / "home", old).snapshot_path(0))
    assert Update(replica, new, keep_removed=True).counts().keys() == KINDS - {"removed"}
    retired = [edit for edit in Update(replica, new, keep_removed=True).edits() if isinstance(edit, RetireLabel)]
    assert len(retired) == 10


def test_edits_are_sent_as_the_server_takes_them(tmp_path):
    import msgspec

    from abound.server.http.bodies import LabelEditRequest
    from abound.server.http.labels import record_of

    old, new = versions(1_000, 3)
    replica = Replica.load(served(tmp_path / "home", old).snapshot_path(0))
    edits = Update(replica, new).edits()
    raw = msgspec.json.encode({"edits": as_request(edits)})
    assert record_of(msgspec.json.decode(raw, type=LabelEditRequest)) == EditLabels(edits)


def test_labels_that_are_known_only_by_name(tmp_path):
    old, new = versions(1_000, 5)
    tagger = Tagger(name_weight=0).fit(["a text"], [[uri(0)]], label_names=old.names)
    replica = Replica(tagger)
    assert len(vocabulary_of(replica).names) == 1_000
    edits = EditLabels(Update(replica, new).edits())
    replica.check(edits)
    replica.apply(1, edits)
    assert replica.tagger.name_of(uri("n1")) == "new concept 1"
    assert replica.tagger.hierarchy is None

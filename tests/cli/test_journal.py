"""`abound journal`: verify, log, compact, export."""

import json

import pytest

from abound import Tagger
from abound.server import Home, Writer
from abound.store.journal import Origin
from abound.store.journal.records import Learn, Undo
from tests.server.streams import base, stream


@pytest.fixture
def home(tmp_path):
    home = Home.create(tmp_path / "served", base())
    with Writer(home) as writer:
        for number, record in enumerate(stream(20)):
            writer.submit(record, f"key {number}").result(30)
    return home.path


def test_verify_finds_nothing_in_a_sound_journal(run, home):
    result = run("journal", "verify", home)
    assert result.code == 0
    assert result.json["damage"] == []
    assert (result.json["first"], result.json["last"], result.json["snapshots"]) == (1, 20, [0])
    assert "key life" in run("journal", "verify", home, "--table").out


def test_verify_says_where_the_damage_is(run, home):
    file = home / "journal.sqlite"
    raw = file.read_bytes()
    at = raw.index(b"word6")
    file.write_bytes(raw[:at] + b"w0rd6" + raw[at + 5 :])
    array = next((home / "snapshots" / f"{0:020d}").glob("term_names-*.npy"))
    array.write_bytes(array.read_bytes()[:-1] + b"\0")
    result = run("journal", "verify", home)
    assert result.code == 1
    assert "record 7 " in result.err
    assert "snapshot 0: term_names" in result.err
    assert len(result.json["damage"]) == 2
    assert "record 7 " in run("journal", "log", home, "--after", "5").err


def test_log_lists_the_newest_records_first_or_the_oldest(run, home):
    assert [line["sequence"] for line in run("journal", "log", home, "-n", 3).lines] == [20, 19, 18]
    assert [line["sequence"] for line in run("journal", "log", home, "--before", 3).lines] == [2, 1]
    first = run("journal", "log", home, "--oldest-first", "-n", 1).lines[0]
    assert (first["sequence"], first["kind"], first["status"]) == (1, "learn", "live")
    assert (first["text"], first["added"], first["key"]) == ("old and red", ["age", "colour"], "key 0")
    table = run("journal", "log", home, "--table").out
    assert all(words in table for words in ("learn 'old and red'", "+age +colour", "live"))


def test_log_filters(run, home):
    def sequences(*options):
        return [line["sequence"] for line in run("journal", "log", home, *options).lines]

    assert sequences("--kind", "rename label") == [10]
    assert sequences("--label", "climate") == [15, 10]
    assert sequences("--text", "OLD AND") == [1]
    assert sequences("--since", "2000-01-01", "--after", 18) == [20, 19]
    assert sequences("--until", "2000-01-01") == []
    assert "must be one of learn, add label" in run("journal", "log", home, "--kind", "x").err
    assert "a time must be like" in run("journal", "log", home, "--since", "yesterday").err
    assert "either a HOME, or a server" in run("journal", "log").err


def test_compact_drops_what_no_snapshot_needs(run, home):
    assert run("journal", "compact", home).json["dropped"] == 0
    result = run("journal", "compact", home, "--snapshot")
    assert (result.json["dropped"], result.json["snapshots"]) == (20, [0, 20])
    with Writer(Home(home)) as writer:
        writer.submit(stream(40)[35], "another").result(30)
        refused = run("journal", "compact", home)
        assert refused.code == 1
        assert "already has a writer" in refused.err
    result = run("journal", "compact", home, "--snapshot")
    assert (result.json["dropped"], result.json["snapshots"], result.json["first"]) == (0, [0, 20, 21], 21)
    archived = run("journal", "log", home, "--after", 3, "--oldest-first", "-n", 100).lines
    assert [line["sequence"] for line in archived] == list(range(4, 22))


def test_export_writes_every_record_or_texts_to_fit_on(run, home, tmp_path):
    lines = run("journal", "export", home, "--records").lines
    assert [line["sequence"] for line in lines] == list(range(1, 21))
    assert [line["sequence"] for line in run("journal", "export", home, "--records", "--after", 18).lines] == [19, 20]
    assert run("journal", "export", home, "--texts", "-o", tmp_path / "texts.jsonl").code == 0
    texts = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert len(texts) == sum(line["kind"] == "learn" for line in lines)
    assert run("fit", tmp_path / "texts.jsonl", "--model", tmp_path / "model").code == 0


def test_exported_corrections_keep_all_decisions_and_are_learned_beside_a_table(run, tmp_path):
    table = tmp_path / "export.csv"
    rows = [
        f"{title} {number};{tags}"
        for number in range(20)
        for title, tags in (("apple pie", "fruit|food"), ("car", "vehicle"))
    ]
    table.write_text("title;tags\n" + "\n".join(rows) + "\n", encoding="utf-8")
    reading = ("--delimiter", ";", "--label-separator", "|", "--text-field", "title", "--labels-field", "tags")
    assert run("fit", table, *reading, "--model", tmp_path / "old").code == 0
    served = Home.create(tmp_path / "served", Tagger.load(tmp_path / "old"))
    with Writer(served) as writer:
        given = Learn("a pie car", accepted=["food"], rejected=["vehicle", "fruit"], added=["toy"])
        writer.submit(given, origin=Origin("anna", "page")).result(30)
        writer.submit(Learn("car", rejected=["vehicle"])).result(30)
        writer.submit(Learn("undone", added=["nothing"])).result(30)
        writer.change(Undo([3])).result(60)
        assert writer.snapshot(4)
    assert run("journal", "verify", served.path).json["first"] == 4  # the corrections are in the archive
    file = tmp_path / "corrections.jsonl"
    assert run("journal", "export", served.path, "-o", file).code == 0
    first, second = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert (first["id"], first["labels"], first["wrong"]) == ("1", ["food", "toy"], ["vehicle", "fruit"])
    assert (first["accepted"], first["added"], first["who"], first["source"]) == (["food"], ["toy"], "anna", "page")
    assert (second["labels"], second["wrong"]) == ([], ["vehicle"])
    assert "who" not in second
    fitted = run("fit", table, file, *reading, "--model", tmp_path / "new")
    assert fitted.code == 0, fitted.err
    assert "2 rows with wrong labels were learned after the others, as corrections" in fitted.err
    shown = [entry["label"] for entry in run("rank", tmp_path / "new", "a pie car").json["labels"]]
    assert shown[:2] in (["food", "toy"], ["toy", "food"])
    assert run("rank", tmp_path / "new", "car", "-k", 1).json["labels"][0]["label"] != "vehicle"
    refused = run("fit", file, "--delimiter", ";", "--model", tmp_path / "none")
    assert refused.code == 1
    assert "format 'jsonl' has no option 'delimiter'" in refused.err


def test_learn_takes_wrong_labels_of_a_file(run, home, tmp_path):
    before = run("rank", home, "old and red", "-k", 1).json["labels"][0]["label"]
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps({"text": "old and red", "labels": [], "wrong": [before]}) + "\n", encoding="utf-8")
    run("journal", "compact", home, "--snapshot")
    model = home / "snapshots" / f"{20:020d}"
    for target in (home, model):  # in a home, and in a model directory
        assert run("learn", target, file).json["rows"] == 1
        assert run("rank", target, "old and red", "-k", 1).json["labels"][0]["label"] != before
    assert run("journal", "log", home, "-n", 1).json["rejected"] == [before]
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "a", "labels": ["b"], "rejected": ["b"]}\n', encoding="utf-8")
    assert "both right and wrong" in run("learn", home, other, "--wrong-field", "rejected").err
    assert run("learn", home, other).code == 0


def test_what_is_no_home_is_said(run, tmp_path):
    for command in ("verify", "log", "compact", "export"):
        result = run("journal", command, tmp_path)
        assert result.code == 1
        assert "is not the home of a served model" in result.err


def test_a_record_is_skipped_and_that_is_shown(run, home):
    assert run("journal", "verify", home).json["skipped"] == []
    result = run("journal", "skip", home, 7, "--reason", "it was a mistake")
    assert result.code == 0
    assert result.json["skipped"] == [7]
    assert "record 7 is skipped from now on" in result.err
    assert run("journal", "verify", home).json["skipped"] == [7]
    assert run("info", home).json["skipped"] == [7]
    assert run("info", home).json["last_record"] == 20
    assert "skipped" in run("info", home, "--table").out
    with Writer(Home(home)) as writer:
        assert (writer.replica.sequence, writer.replica.lineage.excluded) == (20, (7,))
        refused = run("journal", "skip", home, 8)
        assert refused.code == 1
        assert "already has a writer" in refused.err
    assert "is already skipped" in run("journal", "skip", home, 7).err
    assert "records 1 to 20 are kept" in run("journal", "skip", home, 21).err
    run("journal", "compact", home, "--snapshot")
    (home / "snapshots" / f"{0:020d}" / "manifest.json").unlink()
    refused = run("journal", "skip", home, 8)
    assert refused.code == 1
    assert "no record is kept" in refused.err


def test_diff_compares_two_states(run, home):
    found = run("journal", "diff", home, 0, 20, "-n", 3).json
    assert [len(found[name]) for name in ("labels", "words")] == [3, 3]
    assert (found["first"], found["second"], found["partial"]) == (0, 20, False)
    assert [edit["sequence"] for edit in found["edits"]] == [5, 8, 10, 15, 18, 20]
    assert found["corrections"] == [{"who": None, "count": 13}]
    assert "climate" in found["added"]
    shown = run("journal", "diff", home, 0, 20, "--table").out
    assert all(words in shown for words in ("label edits", "rename label", "corrections"))
    assert "the earlier one first" in run("journal", "diff", home, 20, 2).err

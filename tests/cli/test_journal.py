"""`abound journal`: verify, show, compact, export."""

import json

import pytest

from abound.server import Home, Writer
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
    assert "record 7 " in run("journal", "show", home, "--after", "5").err


def test_show_prints_the_last_records_or_some(run, home):
    assert [line["sequence"] for line in run("journal", "show", home, "-n", 3).lines] == [18, 19, 20]
    first = run("journal", "show", home, "--after", 0, "-n", 1).lines[0]
    assert first["kind"] == "learn"
    assert (first["text"], first["added"], first["key"]) == ("old and red", ["age", "colour"], "key 0")
    assert "climate" in run("journal", "show", home, "--table", "-n", 20).out


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
    assert '"sequence": 4' in run("journal", "show", home, "--after", 3).out  # from the archive


def test_export_writes_every_record_or_texts_to_fit_on(run, home, tmp_path):
    lines = run("journal", "export", home).lines
    assert [line["sequence"] for line in lines] == list(range(1, 21))
    assert [line["sequence"] for line in run("journal", "export", home, "--after", 18).lines] == [19, 20]
    assert run("journal", "export", home, "--texts", "-o", tmp_path / "texts.jsonl").code == 0
    texts = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert len(texts) == sum(line["kind"] == "learn" for line in lines)
    assert run("fit", tmp_path / "texts.jsonl", "--model", tmp_path / "model").code == 0


def test_what_is_no_home_is_said(run, tmp_path):
    for command in ("verify", "show", "compact", "export"):
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

"""`abound journal undo`, `abound forget` and `abound journal salvage`."""

import gzip
import sqlite3
from contextlib import closing

import pytest

from abound import Tagger
from abound.server import Home, Writer
from abound.server.queues import Holder, NewText, Queues
from abound.store.journal import Origin
from abound.store.journal.records import Learn
from tests.server.streams import base, stream, trained

RECORDS = stream(12)
SECRETS = [Learn(f"a quiet {word}", added=["fruit"]) for word in ("xylophone", "yak")]


@pytest.fixture
def home(tmp_path):
    home = Home.create(tmp_path / "served", base())
    with Writer(home) as writer:
        for record in RECORDS:
            writer.submit(record).result(60)
        for record in SECRETS:
            writer.submit(record, origin=Origin("anna", "page")).result(60)
    return home.path


def state(home):
    with Writer(Home(home), snapshot_every=None) as writer:
        return writer.replica.state_hash()


def all_bytes(home):
    raw = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    return b"".join(gzip.decompress(one) if path.suffix == ".gz" else one for path, one in raw.items())


def test_a_record_is_undone_and_the_undo_too(run, home):
    before = state(home)
    result = run("journal", "undo", home, 13, 2, "--reason", "a slip")
    assert (result.code, result.json) == (0, {"sequence": 15, "records": [13, 2]})
    assert f"to redo: abound journal undo {home} 15" in result.err
    kept = [record for number, record in enumerate([*RECORDS, *SECRETS], 1) if number not in (13, 2)]
    assert state(home) == trained(kept).state_hash()
    assert run("journal", "log", home, "-n", 3).lines[2]["status"] == "undone"
    assert run("journal", "undo", home, 15).code == 0
    assert state(home) == before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([99], "there is no record 99; the last one is 14"),
        (["x"], "records are whole numbers"),
        ([], "give the numbers of the records"),
        ([5], "undo them first: records 10"),
    ],
)
def test_what_cannot_be_undone_says_why(run, home, args, words):
    result = run("journal", "undo", home, *args)
    assert result.code != 0
    assert words in result.err


def test_a_served_home_is_changed_through_its_server(run, home):
    with Writer(Home(home)):
        result = run("journal", "undo", home, 3)
        assert result.code == 1
        assert "is being served; name the server with --server URL" in result.err


def test_a_person_is_forgotten(run, home):
    assert b"xylophone" in all_bytes(home)
    result = run("forget", home, "--who", "anna")
    assert result.code == 1
    assert "2 records would be forgotten for ever" in result.err
    result = run("forget", home, "--who", "anna", "--yes", "--reason", "by letter")
    assert result.code == 0
    assert result.json["records"] == [13, 14]
    assert result.json["after"] == trained(RECORDS).state_hash() == state(home)
    assert "backups and exports that were made before still have them" in result.err
    for word in (b"xylophone", b"yak", b"anna"):
        assert word not in all_bytes(home)
    assert "no record matches" in run("forget", home, "--who", "anna", "--yes").err
    assert run("journal", "verify", home).code == 0
    assert [line["status"] for line in run("journal", "log", home, "-n", 3).lines] == ["live", "forgotten", "forgotten"]


def test_texts_are_forgotten_by_their_words(run, home):
    result = run("forget", home, "--text-matching", "xylophone", "--yes")
    assert result.json["records"] == [13]
    assert b"xylophone" not in all_bytes(home)
    assert b"yak" in all_bytes(home)
    assert "give --who, --record or --text-matching" in run("forget", home).err


def test_a_damaged_journal_is_salvaged(run, home):
    assert "is not damaged" in run("journal", "salvage", home).err
    with sqlite3.connect(home / "journal.sqlite") as connection:
        connection.execute("UPDATE record SET payload = x'00' WHERE sequence = 9")
    connection.close()
    result = run("journal", "salvage", home)
    assert (result.json["last"], result.json["acknowledged"]) == (8, 14)
    assert "records 9 to 14 are lost" in result.err
    assert state(home) == trained(RECORDS[:8]).state_hash()


def test_forgetting_reaches_texts_of_shared_queues_that_were_not_taught(run, home):
    path = Home(home).queues_path
    with Queues(path) as queues:
        queues.add("q", [NewText("a Zither of wood"), NewText("a drum")])
        queues.lease("q", Holder("browser", "zoe"), after=1)
    result = run("forget", home, "--text-matching", "zither", "--yes")
    assert (result.code, "1 matching texts were removed from the shared queues" in result.err) == (0, True)
    assert b"Zither" not in path.read_bytes()
    assert run("forget", home, "--who", "zoe", "--yes").code == 0
    with Queues(path) as queues:
        assert queues.items("q") == (0, [])
    assert "no record matches" in run("forget", home, "--who", "zoe", "--yes").err


def queued(home, *texts):
    with Queues(Home(home).queues_path) as queues:
        queues.add("q", [NewText(text) for text in texts])


def n_queued(home):
    with Queues(Home(home).queues_path) as queues:
        return queues.items("q")[0]


def change(home, statement):
    with closing(sqlite3.connect(Home(home).queues_path, isolation_level=None)) as connection:
        connection.execute(statement)


def test_the_preview_counts_the_texts_of_shared_queues(run, home):
    queued(home, "a quiet xylophone", "another Xylophone", "a drum")
    result = run("forget", home, "--text-matching", "xylophone")
    assert result.code == 1
    assert "2 matching texts would be removed from the shared queues" in result.err
    assert "1 records would be forgotten" in result.err
    assert n_queued(home) == 3
    result = run("forget", home, "--text-matching", "xylophone", "--yes")
    assert (result.json["records"], result.json["queued"], n_queued(home)) == ([13], 2, 1)


def test_a_person_and_words_choose_the_same_texts_as_records(run, home):
    queued(home, "a zither", "a drum")
    with Queues(Home(home).queues_path) as queues:
        queues.lease("q", Holder("browser", "zoe"), after=1)
    assert "nothing to forget" in run("forget", home, "--who", "zoe", "--text-matching", "zither", "--yes").err
    assert run("forget", home, "--who", "zoe", "--text-matching", "drum", "--yes").json["queued"] == 1
    assert n_queued(home) == 1


def test_an_interrupted_forget_is_completed_by_the_same_command(run, home):
    queued(home, "a quiet xylophone", "a drum")
    command = ("forget", home, "--text-matching", "xylophone", "--record", 13, "--yes")
    change(home, "CREATE TRIGGER stop BEFORE DELETE ON item BEGIN SELECT RAISE(ABORT, 'stopped here'); END")
    assert "cannot be used: stopped here" in run(*command).err
    change(home, "DROP TRIGGER stop")
    assert run("journal", "log", home, "-n", 3).lines[2]["status"] == "forgotten"  # the records come first
    assert n_queued(home) == 2
    result = run(*command)
    assert (result.code, result.json["records"], result.json["queued"]) == (0, [], 1)
    assert "record 13 is already forgotten" in result.err
    assert b"xylophone" not in all_bytes(home)


def test_forgetting_says_if_an_example_of_the_model_has_the_text(run, home, tmp_path):
    with Writer(
        Home.create(tmp_path / "other", Tagger().fit(["a Quiet xylophone in a garden"], [["music"]]))
    ) as writer:
        writer.submit(SECRETS[0]).result(60)
    result = run("forget", tmp_path / "other", "--text-matching", "quiet xylophone", "--yes")
    assert (result.code, "an example of the model" in result.err) == (0, True)
    assert "an example of" not in run("forget", home, "--text-matching", "xylophone", "--yes").err

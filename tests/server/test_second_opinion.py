"""A served model with embeddings: its vectors are in the journal, and replicas need no encoder."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from abound import Tagger, merge
from abound.calibration import Decision
from abound.encoders import CallableEncoder, GivenVectors
from abound.errors import ModelError, RefusedRecord
from abound.server import Follower, Home, Replica, Writer
from abound.server.queries import assign, cut
from abound.server.refitting import new_base, replay_on, save_base
from abound.server.vectors import known_code, with_vectors
from abound.store.journal import Journal
from abound.store.journal.records import (
    AddLabel,
    BandFeedback,
    Forget,
    Learn,
    MergeLabels,
    Refit,
    RenameLabel,
    RetireLabel,
    Undo,
    decode_vector,
    encoder_hash,
)
from benchmarks import served_vectors
from benchmarks.served_vectors import FITTED, fitted, from_scratch, label_of, text_of, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("encoder") / "table")


@pytest.fixture(scope="module")
def model(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    fitted(table).save(path)
    return path


@pytest.fixture
def home(model, tmp_path):
    return Home.create(tmp_path / "home", Tagger.load(model))


def lesson(number, **more):
    return Learn(text_of(number), added=(label_of(number),), **more)


def teach(writer, records):
    for answer in [writer.submit(record) for record in records]:
        answer.result(60)


def ranked(replica, text, k=5):
    return [(entry.label, entry.score, entry.probability) for entry in replica.rank(text, k)]


def test_the_model_of_these_tests_uses_its_second_opinion(model):
    assert Tagger.load(model).blends


def test_a_written_record_has_the_vector_of_its_text(home, table):
    with Writer(home) as writer:
        record = lesson(FITTED)
        first = writer.submit(record, "key").result(60)
        again = writer.submit(record, "key").result(60)
        writer.submit(BandFeedback("topic 1", 0.5, "suggest", "apply", text_of(1))).result(60)
        writer.submit(BandFeedback("topic 1", 0.5, "suggest", "apply")).result(60)
        assert (first.sequence, first.repeated, again.sequence, again.repeated) == (1, False, 1, True)
        codes = writer.replica.tagger.codes_of([record.text, text_of(1)])
    with Journal(home.journal_path) as journal:
        learn, band, without = (stored.record for stored in journal.read(0))
    assert decode_vector(learn.vector) == (encoder_hash("table-64"), codes[0].tobytes())
    assert decode_vector(band.vector) == (encoder_hash("table-64"), codes[1].tobytes())
    assert without.vector is None
    assert replace(learn, vector=None) == record


def test_a_corrected_text_ranks_its_labels_first_at_once_and_an_undo_restores_the_ranking(home):
    text = text_of(7)
    with Writer(home) as writer:
        teach(writer, [lesson(FITTED + number) for number in range(20)])
        before = ranked(writer.replica, text)
        assert before[0][0] == "topic 7"
        receipt = writer.submit(Learn(text, added=("something new",), rejected=("topic 7",))).result(60)
        after = ranked(writer.replica, text)
        assert (after[0][0], after[0][1] > 1) == ("something new", True)
        assert "topic 7" not in [label for label, _, _ in after[:2]]
        assert ["something new"] in [one.labels for one in writer.replica.tagger.similar(text, 2)]
        writer.change(Undo([receipt.sequence])).result(60)
        assert ranked(writer.replica, text) == before
        assert ["something new"] not in [one.labels for one in writer.replica.tagger.similar(text, 20)]


EDITS = [
    AddLabel("island", ("t1w1 t1w2",)),
    MergeLabels("topic 3", "topic 4"),
    RenameLabel("topic 5", "topic five"),
    RetireLabel("topic 6"),
]


def test_a_replica_whose_encoder_raises_replays_the_journal_to_the_same_state(home):
    records = [lesson(FITTED + number) for number in range(30) if number % 40 != 6]
    bands = [BandFeedback("topic 1", 0.5, "suggest", wanted, text_of(1)) for wanted in ("apply", "hide")]
    wrong = Learn(text_of(9), accepted=("topic 9",), rejected=("topic 4",), opinion={"topic 9": 0.5, "nothing": 1.0})
    with Writer(home) as writer:
        teach(writer, [*records, *EDITS, *bands, wrong, *records[:3]])
        writer.change(Forget([3, 4])).result(60)
        teach(writer, [lesson(FITTED + 40)])
        expected = writer.replica.state_hash()
    replica = from_scratch(home)
    assert replica.state_hash() == expected
    with pytest.raises(AssertionError, match="was asked"):
        replica.rank("t1w1")
    with Follower(home) as follower:
        assert follower.replica.state_hash() == expected


def test_without_its_vector_a_record_has_another_effect(model):
    states = []
    for vector in (True, False):
        replica = Replica.load(model)
        record = lesson(FITTED)
        replica.apply(1, with_vectors([record], replica.tagger.vector_encoder)[0] if vector else record)
        states.append((replica.state_hash(), len(replica.tagger.second_opinion.neighbours)))
    assert states[0][0] != states[1][0]
    assert [number for _, number in states] == [FITTED + 1, FITTED]


def test_a_vector_of_another_encoder_counts_as_none(model):
    other = CallableEncoder(lambda texts: np.ones((len(texts), 64)), "another encoder")
    record = with_vectors([lesson(FITTED)], other)[0]
    assert known_code(record, "another encoder").tolist() == [127] * 64
    hashes = []
    for given in (record, lesson(FITTED)):
        replica = Replica.load(model)
        assert known_code(given, replica.tagger.encoder_name) is None
        replica.apply(1, given)
        hashes.append(replica.state_hash())
    assert hashes[0] == hashes[1]


def test_an_outside_opinion_teaches_the_blend(model):
    hashes = set()
    for opinion in (None, {"topic 1": 0.9}, {"topic 2": 0.9}, {"unknown": 0.9}):
        replica = Replica.load(model)
        replica.apply(1, lesson(FITTED + 1, opinion=opinion))
        hashes.add(replica.state_hash())
    assert len(hashes) >= 3


def test_merged_labels_rank_as_one_in_a_model_with_embeddings(model, tmp_path):
    text, tagger = text_of(7), Tagger.load(model)
    tagger.feedback(text, ["topic 7"])
    home = Home.create(tmp_path / "home", tagger)
    with Writer(home) as writer:
        replica = writer.replica
        teach(writer, [BandFeedback("topic 7", 0.5, "suggest", "apply", text)])
        teach(writer, [lesson(FITTED + number) for number in range(60)])  # probabilities need enough of them
        assert replica.rank(text)[0].label == "topic 7"
        teach(writer, [MergeLabels("topic 7", "topic 8"), RetireLabel("topic 9")])
        ranking = replica.rank(text, 40)
        labels = [entry.label for entry in ranking]
        assert labels[0] == "topic 8"
        assert not {"topic 7", "topic 9"} & set(labels)
        scores = [entry.score for entry in ranking]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= entry.probability <= 1 for entry in ranking)
        assert assign(replica, [text], Decision())[0][0].label == "topic 8"
        assert cut(replica, [text])[0][0].label == "topic 8"
        teach(writer, [Learn(text, added=("topic 10",), rejected=("topic 8",)), lesson(FITTED + 7)])
        assert replica.rank(text)[0].label == "topic 10"
        expected = replica.state_hash()
    with Follower(home) as follower:
        assert follower.replica.state_hash() == expected
    assert from_scratch(home).state_hash() == expected


def test_the_writer_does_not_open_without_the_encoder(model, tmp_path, table):
    moved = tmp_path / "moved"
    write_table(moved)
    home = Home.create(tmp_path / "home", fitted(moved))
    (moved / "table.npy").unlink()
    with pytest.raises(
        ModelError, match=r"the model needs its encoder '.*moved', which cannot be opened: .* directory"
    ):
        Writer(home)
    command = [sys.executable, "-m", "abound", "serve", str(home.path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "the model needs its encoder" in done.stderr
    assert "Traceback" not in done.stderr
    np.save(moved / "table.npy", np.ones((1, 8), np.float32))
    with pytest.raises(ModelError, match=r"the model needs its encoder .* vectors of 64 numbers"):
        Writer(home)
    write_table(moved)
    moved.rename(tmp_path / "other")
    with pytest.raises(ModelError, match="cannot be opened"):
        Writer(home)
    with Follower(home) as follower:  # such as `abound info`
        assert follower.replica.tagger.n_rows == FITTED


def test_if_a_text_cannot_be_encoded_it_is_learned_by_its_words(home, monkeypatch):
    said = []
    with Writer(home, report=said.append) as writer:
        encoder = writer.replica.tagger.vector_encoder
        monkeypatch.setattr(encoder, "raw", lambda _: 1 / 0)
        teach(writer, [lesson(FITTED), lesson(FITTED + 1)])
        monkeypatch.undo()
        teach(writer, [lesson(FITTED + 2)])
        assert len(writer.replica.tagger.second_opinion.neighbours) == FITTED + 1
        assert writer.replica.sequence == 3
    assert said == ["texts cannot be encoded, and are learned by their words only: division by zero"]


def test_a_model_whose_vectors_were_given_learns_by_words(tmp_path):
    said, encoder = [], GivenVectors(8)
    tagger = Tagger(language=None, embeddings=encoder).fit(
        [text_of(number) for number in range(60)],
        [[label_of(number)] for number in range(60)],
        vectors=np.random.default_rng(0).normal(size=(60, 8)),
    )
    home = Home.create(tmp_path / "home", tagger)
    with Writer(home, report=said.append) as writer:
        teach(writer, [lesson(FITTED), Learn(text_of(3), added=("corrected",))])
        assert writer.replica.rank(text_of(3))[0].label == "corrected"
        assert len(writer.replica.tagger.second_opinion.neighbours) == 60
    assert said == []


def test_records_keep_their_order_while_texts_are_encoded(home):
    with Writer(home) as writer:
        answers = [writer.submit(AddLabel("new", ())), writer.submit(Learn("t1w1", rejected=("new",)))]
        answers += [writer.submit(lesson(FITTED + number)) for number in range(200)]
        assert [answer.result(60).sequence for answer in answers] == list(range(1, 203))
        with pytest.raises(RefusedRecord):
            writer.submit(Learn("t1w1", rejected=("unknown",))).result(60)


def test_an_empty_model_with_embeddings_learns(tmp_path, table):
    home = Home.create(tmp_path / "home", Tagger(language=None, embeddings=str(table)))
    with Writer(home) as writer:
        teach(writer, [lesson(number) for number in range(60)])
        expected = writer.replica.state_hash()
        assert len(writer.replica.tagger.second_opinion.neighbours) == 60
    assert from_scratch(home).state_hash() == expected


def test_a_refit_replays_vectors_and_an_undo_returns_to_the_model_before(home, model, table):
    text = text_of(3)
    with Writer(home) as writer:
        teach(writer, [lesson(FITTED + number) for number in range(20)])
        teach(writer, [Learn(text, added=("corrected",))])
        before = writer.replica.state_hash()
        with new_base(home) as path:
            numbers = range(100, 300)
            tagger = Tagger(language=None, embeddings=str(table))
            tagger.fit([text_of(number) for number in numbers], [[label_of(number)] for number in numbers])
            save_base(tagger, path)
            assert replay_on(home, path.name).rank(text)[0].label == "corrected"
            writer.change(Refit(path.name)).result(60)
        assert len(writer.replica.tagger.second_opinion.neighbours) == 221
        assert writer.replica.rank(text)[0].label == "corrected"
        sequence = writer.replica.sequence
        with Follower(home) as follower:
            assert follower.replica.state_hash() == writer.replica.state_hash()
        writer.change(Undo([sequence])).result(60)
        assert writer.replica.state_hash() == before


def abound(*arguments):
    command = [sys.executable, "-m", "abound", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_command_line_writes_vectors_and_a_refit_keeps_the_embeddings(home, tmp_path):
    rows = [{"text": text_of(number), "labels": [label_of(number)]} for number in range(300)]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = abound("learn", home.path, "--text", text_of(5), "--label", "corrected")
    assert done.returncode == 0, done.stderr
    with Journal(home.journal_path, write=True) as journal:
        assert next(iter(journal.read(0))).record.vector.startswith(encoder_hash("table-64"))
        journal.append([(Learn("t2w1 t2w2", added=("without a vector",)), None)])
    done = abound("refit", home.path, data, "--holdout", data, "--force", "--json")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 corrections have no vector of the encoder table-64" in done.stderr
    with Follower(home) as follower:
        tagger = follower.replica.tagger
        assert tagger.blends
        assert len(tagger.second_opinion.neighbours) == 301
        assert tagger.rank(text_of(5))[0].label == "corrected"


def test_merged_models_know_their_encoder(model):
    merged = merge(Tagger.load(model), Tagger.load(model))
    assert merged.encoder_name == "table-64"


def check(found):
    assert found["states"] == 1
    assert found["texts found"] == found["texts expected"]
    assert found["records after the kill"] >= found["acknowledged before the kill"] > 0
    assert found["learned in order"]
    assert min(found["recall"].values()) >= 0.95


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("learns", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_killed_while_learning_then_undone_and_forgotten(tmp_path, learns):
    check(served_vectors.run(tmp_path, learns, learns // 10))

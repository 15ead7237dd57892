"""The cost of a record is limited by counts, before it is written."""

import random
import time

import pytest

from abound import Tagger
from abound.errors import RecordTooLarge
from abound.server import Home, Writer
from abound.server.cost import MAX_COST, RECORD_OVERHEAD, cost_of
from abound.server.replica import Replica
from abound.store.journal.records import AddLabel, Learn, MergeLabels, RetireLabel
from tests.server.http.asgi import talk
from tests.server.streams import base


def words(n, seed=0):
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(n))


def labels(n):
    return tuple(f"label {i}" for i in range(n))


def records():
    text = words(5_000)
    return {
        "right": Learn(text, added=labels(200)),
        "accepted": Learn(text, accepted=labels(200)),
        "wrong": Learn(text, rejected=labels(200)),
        "labels": Learn("a pear", added=labels(10_000)),
        "long": Learn(words(60_000), added=["fruit"]),
        "names": AddLabel("much", [words(8, i) for i in range(9_000)]),
        "long names": AddLabel("much", [words(100_000)]),
    }


@pytest.mark.parametrize("kind", records())
def test_what_takes_too_long_is_refused_before_it_is_written(tmp_path, kind):
    with Writer(Home.create(tmp_path / "home", base()), snapshot_every=None) as writer:
        wanted = "send fewer or shorter names" if "names" in kind else "send fewer labels or a shorter text"
        with pytest.raises(RecordTooLarge, match=wanted):
            writer.submit(records()[kind], "key").result(30)
        assert writer.journal.last == 0
        assert writer.submit(Learn("a pear", added=["fruit"]), "key").result(30).sequence == 1


def test_a_rejection_counts_all_that_was_merged():
    replica = Replica(Tagger())
    replica.apply(1, AddLabel("target"))
    for i in range(300):
        replica.apply(2 + 2 * i, AddLabel(f"label {i}"))
        replica.apply(3 + 2 * i, MergeLabels(f"label {i}", "target"))
    replica.apply(602, AddLabel("other"))
    replica.check(Learn(words(2_000), rejected=["other"]))
    with pytest.raises(RecordTooLarge):
        replica.check(Learn(words(2_000), rejected=["target"]))


def test_records_of_people_are_cheap():
    replica = Replica(base())
    for record in (
        Learn(words(300), accepted=labels(5), rejected=("fruit", "vehicle"), added=("z",)),
        Learn(words(5_000), added=labels(5)),
        Learn("a pear", added=labels(1_000)),
        Learn("pear " * 190_000, added=["fruit"]),  # long, and of one word
        AddLabel("new", [f"name {i}" for i in range(100)]),
        RetireLabel("fruit"),
    ):
        replica.check(record)
        assert RECORD_OVERHEAD <= cost_of(record, replica.tagger, replica.labels) <= MAX_COST + RECORD_OVERHEAD


@pytest.mark.parametrize("n_labels", [1, 30, 1000])
def test_what_is_not_refused_is_learnt_soon(n_labels):
    """Known words and labels, so that all rounds are gone through in which a correction must show."""
    tagger, draw = Tagger(ranker_params={"candidates": 20}), random.Random(1)
    vocabulary = words(5_000).split()
    texts = [" ".join(draw.choices(vocabulary, k=20)) for _ in range(4_000)]
    tagger.learn_many(texts, [[f"label {draw.randrange(3_000)}", f"label {i % 3_000}"] for i in range(4_000)])
    replica = Replica(tagger)
    n = int(MAX_COST / (n_labels + 2) - 40) // 2 * 95 // 100
    record = Learn(" ".join(draw.choices(vocabulary, k=n)), added=labels(n_labels))
    replica.check(record)
    start = time.process_time()
    replica.apply(1, record)
    assert time.process_time() - start < 1.0  # 0.25 on a machine that does nothing else


def test_counts_of_terms_are_never_too_low():
    draw = random.Random(5)
    plain = ({}, {"ngrams": 1}, {"ngrams": 4}, {"char_ngrams": (2, 4)}, {"char_ngrams": (3, 3), "ngrams": 1})
    stemmed = ({"stem": "english"}, {"stem": "finnish", "form_weight": 0.5}, {"stem": "english", "char_ngrams": (2, 3)})
    for options in (*plain, *stemmed):
        tagger = Tagger(**options)
        for n in (0, 1, 2, 3, 50, 500):
            text = " ".join(
                draw.choices(
                    ["Äiti", "to be", "x_1", "İstanbul", "e\u0301t\u00e9", "12.5", "Happily", "日本語", "🐱🐱"], k=n
                )
            )
            rows = tagger.encoder.rows([text], learn=True)
            counted = tagger.encoder.count_terms(text)
            assert len(rows[1]) <= counted <= max(1, tagger.encoder.term_count_bound(text))
            if not options.get("char_ngrams"):
                assert len(rows[1]) == counted


def test_a_request_that_bricked_a_home_is_refused_with_413(tmp_path):
    home = Home.create(tmp_path / "home", base())

    async def conversation(client):
        body = {"text": words(50_000), "added": list(labels(10_000))}
        names = {"add": {"label": "much", "names": [words(130, i) for i in range(1000)]}}
        return (
            await client.post("/v1/learn", json=body),
            await client.patch("/v1/labels", json=names),
            await client.patch("/v1/labels", json={**names, "dry_run": True}),
            await client.post("/v1/learn", json={"text": "a pear", "added": ["fruit"]}),
        )

    *refused, learnt = talk(home, conversation)
    assert [answer.status_code for answer in refused] == [413, 422, 422]  # names have limits of their own
    assert "send fewer labels or a shorter text" in refused[0].json()["detail"]
    assert learnt.json()["sequence"] == 1

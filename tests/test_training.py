"""Fitting: all texts are counted, rows are visited in a seeded order, and learning can go on afterwards."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import abound
from abound import Tagger
from abound.tagger import spool
from abound.tagger.training import Training
from abound.training.source import sort_keys, training_order

FIXTURES = Path(__file__).parent / "store" / "fixtures"


def titles(n=600, n_labels=40, seed=0):
    """Short texts sorted by label: the worst order to learn them in."""
    rng = np.random.default_rng(seed)
    rows = []
    for label in sorted(rng.integers(n_labels, size=n).tolist()):
        words = [f"topic{label}"] * int(rng.random() < 0.7) + [f"word{int(200 * u * u)}" for u in rng.random(5)]
        rows.append((" ".join(rng.permutation(words)), [f"label {label}"]))
    return [text for text, _ in rows], [labels for _, labels in rows]


def test_keys_differ_and_depend_on_seed_and_number_only():
    keys = sort_keys(np.arange(100_000), 7)
    assert len(set(keys.tolist())) == 100_000
    assert sort_keys(np.arange(99_000, 99_010), 7).tolist() == keys[99_000:99_010].tolist()
    assert sort_keys(np.arange(10), 8).tolist() != keys[:10].tolist()
    order = training_order(10_000, 7)
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.05


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_sorted_rows_are_learnt_as_well_as_shuffled_ones(few_labels):
    texts, labels = titles(2000)
    mixed = np.random.default_rng(1).permutation(len(texts))
    train, held = mixed[:1800], mixed[1800:]

    def precision(order):
        tagger = Tagger(ranker_params={"few_labels": few_labels})
        tagger.fit([texts[i] for i in order], [labels[i] for i in order])
        best = tagger.rank_many([texts[i] for i in held], 1)
        return np.mean([bool(found) and found[0].label in labels[i] for i, found in zip(held, best, strict=True)])

    found = [precision(order) for order in (train, np.sort(train), np.sort(train)[::-1])]
    assert min(found) > 0.55
    assert max(found) - min(found) <= 0.05


@pytest.mark.parametrize("entries", [1 << 30, 1000])
@pytest.mark.parametrize("few_labels", [0, 1000])
@pytest.mark.parametrize("shards", [1, 3])
def test_rows_in_a_file_give_the_same_model_as_rows_in_memory(entries, few_labels, shards, tmp_path, monkeypatch):
    texts, labels = titles()
    params = {"few_labels": few_labels, "shards": shards, "n_jobs": 2}
    names = {"label 3": "topics of the third kind", "label 99": "nothing"}
    whole = Tagger(ranker_params=params).fit(texts, labels, label_names=names)
    monkeypatch.setattr(spool, "RUN_ENTRIES", entries)
    monkeypatch.setattr(spool, "PIECE", 100)
    tagger = Tagger(ranker_params=params)
    training = Training(tagger, names, folder=tmp_path)
    for start in range(0, len(texts), 70):
        training.add(texts[start : start + 70], labels[start : start + 70])
    training.learn()
    assert tagger.state_hash() == whole.state_hash()
    assert not list(tmp_path.iterdir())


def test_each_fit_detects_the_language_of_its_own_texts():
    english = [f"the history of the city and its people in the year {n}" for n in range(60)]
    finnish = [f"kaupungin ja sen asukkaiden historia vuonna {n} kirjoitettuna" for n in range(60)]
    tagger, labels = Tagger(), [["history"]] * 60
    assert [tagger.fit(texts, labels).language for texts in (english, finnish, english)] == ["en", "fi", "en"]
    given = Tagger(language="fi").fit(english, labels)
    assert (given.language, given.encoder.stem) == ("fi", "finnish")


def test_the_seed_changes_the_order_and_the_same_seed_gives_the_same_bytes():
    hashes = [Tagger(ranker_params={"random_state": seed}).fit(*titles()).state_hash() for seed in (0, 0, 1)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("kind", ["mmp", "perceptron", "rocchio", "feature-focus", "independent", "frequency"])
def test_every_ranker_is_fitted_in_this_way(kind):
    tagger = Tagger(kind).fit(*titles(), label_names={"label 1": "topic1"})
    assert tagger.rank("topic5 topic5")
    assert tagger.n_rows == 600


@pytest.mark.parametrize("few_labels", [0, 1000])
@pytest.mark.parametrize("min_count", [1, 2])
def test_corrections_go_on_after_fit_with_new_words_and_labels(few_labels, min_count, tmp_path):
    texts, labels = titles()
    tagger = Tagger(ranker_params={"few_labels": few_labels}, min_count=min_count).fit(texts, labels)
    tagger.save(tmp_path / "m")
    loaded, many = Tagger.load(tmp_path / "m"), Tagger.load(tmp_path / "m")
    news = [(f"zorb{n % 7} quibble{n % 5} {texts[n]}", [f"new {n % 9}"]) for n in range(30)]
    for text, given in news:
        tagger.learn(text, given)
        loaded.learn(text, given)
        assert tagger.rank(text)[0].label == given[0]
    many.learn_many([text for text, _ in news], [given for _, given in news], insist=True)
    assert tagger.state_hash() == loaded.state_hash() == many.state_hash()
    tagger.learn("entirely unseen", ["unseen"])
    tagger.learn("entirely unseen", ["unseen"])  # with min_count=2, words are used from their second text on
    assert tagger.rank("entirely unseen")[0].label == "unseen"


@pytest.mark.parametrize(("few_labels", "share"), [(0, 8), (1000, 3)])
def test_terms_that_are_forgotten_on_the_way_do_not_mix_the_others_up(few_labels, share, tmp_path, monkeypatch):
    texts, labels = titles(3000)
    monkeypatch.setattr(spool, "PIECE", 100)
    free = Tagger(ranker_params={"few_labels": few_labels}).fit(texts, labels)
    tagger = Tagger(ranker_params={"few_labels": few_labels})
    training = Training(tagger, {"label 3": "topic3"}, folder=tmp_path, max_bytes=free.nbytes // share)
    for start in range(0, len(texts), 70):
        training.add(texts[start : start + 70], labels[start : start + 70])
    training.learn()
    assert training.dropped["terms"] > 0
    assert training.second_stage_dropped == (few_labels == 0)
    assert tagger.nbytes <= free.nbytes // share
    right = [bool(tagger.rank(f"topic{n}")) and tagger.rank(f"topic{n}")[0].label == f"label {n}" for n in range(40)]
    assert np.mean(right) > 0.9


def test_the_progressive_figure_comes_from_rows_that_were_not_learnt(monkeypatch):
    monkeypatch.setattr(spool, "PIECE", 100)
    texts, labels = titles(3000)
    chance = [[f"label {n % 97}"] for n in np.random.default_rng(0).permutation(3000)]
    for wanted, given in ((0.6, labels), (0.1, chance)):
        training = Training(Tagger(ranker_params={"few_labels": 0}))
        training.add(texts, given)
        training.learn()
        assert (training.progressive_p1 > wanted) == (given is labels)


def test_counted_rows_leave_no_file_behind_when_a_fit_is_interrupted(tmp_path):
    rows = [json.dumps({"text": f"word{n} thing{n % 700}", "labels": [f"l{n % 5000}"]}) for n in range(300_000)]
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    command = [sys.executable, "-m", "abound", "fit", "many.jsonl", "--model", "m"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert {path.name for path in tmp_path.iterdir()} <= {"many.jsonl", "m"}


# -- models of earlier versions --------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("format-*/*/")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_model_of_an_earlier_format_ranks_as_it_did_and_learns_new_words(path):
    expected = json.loads((path.parent / "expected.json").read_text())[path.name]
    tagger = abound.load(path)
    for text, ranking in expected["rankings"].items():
        assert [[str(entry.label), entry.score] for entry in tagger.rank(text, 3)] == ranking
    tagger.learn("Zorbulator quibblefish", ["zorb"])
    tagger.learn("Zorbulator quibblefish", ["zorb"])
    assert tagger.rank("Zorbulator quibblefish")[0].label == "zorb"


@pytest.mark.parametrize(("n_rows", "trials"), [(1000, [(1, 2), (2, 2), (0, 2)]), (999, [])])
def test_trials_are_reported_before_the_first_row(n_rows, trials):
    events = []
    training = Training(Tagger())
    training.add(*titles(n_rows))
    training.learn(lambda learned, _: events.append(learned), lambda number, n: events.append((number, n)))
    assert events[: len(trials)] == trials
    assert all(isinstance(event, int) for event in events[len(trials) :])

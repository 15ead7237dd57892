"""Rankings with merged and retired labels: exact sums, for about the cost of a plain ranking."""

import random
import time

import numpy as np
import pytest

from abound import Tagger
from abound.server.replica import Replica
from abound.store import read_model
from abound.store.journal.records import MergeLabels, RetireLabel

VOCABULARY = [f"w{i}" for i in range(400)]
FORMS = {
    "many": {"ranker_params": {"few_labels": 10}},
    "weighed": {"ranker_params": {"few_labels": 10, "candidates": 20}},
    "few": {},
    "focus": {"ranker": "feature-focus"},
    "mmp": {"ranker": "mmp"},
    "independent": {"ranker": "independent"},
    "frequency": {"ranker": "frequency"},
}


def document(draw, n):
    return " ".join(draw.choices(VOCABULARY, k=n))


def trained(form, n_labels=150):
    draw = random.Random(1)
    tagger = Tagger(**FORMS[form])
    texts = [document(draw, 12) for _ in range(600)]
    tagger.learn_many(texts, [[f"l{draw.randrange(n_labels)}", f"l{i % n_labels}"] for i in range(600)])
    return tagger


def expected(replica, text, k):
    """Rank all labels, add the parts of each merged one, and sort."""
    full = {entry.label: entry.score for entry in replica.tagger.rank(text, replica.tagger.n_labels)}
    shown = {}
    for label in full:
        target = replica.labels.resolve(label)
        if target not in replica.labels.retired and target not in shown:
            parts = [full[member] for member in replica.labels.members(target) if member in full]
            shown[target] = sum(part for part in parts if part > 0) or max(parts)
    number = replica.labels.book.id_of
    return sorted(shown.items(), key=lambda pair: (-pair[1], number(pair[0])))[:k]


@pytest.mark.parametrize("form", FORMS)
def test_a_merged_label_has_the_sum_of_its_parts(form):
    replica, draw = Replica(trained(form)), random.Random(2)
    for i in range(40):
        replica.apply(i + 1, MergeLabels(f"l{i}", f"l{100 + i % 7}"))
    for i in range(20):
        replica.apply(41 + i, RetireLabel(f"l{60 + i}"))
    replica.apply(61, RetireLabel("l100"))  # with all that was merged into it
    for words in (1, 3, 30, 300):
        text = document(draw, words)
        for k in (1, 5, 60):
            found = replica.rank(text, k)
            wanted = expected(replica, text, k)
            assert [entry.rank for entry in found] == list(range(1, len(found) + 1))
            np.testing.assert_allclose([entry.score for entry in found], [score for _, score in wanted], rtol=1e-12)
            if form != "frequency":  # many labels are equally frequent
                assert [entry.label for entry in found] == [label for label, _ in wanted]


def test_parts_behind_the_ranked_do_not_pass_a_label_that_fell(tmp_path):
    """A label that the second stage ranks lower stays before all labels that are not re-ranked."""
    text = document(random.Random(5), 60)
    tagger = trained("weighed")
    tagger.save(tmp_path / "model")
    model = read_model(tmp_path / "model")
    fallen = tagger.ranker.labels_.id_of(tagger.rank(text, 1)[0].label)
    weights = model.arrays["ranker_table_weights"] = model.arrays["ranker_table_weights"].copy()
    weights[model.arrays["ranker_table_labels"] == fallen] = -0.5
    replica = Replica(Tagger.from_model(model))
    for i in range(40):
        replica.apply(i + 1, MergeLabels(f"l{i}", f"l{100 + i % 7}"))
    for k in (1, 5):
        found = [(entry.label, pytest.approx(entry.score)) for entry in replica.rank(text, k)]
        assert found == expected(replica, text, k)


def test_the_reasons_of_a_merged_label_are_those_of_its_parts():
    replica = Replica(trained("many"))
    for i in range(40):
        replica.apply(i + 1, MergeLabels(f"l{i}", "l100"))
    text = document(random.Random(3), 40)
    score = next(entry.score for entry in replica.rank(text, 150) if entry.label == "l100")
    found = replica.explain(text, "l100")
    assert found.score == pytest.approx(score)
    assert sum(word.vote for word in found.words) == pytest.approx(score)
    assert replica.explain("unheard", "l100").words == []


def test_a_ranking_with_merges_costs_what_one_without_costs():
    draw = random.Random(4)
    tagger = trained("many", 2000)
    text = document(draw, 20_000)
    plain, merged = Replica(tagger), Replica(tagger)
    names = list(tagger.ranker.labels_.names)
    for i in range(200):
        merged.apply(i + 1, MergeLabels(names[i], names[i + 300]))

    def seconds(replica):
        best = 1e9
        for _ in range(5):
            start = time.perf_counter()
            replica.rank(text, 10)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(merged) < 5 * seconds(plain) + 0.02

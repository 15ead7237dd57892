"""The kernels and containers of the second opinion."""

import numpy as np
import pytest

from abound.growing import Growing, LabelLists
from abound.kernels import blending
from abound.kernels.nearest import Best, dots, fewest_differences
from abound.second_opinion.neighbours import Neighbours, sign_bits
from abound.second_opinion.vectors import directions, exp, lengths, log, quantised

pytestmark = pytest.mark.kernel
RANDOM = np.random.default_rng(0)


def codes(n, width=40, seed=0):
    return quantised(np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32))


def test_the_best_rows_are_those_of_a_sort_and_ties_keep_their_order():
    rows = codes(500)
    rows[100:200] = rows[:100]  # equal values
    factors, biases = RANDOM.uniform(0.5, 1, 500), np.repeat([0.0, 3.0], 250)
    factors[100:200], factors[7] = factors[:100], 0.0
    query = codes(1, seed=1)[0].astype(np.int16)
    values = rows.astype(np.int64) @ query * factors * 2.0 + biases
    values[7] = -np.inf
    for k in (1, 10, 499):
        best = Best(k)
        best.offer(rows[:300], factors[:300], biases[:300], query, 2.0, 0)
        best.offer(rows[300:], factors[300:], biases[300:], query, 2.0, 300)
        found, scores = best.taken()
        expected = np.lexsort((np.arange(500), -values))[:k]
        assert found.tolist() == expected.tolist()
        assert scores.tolist() == values[expected].tolist()


def test_chosen_rows_are_compared_exactly():
    rows, query = codes(50), codes(1, seed=1)[0].astype(np.int16)
    chosen = np.array([3, 9, 40], np.int32)
    best = Best(2)
    best.offer_chosen(rows, np.ones(50), np.zeros(50), query, 1.0, 100, chosen)
    values = rows[chosen].astype(np.int64) @ query
    assert best.taken()[0].tolist() == (100 + chosen[np.argsort(-values)][:2]).tolist()
    out = np.empty(3)
    dots(rows, chosen.astype(np.int64), query, out)
    assert out.tolist() == values.tolist()


def test_invalid_arguments_of_a_search_are_refused():
    rows, query = codes(5), codes(1)[0].astype(np.int16)
    with pytest.raises(ValueError, match="k must be positive"):
        Best(0)
    with pytest.raises(ValueError, match="same sizes"):
        Best(1).offer(rows, np.ones(4), np.zeros(5), query, 1.0, 0)
    with pytest.raises(ValueError, match="same sizes"):
        Best(1).offer(rows, np.ones(5), np.zeros(5), query[:-1], 1.0, 0)
    with pytest.raises(ValueError, match="out of range"):
        Best(1).offer_chosen(rows, np.ones(5), np.zeros(5), query, 1.0, 0, np.array([5], np.int32))
    with pytest.raises(ValueError, match="out of range"):
        dots(rows, np.array([-1]), query, np.empty(1))


def test_rows_with_the_fewest_different_signs_are_selected():
    rows, query = codes(300), codes(1, seed=1)
    bits, wanted = sign_bits(rows), sign_bits(query)[0]
    distance = ((rows > 0) != (query > 0)).sum(axis=1)
    for n in (1, 20, 300, 400):
        chosen = fewest_differences(bits, wanted, n)
        expected = np.lexsort((np.arange(300), distance))[:n]
        assert chosen.tolist() == sorted(expected.tolist())


def test_exponentials_and_logarithms_are_those_of_numpy():
    values = np.linspace(-50, 50, 101)
    assert np.allclose(exp(values), np.exp(values), rtol=1e-12)
    assert np.allclose(log(np.exp(values)), values, atol=1e-12)
    with pytest.raises(ValueError, match="positive"):
        log(np.array([0.0]))


def test_the_blend_learns_that_right_candidates_beat_wrong_ones():
    random = np.random.default_rng(0)
    weights, squares = np.zeros(2), np.full(2, 1e-3)
    for _ in range(200):
        features = random.normal(size=(8, 2))
        right = np.zeros(8, np.uint8)
        right[np.argmax(2 * features[:, 0] - features[:, 1])] = 1
        assert blending.learn(features, right, np.ones(8, np.uint8), 0.1, weights, squares, np.empty(8), np.empty(2))
    assert weights[0] > 0 > weights[1]
    assert weights[0] / -weights[1] == pytest.approx(2, rel=0.3)


def test_a_step_of_the_blend_follows_the_gradient_of_its_loss():
    random = np.random.default_rng(1)
    features, right = random.normal(size=(6, 3)), np.array([1, 0, 0, 1, 0, 0], np.uint8)

    def loss(weights):
        powers = np.exp(features @ weights)
        wrong = powers[right == 0].sum()
        return -np.log(powers[right == 1] / (powers[right == 1] + wrong)).mean()

    weights = random.normal(size=3)
    numeric = [(loss(weights + d) - loss(weights - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
    gradient, squares = np.empty(3), np.full(3, 1.0)
    blending.learn(features, right, np.ones(6, np.uint8), 0.0, weights.copy(), squares, np.empty(6), gradient)
    assert np.allclose(gradient, numeric, atol=1e-6)
    assert np.allclose(squares, 1.0 + np.square(numeric), atol=1e-5)


@pytest.mark.parametrize("right", [[0, 0], [1, 1]])
def test_the_blend_learns_nothing_from_candidates_that_are_all_right_or_all_wrong(right):
    weights = np.array([0.5])
    rows, marks = np.ones((2, 1)), np.array(right, np.uint8)
    assert not blending.learn(rows, marks, np.ones(2, np.uint8), 1.0, weights, np.ones(1), np.empty(2), np.empty(1))
    assert weights.tolist() == [0.5]


def test_directions_have_the_same_length():
    found = directions(codes(20))
    assert np.all(found == np.rint(found))
    assert np.allclose(np.sqrt((found**2).sum(axis=1)), 4096, rtol=1e-3)
    assert not directions(np.zeros((1, 4), np.int8)).any()
    assert lengths(np.array([[3, 4]], np.int8)).tolist() == [5.0]


def test_an_array_that_was_loaded_is_copied_when_it_changes():
    loaded = np.arange(3)
    loaded.flags.writeable = False
    array = Growing(loaded)
    assert array.rows.base is loaded
    array.own()[0] = 7
    array.extend([5, 6])
    array.resize(7)
    assert (loaded.tolist(), array.rows.tolist()) == ([0, 1, 2], [7, 1, 2, 5, 6, 0, 0])
    lists = LabelLists()
    lists.append([3, 4])
    lists.append([])
    assert [lists[0].tolist(), lists[1].tolist(), len(lists)] == [[3, 4], [], 2]


# -- neighbours ----------------------------------------------------------------------------------------


def neighbours(n=200, **options):
    made, rows = Neighbours(40), codes(n)
    for number, code in enumerate(rows):
        made.add(code, [number % 7], f"text {number}", **options)
    return made, rows


def test_a_search_finds_the_most_similar_texts():
    made, rows = neighbours()
    query = codes(1, seed=5)[0]
    found, similarities = made.search(query, 10)
    cosines = (rows.astype(float) @ query) / np.linalg.norm(rows.astype(float), axis=1) / np.linalg.norm(query)
    assert found.tolist() == np.argsort(-cosines)[:10].tolist()
    assert np.allclose(similarities, np.sort(cosines)[::-1][:10])
    assert made.shown(int(found[0])) == (f"text {found[0]}", [found[0] % 7])


def test_many_rows_are_selected_by_their_signs_first(monkeypatch):
    monkeypatch.setattr("abound.second_opinion.neighbours.MANY_ROWS", 100)
    monkeypatch.setattr("abound.second_opinion.neighbours.SELECTED", 60)
    made, rows = neighbours(400)
    hits = 0
    for query in codes(20, seed=6):
        exact, quick = made.search(query, 10, exactly=True)[0], made.search(query, 10)[0]
        hits += len(set(exact.tolist()) & set(quick.tolist()))
    assert hits >= 150
    assert made.search(rows[3], 1)[0].tolist() == [3]
    made.forget(rows[3])
    assert 3 not in made.search(rows[3], 10)[0]
    made.add(codes(1, seed=7)[0], [1], "a later text")
    assert made.search(codes(1, seed=7)[0], 1)[0].tolist() == [400]


def test_a_forgotten_text_leaves_no_trace():
    made, rows = neighbours(50)
    other = Neighbours(40)
    for number, code in enumerate(rows):
        if number != 20:
            other.add(code, [number % 7], f"text {number}")
    assert made.forget(rows[20]) == 1
    assert made.forget(rows[20]) == 0
    assert len(made) == 49
    assert made.shown(20)[0] == ""
    for name, array in made.state().items():
        assert array.tobytes() == other.state()[name].tobytes(), name
    again = Neighbours.from_state(made.state(), 40, 7)
    again.forget(rows[21])
    again.add(rows[20], [1], "text 20")
    assert len(again) == 49
    assert b"text 21" not in again.state()["texts"].tobytes()
    assert again.search(rows[20], 1)[0].tolist() == [49]


def test_many_texts_are_added_as_single_ones_are():
    one, many = Neighbours(40), Neighbours(40)
    given = [codes(30), np.zeros((1, 40), np.int8), codes(20, seed=2)]
    rows = np.concatenate(given)
    labels = [np.arange(number % 4, dtype=np.int32) for number in range(51)]
    for number, code in enumerate(rows):
        if len(labels[number]):
            one.add(code, labels[number], f"text {number}")
    for part in (slice(0, 20), slice(20, 20), slice(20, 51)):
        many.add_many(rows[part], labels[part], [f"text {number}" for number in range(51)][part])
    for name, array in one.state().items():
        assert array.tobytes() == many.state()[name].tobytes(), name
    assert one.search(rows[3], 5)[0].tolist() == many.search(rows[3], 5)[0].tolist()


def test_a_text_without_a_direction_is_left_out():
    made, _ = neighbours(3)
    made.add(np.zeros(40, np.int8), [1], "nothing")
    assert len(made) == 3
    assert len(made.search(np.zeros(40, np.int8), 5)[0]) == 0


def test_the_last_correction_of_a_text_counts():
    made, rows = neighbours(10)
    assert [len(part) for part in made.correction(rows[2])] == [0, 0]
    made.add(rows[2], [5], "text 2", wrong=[2], corrected=True)
    made.add(rows[2], [6], "text 2", corrected=True)
    loaded = Neighbours.from_state(made.state(), 40, 7)
    for one in (made, loaded):
        assert [part.tolist() for part in one.correction(rows[2])] == [[6], []]
        one.forget(rows[2])
        assert [len(part) for part in one.correction(rows[2])] == [0, 0]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("vectors", lambda a: np.zeros_like(a), "is 0"),
        ("right", lambda a: a + 7, "known labels"),
        ("right_indptr", lambda a: a[::-1].copy(), "ascending"),
        ("text_offsets", lambda a: a + 1, "offsets"),
        ("keys", lambda a: a[:-1], "shape"),
    ],
)
def test_a_damaged_state_is_refused(name, change, message):
    state = neighbours(10)[0].state()
    with pytest.raises(ValueError, match=message):
        Neighbours.from_state(state | {name: change(state[name])}, 40, 7)

"""The checker accepts histories of a correct journal and reports each way to break one."""

import bisect
import itertools
import random
import time

import pytest

from tests.several.linearizability import History, Learned, Seen, violations


def kinds(history, log):
    return {message.partition(":")[0] for message in violations(history, log)}


def history(learns=(), reads=()):
    return History([Learned(*learn) for learn in learns], [Seen(*read) for read in reads])


def test_a_learn_may_take_effect_anywhere_between_request_and_answer():
    # a and b overlap, so that both orders are right; c begins after both.
    learns = [("a", 0, 10, 2), ("b", 1, 9, 1), ("c", 11, 12, 3)]
    assert kinds(history(learns), ["b", "a", "c"]) == set()


def test_an_unanswered_learn_may_be_recorded_or_not():
    learns = [("a", 0, None, None), ("b", 1, 2, 1), ("c", 3, None, None)]
    assert kinds(history(learns), ["b", "a"]) == set()
    assert kinds(history(learns), ["b"]) == set()


def test_a_repeated_learn_begins_with_its_first_request():
    # The first request of a was recorded, its answer was lost, and b came in between.
    assert kinds(history([("a", 0, 10, 1), ("b", 4, 5, 2)]), ["a", "b"]) == set()


def test_a_lost_record():
    assert kinds(history([("a", 0, 1, 1), ("b", 2, 3, 2)]), ["a"]) == {"lost"}


def test_a_record_in_the_place_of_another_one():
    assert kinds(history([("a", 0, 3, 1), ("b", 0, 3, 1)]), ["a", "b"]) == {"moved"}


def test_a_record_that_was_written_twice():
    assert kinds(history([("a", 0, 1, 1), ("b", 2, 3, 2)]), ["a", "b", "a"]) == {"twice"}


def test_a_record_that_nobody_sent():
    assert kinds(history([("a", 0, 1, 1)]), ["a", "x"]) == {"invented"}


def test_records_without_a_key_are_not_ours():
    assert kinds(history([("a", 0, 1, 2)]), [None, "a"]) == set()


def test_reordered_learns():
    # b was requested after the answer of a, and is before it in the journal.
    assert kinds(history([("a", 0, 1, 2), ("b", 2, 3, 1)]), ["b", "a"]) == {"reordered"}


def test_reordered_learns_with_another_one_between():
    # Each pair of neighbours overlaps; c and a do not.
    learns = [("c", 4, 6, 1), ("b", 1, 5, 2), ("a", 0, 2, 3)]
    assert kinds(history(learns), ["c", "b", "a"]) == {"reordered"}


def test_an_unanswered_learn_is_ordered_by_its_request():
    # a is before b in the journal, and was first sent after the answer of b.
    assert kinds(history([("a", 5, None, None), ("b", 0, 1, 2)]), ["a", "b"]) == {"reordered"}


LEARNS = [("a", 0, 1, 1), ("b", 2, 3, 2), ("c", 4, 5, 3)]
LOG = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (("b", 6, 7, 3, True, 2, "p"), set()),
        (("b", 6, 7, 1, False, 0, "p"), set()),  # old, by design
        (("b", 2, 3, 1, False, 0, "p"), set()),
        (("b", 6, 7, 1, False, 2, "p"), {"stale"}),
        (("b", 6, 7, 2, False, 2, "p"), {"hidden"}),
        (("c", 6, 7, 2, True, 0, "p"), {"early"}),
        (("x", 6, 7, 3, True, 0, "p"), {"early"}),
        (("x", 6, 7, 3, False, 0, "p"), set()),
        (("c", 2, 3.5, 3, True, 0, "p"), {"future"}),
        (("a", 2, 3.5, 3, True, 0, "p"), {"future"}),  # although it shows nothing of c
        (("a", 6, 7, 4, True, 0, "p"), {"future"}),
    ],
)
def test_reads(read, expected):
    assert kinds(history(LEARNS, [read]), LOG) == expected


def test_a_process_never_goes_backwards():
    first = ("a", 6, 7, 3, True, 0, "p")
    for second, expected in [
        (("a", 8, 9, 2, True, 0, "p"), {"backward"}),
        (("a", 6.5, 9, 2, True, 0, "p"), set()),  # asked before the first answer
        (("a", 8, 9, 2, True, 0, "q"), set()),
        (("a", 8, 9, 3, True, 0, "p"), set()),
    ]:
        assert kinds(history(LEARNS, [first, second]), LOG) == expected


def test_a_process_has_what_it_reported_with_a_learn():
    learns = [*LEARNS[:2], ("c", 4, 5, 3, "p", 3)]
    assert kinds(history(learns, [("a", 6, 7, 2, True, 0, "p")]), LOG) == {"backward"}
    assert kinds(history(learns, [("a", 4.5, 7, 2, True, 0, "p")]), LOG) == set()
    learns[-1] = ("c", 4, 5, 3, "p", 2)  # it has not applied its record yet
    assert kinds(history(learns, [("a", 6, 7, 2, True, 0, "p")]), LOG) == set()


def simulated(seed, n=300):
    """Return a history and the log of clients at servers that follow a log at their own pace."""
    chance, clock, committed, learns = random.Random(seed), 0.0, [], []
    for number in range(n):
        clock += chance.random()
        committed.append(clock)
        asked, answered = clock - chance.expovariate(0.5), clock + chance.expovariate(0.5)
        learns.append(Learned(f"k{number}", asked, answered, number + 1, chance.choice("pqr"), number + 1))
    reads, position = [], dict.fromkeys("pqr", 0)
    for moment in sorted(chance.random() * clock for _ in range(n)):
        process, probe = chance.choice("pqr"), chance.randrange(n)
        own = [one.sequence for one in learns if one.process == process and one.answered < moment]
        position[process] = sequence = chance.randint(
            max([position[process], *own]), bisect.bisect_right(committed, moment)
        )
        minimum = chance.choice([0, sequence])
        reads.append(Seen(f"k{probe}", moment, moment, sequence, probe < sequence, minimum, process))
    return History(learns, reads), [learn.key for learn in learns]


@pytest.mark.parametrize("seed", range(20))
def test_histories_of_a_correct_log(seed):
    assert violations(*simulated(seed)) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_all_pairs(seed):
    """A log is in an order that respects the clock if each pair of its records is."""
    chance = random.Random(seed)
    for n in range(1, 7):
        intervals = [(start := chance.random() * 5, start + chance.random() * 3) for _ in range(n)]
        for order in itertools.permutations(range(n)):
            learns = [(f"k{i}", *intervals[i], order.index(i) + 1) for i in range(n)]
            is_right = all(
                intervals[late][1] > intervals[early][0]
                for place, early in enumerate(order)
                for late in order[place + 1 :]
            )
            found = kinds(history(learns), [f"k{i}" for i in order])
            assert found == (set() if is_right else {"reordered"})


def test_a_long_history_takes_seconds_at_most():
    n = 100_000
    learns = [Learned(f"k{i}", i, i + 1.5, i + 1, "p", i + 1) for i in range(n)]
    reads = [Seen(f"k{i}", i + 2, i + 2.5, i + 1, True, i + 1, "p") for i in range(n)]
    begun = time.process_time()
    assert violations(History(learns, reads), [f"k{i}" for i in range(n)]) == []
    assert time.process_time() - begun < 30  # comparing all pairs takes hours

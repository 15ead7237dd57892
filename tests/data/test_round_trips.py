"""What a format can carry comes back equal; what it cannot is refused."""

import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abound import data
from abound.data import Document, NamedRow, Qrel, Row, RunLine

QUICK = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Everything that has ever broken a format: separators, quotes, scripts, marks, line ends of other systems.
AWKWARD = [
    *"abc ,:|#;<>\"'\t\n\r\0\\^_",
    *("\ufeff", "\xa0", "\u3000", "\u2028", "\x85", "\x1c", "é", "😀", "שלום", "٣"),
]
texts = st.lists(st.sampled_from(AWKWARD) | st.characters(exclude_categories=["Cs"]), max_size=8).map("".join)
names = texts.filter(bool)
NOTHING = st.none()
numbers = st.floats(allow_nan=False, allow_infinity=False)
indices = st.integers(0, 2**40)


def lists(strategy):
    return st.lists(strategy, max_size=3).map(tuple)


def maybe(strategy):
    return st.none() | strategy


def of_weight_1(labels, text, ids, wrong=None, vector=None):
    wrong = st.just(()) if wrong is None else wrong
    return st.builds(Document, labels, text, ids, st.just(1.0), wrong, NOTHING if vector is None else vector)


vectors = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3).map(tuple)


def is_possible(document):
    return not set(document.labels) & set(document.wrong)


documents = of_weight_1(lists(names), texts, maybe(names))
with_wrong = of_weight_1(lists(names), texts, maybe(names), lists(names)).filter(is_possible)


@st.composite
def rows(draw, labels, qids, ids=NOTHING, comments=NOTHING, index=indices, value=numbers):
    pairs = draw(st.lists(st.tuples(index, value), max_size=4))
    return Row(
        draw(labels),
        tuple(index for index, _ in pairs),
        tuple(value for _, value in pairs),
        draw(qids),
        draw(ids),
        draw(comments),
    )


@st.composite
def named_rows(draw, labels, features, ids):
    pairs = draw(st.lists(st.tuples(features, numbers), max_size=4))
    return NamedRow(draw(labels), tuple(n for n, _ in pairs), tuple(v for _, v in pairs), draw(ids))


def without(strategy, forbidden):
    stripped = strategy.map(lambda text: re.sub(f"[{forbidden}]", "", text))
    # Names stay names: taking characters away must not leave nothing.
    return stripped.map(lambda text: text or "x") if strategy is names else stripped


def trimmed(strategy):
    return strategy.map(lambda text: text.strip() or "x")


SPACE = r" \t\n\r\v\f"
word = without(names, r"\s\0#")
number_labels = st.integers(0, 10**6).map(str)
one_line = without(texts, r"\t\n\r")
grades = st.integers(-2, 4).map(lambda grade: (str(grade),))
comments = maybe(without(texts, r"\n\r\0")).filter(lambda text: not (text or "").strip().startswith("docid"))
vw_name = without(names, rf":|\0{SPACE}^")

# For each format the records that it can carry.
CARRIED = {
    "jsonl": with_wrong,
    "parquet": documents,
    "csv": of_weight_1(lists(trimmed(without(names, "|"))), texts, maybe(names)),
    "tsv": of_weight_1(lists(trimmed(without(names, "|"))), texts, maybe(names)),
    "labels-tsv": of_weight_1(lists(without(names, r" \t\n\r")), one_line, st.none()),
    "annif": of_weight_1(lists(without(names, r"<>\s")), one_line, st.none()),
    "fasttext": of_weight_1(lists(without(names, rf"\0{SPACE}")), without(texts, r"\n\r"), st.none()).filter(
        lambda document: document.labels or document.text
    ),
    "svmlight": rows(lists(without(names, rf",:#\0{SPACE}")), maybe(word), comments=maybe(without(texts, r"\n\r\0"))),
    "xmc": rows(lists(number_labels), st.none()),
    "letor": rows(grades, word, maybe(word), comments, value=numbers | st.just(math.nan)),
    "trec-run": st.builds(RunLine, word, word, st.integers(0, 10**6), numbers, word),
    "trec-qrels": st.builds(Qrel, word, word, st.integers(-2, 4)),
    "vw": named_rows(
        lists(without(names, rf",:|\0{SPACE}")).filter(lambda labels: not "".join(labels).startswith("'")),
        vw_name | st.tuples(vw_name, vw_name).map("^".join),
        maybe(without(names, rf"|\0{SPACE}")),
    ),
}


@pytest.mark.parametrize("name", CARRIED)
def test_what_is_carried_comes_back_equal(name, tmp_path):
    path = tmp_path / "file"

    @QUICK
    @given(st.lists(CARRIED[name], max_size=3))
    def check(records):
        assert data.write(path, records, name) == len(records)
        assert list(data.read(path, name)) == records

    check()


@QUICK
@given(st.lists(of_weight_1(lists(names), texts, maybe(names), vector=maybe(vectors)), max_size=3))
def test_vectors_come_back_from_jsonl(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("vectors") / "file"
    data.write(path, records, "jsonl", vector_field="vector")
    assert list(data.read(path, "jsonl", vector_field="vector")) == records


# What a text format gets when it is asked to write anything at all.
anything = of_weight_1(lists(names), texts, maybe(names), lists(names), maybe(vectors)).filter(is_possible)
ANYTHING = {
    name: anything if data.FORMATS[name].record is Document else strategy
    for name, strategy in {
        **CARRIED,
        "svmlight": rows(lists(names), maybe(names), maybe(names), maybe(texts)),
        "letor": rows(lists(names) | grades, maybe(names), maybe(names), maybe(texts)),
        "xmc": rows(lists(names | number_labels), maybe(names)),
        "trec-run": st.builds(RunLine, names, names, st.integers(0, 9), numbers, names),
        "trec-qrels": st.builds(Qrel, names, names, st.integers(0, 9)),
        "vw": named_rows(lists(names), names, maybe(names)),
    }.items()
}


@pytest.mark.parametrize("name", ANYTHING)
def test_whatever_is_written_comes_back_equal_or_is_refused(name, tmp_path):
    path = tmp_path / "file"

    @QUICK
    @given(st.lists(ANYTHING[name], min_size=1, max_size=2))
    def check(records):
        path.write_bytes(b"before")
        try:
            data.write(path, records, name)
        except ValueError:
            assert path.read_bytes() == b"before"
        else:
            assert list(data.read(path, name)) == records

    check()

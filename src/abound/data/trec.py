"""Runs and relevance judgements of TREC."""

from collections.abc import Callable

from abound.data.formats import LineFormat, Malformed, Options
from abound.data.parsing import WHITESPACE, Guard, count_noun, number_text, parse_float, parse_int, shown
from abound.data.records import Qrel, RunLine


class TrecRun(LineFormat[RunLine]):
    """'qid Q0 doc rank score tag'; the second column is ignored."""

    name = "trec-run"
    summary = "qid Q0 doc rank score tag"
    record = RunLine
    suffixes = (".run",)

    def parser(self, options: Options) -> Callable[[str], RunLine | None]:  # noqa: ARG002
        """Return a function that parses a line into a retrieved document."""

        def parse(line: str) -> RunLine | None:
            words = _columns(line, 6, self.summary)
            if words is None:
                return None
            qid, _, doc, rank, score, tag = words
            return RunLine(qid, doc, parse_int(rank, "the rank"), parse_float(score, "the score"), tag)

        return parse

    def formatter(self, options: Options) -> Callable[[RunLine], str]:  # noqa: ARG002
        """Return a function that formats a retrieved document as a line."""
        qid, doc, tag = (_guard(self.name, what) for what in ("qid", "document", "tag"))

        def line_of(run: RunLine) -> str:
            rank = _whole_number("rank", run.rank)
            return f"{qid(run.qid)} Q0 {doc(run.doc)} {rank} {number_text(run.score)} {tag(run.tag)}"

        return line_of


class TrecQrels(LineFormat[Qrel]):
    """'qid 0 doc grade'; the second column is ignored."""

    name = "trec-qrels"
    summary = "qid 0 doc grade"
    record = Qrel
    suffixes = (".qrels",)

    def parser(self, options: Options) -> Callable[[str], Qrel | None]:  # noqa: ARG002
        """Return a function that parses a line into a judgement."""

        def parse(line: str) -> Qrel | None:
            words = _columns(line, 4, self.summary)
            return None if words is None else Qrel(words[0], words[2], parse_int(words[3], "the grade"))

        return parse

    def formatter(self, options: Options) -> Callable[[Qrel], str]:  # noqa: ARG002
        """Return a function that formats a judgement as a line."""
        qid, doc = (_guard(self.name, what) for what in ("qid", "document"))

        def line_of(qrel: Qrel) -> str:
            return f"{qid(qrel.qid)} 0 {doc(qrel.doc)} {_whole_number('grade', qrel.grade)}"

        return line_of


def _columns(line: str, wanted: int, summary: str) -> list[str] | None:
    words = line.split()
    if len(words) != wanted:
        if not words:
            return None
        raise Malformed(f"{count_noun(len(words), 'column')} in {shown(line)}; {wanted} are needed: {summary}")
    return words


def _guard(format_name: str, what: str) -> Guard:
    return Guard(format_name, what, rf"\0{WHITESPACE}", f"rename the {what}")


def _whole_number(what: str, value: int) -> str:
    # Integers of NumPy are allowed. 1.0 is not, because it would not be read back as the same value.
    text = str(value)
    try:
        parse_int(text, f"the {what}")
    except Malformed as error:
        raise ValueError(str(error)) from None
    return text


RUN = TrecRun()
QRELS = TrecQrels()

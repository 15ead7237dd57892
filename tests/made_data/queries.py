"""Documents of queries: LETOR's and LightGBM's files of features, and the runs and judgements of TREC."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.made_data.files import write_lines

RANKERS = 21


def ranks_of_rankers(part: int) -> Iterator[str]:
    """Yield the ranks that 21 rankers gave; a few rankers see the grades through noise, the others hardly."""
    rng = np.random.default_rng(part)
    clarity = np.where(np.arange(RANKERS) % 4 == 0, 0.8, 0.05)
    for query in range(70):
        qid = 1_000 * part + query
        grades = rng.choice(3, 24, p=[0.7, 0.2, 0.1])
        scores = clarity * grades[:, None] + rng.normal(size=(24, RANKERS))
        ranks = (-scores).argsort(axis=0).argsort(axis=0) + 1
        nothing = " ".join(f"{i}:NULL" for i in range(1, RANKERS + 1))
        yield f"0 qid:{qid} {nothing} #docid = GX000-00-0000000 inc = 1 prob = 0.02"
        for document, grade in enumerate(grades):
            seen = rng.random(RANKERS) < 0.85
            pairs = (f"{i + 1}:{ranks[document, i] if seen[i] else 'NULL'}" for i in range(RANKERS))
            yield f"{grade} qid:{qid} {' '.join(pairs)} #docid = GX{part}-{query}-{document} inc = 1 prob = 0.1"


def features(n_queries: int, n_features: int, most: int, comment: bool) -> Iterator[str]:
    """Yield documents with a grade up to `most` and values between 0 and 1."""
    rng = np.random.default_rng(n_features)
    for query in range(n_queries):
        for document in range(12):
            grade, values = int(rng.integers(most + 1)), rng.random(n_features)
            values[0] = (grade + rng.random()) / (most + 1)
            pairs = " ".join(f"{i}:{value:.4f}" for i, value in enumerate(values, 1))
            yield f"{grade} qid:{query} {pairs}" + (f" #docid = GX{document} inc = 1" if comment else "")


def without_queries(n_queries: int) -> list[str]:
    """Return sparse documents in svmlight's format."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(12 * n_queries):
        chosen = np.sort(rng.choice(300, 40, replace=False)) + 1
        lines.append(f"{rng.integers(5)} " + " ".join(f"{i}:{rng.random():.2f}" for i in chosen))
    return lines


def judgements(topics: range, grades: tuple[int, ...], space: str = " ") -> list[str]:
    rng = np.random.default_rng(1)
    return [
        space.join((str(topic), "0", f"DOC-{document:04}", str(rng.choice(grades))))
        for topic in topics
        for document in range(120)
    ]


def run(topics: range, n_documents: int, form: str = "{} Q0 {} {} {:.4f} made") -> list[str]:
    """Return the lines of a run; scores have one digit, so that many are equal."""
    rng, lines = np.random.default_rng(2), []
    for topic in topics:
        found = rng.choice(200, n_documents, replace=False)
        scores = np.round(rng.normal(size=n_documents), 1)
        lines += [form.format(topic, f"DOC-{d:04}", i, s) for i, (d, s) in enumerate(zip(found, scores, strict=True))]
    return lines


def trec(folder: Path) -> dict[str, int]:
    web, few = range(151, 201), range(301, 304)
    junk = "{}\tQ0\t{}\t{}\t  {:.6f}\tMADE more junk at end of lines."
    return (
        write_lines(folder, "trec-web-2012/ql-cata.run.xz", run(web, 60))
        | write_lines(folder, "trec-web-2012/qrels.web.151-200.txt.xz", judgements(web, (-2, 0, 0, 1, 2), "  "))
        | write_lines(folder, "trec_eval-test/qrels.test.xz", judgements(few, (0, 0, 1)))
        | write_lines(folder, "trec_eval-test/qrels.rel_level.xz", judgements(few, (0, 0, 1, 2, 3)))
        | write_lines(folder, "trec_eval-test/qrels.comment.test.xz", judgements(few, (0, 1, 2)))
        | write_lines(folder, "trec_eval-test/results.test.xz", run(few, 150, "{}\tQ0\t{}\t{}\t  {:.6f}\tMADE"))
        | write_lines(folder, "trec_eval-test/results.trunc.xz", run(few, 40, junk))
    )


def write(folder: Path) -> dict[str, int]:
    counts = trec(folder)
    for part in range(1, 6):
        counts |= write_lines(folder, f"letor-agg/A{part}.txt.xz", ranks_of_rankers(part))
    counts |= write_lines(folder, "letor-mq2008-part/Fold1-test.txt.xz", features(20, 46, 2, comment=True))
    counts |= write_lines(folder, "ltr-mslr-5k/msn1.fold1.test.5k.txt.xz", features(10, 136, 4, comment=False))
    return counts | write_lines(folder, "ltr-lightgbm/rank.test.xz", without_queries(20))

"""The model card of a tagger: a README with metadata, as the Hugging Face Hub shows it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from abound.tagger import Tagger

TAGS = ["abound", "multi-label-classification", "label-ranking"]
MOST_LABELS = 10  # shown with their counts
LONGEST_NAME = 80  # characters of a label

USE = """\
## Use

Install abound with `pip install 'abound[cli,hub,server]'`, or in a checkout with `pip install '.[cli,hub,server]'`. On
the command line, and as a server with a web page:

```bash
abound pull {repo} {name}
abound rank {name} "a text"
abound serve {name}
```

In Python:

```python
import abound
from abound import hub

hub.pull("{repo}", "{name}")
tagger = abound.load("{name}")
tagger.rank("a text", k=5)                      # labels with scores and probabilities
tagger.learn("a text", ["the right label"])     # a correction; the next ranking uses it
```

## Files

The model is a directory of arrays (`.npy`) and a JSON file. There is no pickle, and loading never runs code. Every file
is compared with its checksum when the model is loaded.

## Limits

- It ranks only labels that it has learned, and a text without a known word has no ranking.
- It compares words, not meanings. A paraphrase in other words can have another ranking.
- Probabilities are calibrated for texts like those that it learned.
- It contains words and short phrases of its training texts, and the names of its labels.
"""


@dataclass(frozen=True)
class CardDetails:
    """What a model card states that is not in the model.

    Attributes
    ----------
    license : str, optional
        An identifier of the hub, such as cc-by-4.0.
    language : str, optional
        By default, the language of the model.
    datasets : sequence of str
        Data sets of the hub on which the model was trained.
    saved : str, optional
        When the model was saved, such as 2030-01-31.
    """

    license: str | None = None
    language: str | None = None
    datasets: Sequence[str] = ()
    saved: str | None = None


def model_card(tagger: Tagger, repo: str, details: CardDetails | None = None) -> str:
    """Return the model card of a tagger in Markdown, with its metadata in YAML.

    Parameters
    ----------
    tagger : Tagger
    repo : str
        The repository, such as library/subjects.
    details : CardDetails, optional
    """
    details = CardDetails() if details is None else details
    name = repo.rpartition("/")[2]
    parts = [
        _metadata(tagger, details),
        f"# {name}\n\nThis model ranks labels for texts. It was trained with abound.\n",
    ]
    parts += [_data(tagger, details), _figures(tagger), USE.format(repo=repo, name=name)]
    return "\n".join(parts)


def _metadata(tagger: Tagger, details: CardDetails) -> str:
    """Return the metadata as YAML; every value is JSON, which is valid YAML."""
    known: dict[str, Any] = {
        "license": details.license,
        "language": details.language or tagger.language,
        "library_name": "abound",
        "pipeline_tag": "text-classification",
        "tags": TAGS,
        "datasets": list(details.datasets),
        "metrics": [] if tagger.held_out is None else list(tagger.held_out.measures),
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in known.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def _data(tagger: Tagger, details: CardDetails) -> str:
    facts = [
        ("texts learned", f"{tagger.n_rows:,}"),
        ("labels", f"{tagger.n_shown:,}"),
        ("words and phrases", f"{tagger.n_features:,}"),
        ("language", details.language or tagger.language or "not detected; whole words"),
        ("fields of a text", ", ".join(tagger.encoder.fields or ())),
        ("concepts in the hierarchy", "" if tagger.hierarchy is None else f"{len(tagger.hierarchy):,}"),
        ("saved", details.saved or ""),
    ]
    counts, names = tagger.label_counts, tagger.ranker.labels_.names
    order = sorted(range(len(counts)), key=lambda number: (-counts[number], number))[:MOST_LABELS]
    labels = [(tagger.name_of(names[number]), f"{counts[number]:,}") for number in order if counts[number]]
    frequent = _table("most frequent labels", "texts", labels)
    return "## Data\n\n" + _table("", "", [(fact, value) for fact, value in facts if value]) + "\n" + frequent


def _figures(tagger: Tagger) -> str:
    held_out = tagger.held_out
    if held_out is None:
        return "## Figures\n\nNo figures were measured when the model was fitted.\n"
    text = (
        f"`abound fit` measured these on {held_out.rows:,} held-out rows, after it had learned {held_out.learned:,} "
        "others. The held-out rows are development rows, not a test set: settings may have been chosen on them."
    )
    if tagger.n_rows > held_out.learned:
        text += f" The model has learned {tagger.n_rows - held_out.learned:,} texts since."
    rows = [(name, f"{value:.3f} ({low:.3f} to {high:.3f})") for name, (value, low, high) in held_out.measures.items()]
    return f"## Figures\n\n{text}\n\n" + _table("metric", "value (95% interval)", rows)


def _table(first: str, second: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|", *(f"| {_cell(one)} | {_cell(other)} |" for one, other in rows)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text as plain text in a table of Markdown."""
    short = " ".join(text.split())
    short = short if len(short) <= LONGEST_NAME else short[: LONGEST_NAME - 1] + "…"
    return re.sub(r"[\\`*_\[\]<>|&]", lambda mark: f"&#{ord(mark[0])};", short)

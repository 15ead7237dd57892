"""The settings of a tagger that tuning may try. All of them are options of `abound fit`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from abound.tagger import Tagger

Space: TypeAlias = list[dict[str, list[Any]]]

# Parameters with an option of `abound fit`. All others of a setting are passed with --ranker-param.
OPTIONS = ("ranker", "passes", "language", "ngrams", "char_ngrams", "stem", "min_count", "name_weight")
TAGGER_OWN = ("ranker", "language", "ngrams", "char_ngrams", "stem", "min_count", "name_weight")
# The rough time per row, relative to the defaults. It is used to plan first trials.
WORK = {"char_ngrams": 4.0}
USUAL_PASSES = 2.0


@dataclass(frozen=True)
class Setting:
    """Parameters of a tagger that differ from its defaults.

    Attributes
    ----------
    values : mapping
        Parameters of the tagger, its text encoder and its ranker, by name.

    Examples
    --------
    >>> Setting({"passes": 2, "ngrams": 3, "d_max": 50}).words()
    'passes 2, ngrams 3, d_max 50'
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    def tagger(self) -> Tagger:
        """Return an untrained tagger."""
        own = {name: value for name, value in self.values.items() if name in TAGGER_OWN}
        if own.get("language") == "none":  # as on the command line
            own["language"] = None
        ranker = {name: value for name, value in self.values.items() if name not in TAGGER_OWN}
        return Tagger(ranker_params=ranker, **own)

    def options(self) -> list[str]:
        """Return the setting as arguments of `abound fit`.

        Examples
        --------
        >>> Setting({"char_ngrams": (4, 5), "w_min": 0.001}).options()
        ['--char-ngrams', '4-5', '--ranker-param', 'w_min=0.001']
        """
        arguments = []
        for name, value in self.values.items():
            if name in OPTIONS:
                arguments += ["--" + name.replace("_", "-"), _shown(value)]
            else:
                arguments += ["--ranker-param", f"{name}={_shown(value)}"]
        return arguments

    def words(self) -> str:
        """Return the setting as readable text."""
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.values.items()) or "the defaults"

    def work(self) -> float:
        """Return the estimated time per row, relative to the defaults."""
        passes = self.values.get("passes") or (3 if self.values.get("ranker") == "mmp" else USUAL_PASSES)
        factor = float(passes) / USUAL_PASSES
        for name, more in WORK.items():
            factor *= more if self.values.get(name) else 1.0
        return factor

    def __hash__(self) -> int:
        return hash(tuple(sorted((name, str(value)) for name, value in self.values.items())))


def _shown(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


def space(*, few_labels: bool, stem: str | None, has_names: bool) -> Space:
    """Return the search space in the format of scikit-learn's parameter samplers.

    The probability of each dictionary is proportional to its number of combinations. None is the default value.

    Parameters
    ----------
    few_labels : bool
        Whether the cascade uses its linear model, so that there is no index to truncate.
    stem : str or None
        A stemmer to try besides that of the language that `fit` detects.
    has_names : bool
        Whether labels have names to learn.
    """
    texts: dict[str, list[Any]] = {"ngrams": [None, 3], "language": [None, "none"]}
    if stem:
        texts["stem"] = [None, stem]
    names: dict[str, list[Any]] = {"name_weight": [0.5, 1.0, None, 4.0]} if has_names else {}
    parts_of_words: dict[str, list[Any]] = {"char_ngrams": [(3, 4), (4, 5)], "ngrams": [1, None]}
    if few_labels:
        cascade: dict[str, list[Any]] = {"passes": [None, 2, 3, 4, 6]}
        return [
            {**texts, **names, **cascade, "ngrams": [1, None, 3], "min_count": [None, 2]},
            {**texts, **names, "ranker": ["mmp"], "passes": [2, 4]},
            {**names, **parts_of_words, "passes": [2, 3]},
        ]
    index: dict[str, list[Any]] = {"d_max": [10, 25, None, 100], "w_min": [0.0005, None, 0.005, 0.03]}
    passes: dict[str, list[Any]] = {"passes": [None, 2, 3, 4]}
    return [
        {**texts, **names, **index, **passes},
        {**texts, **names, **passes, "ngrams": [1], "d_max": [None, 100]},
        {**names, **passes, "min_count": [2], "d_max": [None, 100]},
        {**names, **parts_of_words, "passes": [None, 2], "d_max": [None, 100]},
        {**names, "ranker": ["feature-focus"], "ngrams": [None, 3], "d_max": [10, None, 100]},
    ]

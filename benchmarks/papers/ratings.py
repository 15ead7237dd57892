"""Read tables of ratings, in which one column is predicted from the others, one row at a time.

Jester is one of the data sets. MovieLens files are read from the path to which a user has downloaded them: `u.data`
(tab-separated), `ratings.dat` (separated by ::) or `ratings.csv`.
"""

import lzma
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.sets import data_folder

JESTER_CUTS = (-6.0, -2.0, 2.0, 6.0)  # five ranks of equal width on the scale from -10 to 10


@dataclass
class Ratings:
    """Known ratings of a table, and how they are converted to features and ranks.

    A feature is (rating - `centre`) / `width`, where the scale of ratings is so wide: it is between about -0.5 and
    0.5, as in the paper, and 0 means not rated. `shrink` makes the norm of a row 1 at most. `cuts` divide ratings into
    ranks starting at 1.
    """

    name: str
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    centre: float
    cuts: tuple[float, ...]
    width: float

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.rows.max()) + 1, int(self.columns.max()) + 1

    @property
    def ranks(self) -> list[int]:
        return list(range(1, len(self.cuts) + 2))

    def column_counts(self) -> np.ndarray:
        return np.bincount(self.columns, minlength=self.shape[1])

    def transposed(self) -> "Ratings":
        """Return the table with rows and columns exchanged."""
        return replace(self, rows=self.columns, columns=self.rows)

    def with_columns(self, kept: np.ndarray) -> "Ratings":
        """Return the table with some of the columns only."""
        here = np.isin(self.columns, kept)
        columns, rows = (np.unique(ids[here], return_inverse=True)[1] for ids in (self.columns, self.rows))
        return replace(self, rows=rows, columns=columns, values=self.values[here])

    def features(self, *, shrink: bool = True) -> "sp.csr_array":
        data = self.values - self.centre
        spread = np.abs(data).max() * np.sqrt(self.shape[1]) if shrink else self.width
        return sp.csr_array((data / spread, (self.rows, self.columns)), shape=self.shape)

    def stream(
        self, target: int, rng: np.random.Generator, features: "sp.csr_array | None" = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return features and ranks of the rows that have the target, in random order."""
        features = self.features() if features is None else features
        of_target = self.columns == target
        order = rng.permutation(np.flatnonzero(of_target))
        X = features[self.rows[order]].toarray()
        X[:, target] = 0.0
        return X, np.digitize(self.values[order], self.cuts) + 1


def jester() -> Ratings:
    """Return the ratings of jokes: one row per person, one column per joke."""
    with lzma.open(data_folder() / "jester5k" / "ratings.tsv.xz", "rt") as lines:
        table = np.loadtxt(lines, delimiter="\t")
    people, jokes = table[:, 0].astype(int), table[:, 1].astype(int)
    return Ratings("jester", people, jokes, table[:, 2], 0.0, JESTER_CUTS, 20.0)


def movielens(path: Path) -> Ratings:
    """Return a MovieLens file in the form of EachMovie in the paper: one row per film, one column per viewer.

    Ranks are whole stars; half stars are rounded up.
    """
    kind = {".data": "\t", ".dat": "::", ".csv": ","}
    if path.suffix not in kind:
        raise ValueError(f"{path} must be MovieLens' u.data, ratings.dat or ratings.csv")
    viewers, films, stars = [], [], []
    with open(path, encoding="latin-1") as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\n").split(kind[path.suffix])
            if number == 1 and path.suffix == ".csv":
                continue  # its names
            try:
                viewer, film, rating = int(fields[0]), int(fields[1]), float(fields[2])
            except (ValueError, IndexError):
                raise ValueError(f"{path}:{number}: a line must be viewer, film, rating, time; got {line!r}") from None
            viewers.append(viewer)
            films.append(film)
            stars.append(rating)
    columns, rows = (np.unique(ids, return_inverse=True)[1] for ids in (viewers, films))
    return Ratings(path.stem, rows, columns, np.array(stars), 3.0, (1.25, 2.25, 3.25, 4.25), 4.0)

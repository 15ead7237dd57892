"""One vector per label: the mean of its texts and its name, compared in a space in which all directions vary equally.

All sums are whole numbers. A product with the metric is a sum of whole numbers below 2 to the 53, too, which is exact
in doubles in any order. So the prototypes do not depend on the order of the texts or on the processor.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.growing import Growing
from abound.kernels.nearest import Best, dots
from abound.second_opinion.vectors import UNIT, Codes, Floats, directions, lengths, scaled_codes
from abound.store import Model

NAME_WEIGHT = 3.0  # of the name of a label, in texts
NO_NAME_WEIGHT = 1.0  # of the mean of all texts, for a label without a name
RIDGE = 1.0  # variance that is added in every direction, relative to the mean variance
METRIC_UNIT = 2048  # the largest number of the metric
FEWEST_TEXTS = 200  # to learn a metric from
MOST_TEXTS = 1 << 18  # of a label that are added, so that sums fit into 32 bits
CHUNK = 4096


class Metric(NamedTuple):
    """A linear map after which all directions vary about equally."""

    mean: Floats  # whole numbers
    rows: Floats  # whole numbers
    unit: float  # by which a mapped vector is multiplied

    @classmethod
    def none(cls, dimensions: int) -> "Metric":
        """Return the metric that changes nothing."""
        return cls(np.zeros(dimensions), np.eye(dimensions), 1.0 / UNIT)

    @classmethod
    def of(cls, n: int, total: Floats, products: Floats) -> "Metric":
        """Return the metric of some vectors by their sum and the sum of their outer products."""
        dimensions = len(total)
        if n < FEWEST_TEXTS:
            return cls.none(dimensions)
        mean = np.rint(total / n)
        centred = (products / n - np.outer(total, total) / n**2) / UNIT**2
        spread = float(np.trace(centred)) / dimensions
        values, axes = np.linalg.eigh(centred + RIDGE * spread * np.eye(dimensions))
        root = (axes / np.sqrt(np.maximum(values, spread * 1e-3))) @ axes.T
        largest = float(np.abs(root).max())
        return cls(mean, np.rint(root * (METRIC_UNIT / largest)), float(np.float32(largest)) / METRIC_UNIT / UNIT)

    def map(self, vectors: Floats) -> Floats:
        """Map vectors of whole numbers."""
        mapped: Floats = (vectors - self.mean) @ self.rows
        return mapped * self.unit


class Mapped:
    """Mapped vectors of labels as 8-bit numbers.

    Attributes
    ----------
    codes : Growing
    scales : Growing
        The factor of each vector, which gives its size back; 0 for a label without a vector.
    lengths : Growing
    """

    def __init__(self, codes: Codes, scales: Floats) -> None:
        self.codes, self.scales = Growing(codes), Growing(scales)
        self.lengths: Growing[np.float64] = Growing(np.zeros(0))
        for start in range(0, len(codes), CHUNK):
            part = slice(start, start + CHUNK)
            self.lengths.extend(lengths(codes[part]) * scales[part])

    @classmethod
    def none(cls, dimensions: int) -> "Mapped":
        """Return no vectors."""
        return cls(np.zeros((0, dimensions), np.int8), np.zeros(0))

    def set(self, labels: NDArray[np.int64], vectors: Floats) -> None:
        """Replace the vectors of some labels."""
        codes, scales = scaled_codes(vectors)
        self.codes.own()[labels], self.scales.own()[labels] = codes, scales
        self.lengths.own()[labels] = lengths(codes) * scales

    def resize(self, n: int) -> None:
        """Add labels without a vector."""
        for array in (self.codes, self.scales, self.lengths):
            array.resize(n)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.codes.nbytes + self.scales.nbytes + self.lengths.nbytes

    def products(self, query: "PrototypeQuery", labels: NDArray[np.int64]) -> Floats:
        """Return the dot products of the vectors of some labels with a text."""
        out = np.empty(len(labels))
        dots(self.codes.rows, labels, query.code, out)
        return out * (query.scale * self.scales.rows[labels])

    def cosines(self, query: "PrototypeQuery", labels: NDArray[np.int64], products: Floats) -> Floats:
        """Return the cosines of some labels with a text, by their products; 0 for a label without a vector."""
        long = self.lengths.rows[labels]
        return np.divide(products, query.length * long, out=np.zeros(len(labels)), where=long > 0)


class PrototypeQuery(NamedTuple):
    """A text as it is compared with prototypes."""

    code: NDArray[np.int16]
    scale: float
    length: float


class Prototypes:
    """The prototypes of labels.

    Parameters
    ----------
    dimensions : int
        The length of a vector.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._sums: Growing[np.int32] = Growing(np.zeros((0, dimensions), np.int32))
        self._counts: Growing[np.int64] = Growing(np.zeros(0, np.int64))
        self._names: Growing[np.int8] = Growing(np.zeros((0, dimensions), np.int8))
        self._n, self._total, self._products = 0, np.zeros(dimensions), np.zeros((dimensions, dimensions))
        self._metric = Metric.none(dimensions)
        self._name_shift = np.zeros(dimensions)
        self._mapped, self._mapped_names = Mapped.none(dimensions), Mapped.none(dimensions)

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        parts = (self._sums, self._counts, self._names, self._mapped, self._mapped_names)
        return sum(part.nbytes for part in parts) + self._products.nbytes + self._metric.rows.nbytes

    # -- learning ------------------------------------------------------------------------------------

    def count(self, codes: Codes) -> None:
        """Count texts for the metric, which `learn_metric` then learns."""
        for start in range(0, len(codes), CHUNK):
            vectors = directions(codes[start : start + CHUNK])
            self._n += int(np.count_nonzero(vectors.any(axis=1)))
            self._total += vectors.sum(axis=0)
            self._products += vectors.T @ vectors

    def learn_metric(self, n_labels: int) -> None:
        """Learn the metric from all texts that were counted, and compute all prototypes again."""
        self._metric = Metric.of(self._n, self._total, self._products)
        self.resize(n_labels)
        self._name_shift = self._metric.mean - self._mean_name()
        for start in range(0, n_labels, CHUNK):
            labels = np.arange(start, min(start + CHUNK, n_labels))
            self._map(labels)
            named = labels[self._names.rows[labels].any(axis=1)]
            self._mapped_names.set(named, self._metric.map(self._shifted_names(named)))

    def _mean_name(self) -> Floats:
        total, n = np.zeros(self.dimensions), 0
        for start in range(0, len(self), CHUNK):
            names = directions(self._names.rows[start : start + CHUNK])
            total += names.sum(axis=0)
            n += int(np.count_nonzero(names.any(axis=1)))
        mean: Floats = np.rint(total / max(1, n))
        return mean

    def _shifted_names(self, labels: NDArray[np.int64]) -> Floats:
        """Return the vectors of names as if they were texts: the mean of all names becomes that of all texts."""
        names = directions(self._names.rows[labels])
        is_known: NDArray[np.bool_] = np.any(names, axis=1)
        return np.where(is_known[:, None], names + self._name_shift, 0.0)

    def set_names(self, labels: NDArray[np.int64], codes: Codes) -> None:
        """Set the vectors of label names; they count from `learn_metric` on. A label may have several names."""
        self.resize(int(labels.max(initial=-1)) + 1)
        sums: Floats = np.zeros((len(self), self.dimensions))
        np.add.at(sums, labels, directions(codes))
        self._names.own()[:] = scaled_codes(sums)[0]

    def add(self, codes: Codes, labels: Sequence[NDArray[np.int32]], sign: int = 1) -> None:
        """Add texts to the prototypes of their labels, or remove them with the sign -1."""
        for start in range(0, len(codes), CHUNK):
            part = labels[start : start + CHUNK]
            numbers = np.concatenate([np.zeros(0, np.int32), *part]).astype(np.int64)
            self.resize(int(numbers.max(initial=-1)) + 1)
            rows = np.repeat(np.arange(len(part)), [len(one) for one in part])
            vectors = directions(codes[start : start + CHUNK]).astype(np.int32)
            is_known: NDArray[np.bool_] = np.any(vectors, axis=1)
            known = is_known[rows] & (self._counts.rows[numbers] < MOST_TEXTS)
            np.add.at(self._sums.own(), numbers[known], sign * vectors[rows[known]])
            np.add.at(self._counts.own(), numbers[known], sign)

    def update(self, labels: NDArray[np.int64]) -> None:
        """Compute the prototypes of some labels again, after texts were added."""
        if len(labels):
            self._map(np.unique(labels))

    def _map(self, labels: NDArray[np.int64]) -> None:
        names = self._shifted_names(labels)
        weight = np.where(names.any(axis=1), NAME_WEIGHT, 0.0)
        n = self._counts.rows[labels].astype(np.float64)
        shrunk = NO_NAME_WEIGHT * (weight == 0)
        sums = self._sums.rows[labels] + weight[:, None] * names + shrunk[:, None] * self._metric.mean
        total = n + weight + shrunk
        mapped = self._metric.map(np.rint(sums / total[:, None]))
        mapped[(n == 0) & (weight == 0)] = 0.0
        self._mapped.set(labels, mapped)

    def resize(self, n_labels: int) -> None:
        """Add labels that have no text yet."""
        if n_labels > len(self):
            for array in (self._sums, self._counts, self._names, self._mapped, self._mapped_names):
                array.resize(n_labels)

    # -- searching -----------------------------------------------------------------------------------

    def query(self, code: Codes) -> PrototypeQuery:
        """Map the vector of a text."""
        codes, scales = scaled_codes(self._metric.map(directions(code[None])))
        (length,), (scale,) = (lengths(codes) * scales).tolist(), scales.tolist()
        return PrototypeQuery(codes[0].astype(np.int16), scale, length)

    def best(self, query: PrototypeQuery, k: int) -> NDArray[np.int64]:
        """Return the labels with the best scores."""
        if not query.length or not len(self):
            return np.zeros(0, np.int64)
        best, long = Best(k), self._mapped.lengths.rows
        best.offer(self._mapped.codes.rows, self._mapped.scales.rows, -0.5 * long * long, query.code, query.scale, 0)
        return best.taken()[0]

    def scores(self, query: PrototypeQuery, labels: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Return the scores of labels, their cosines, and the cosines of their names; 0 for a label without any."""
        found = np.zeros((3, len(labels)))
        known = np.flatnonzero(labels < len(self))
        if query.length and len(known):
            among, long = labels[known], self._mapped.lengths.rows[labels[known]]
            products = self._mapped.products(query, among)
            found[0, known] = products - 0.5 * long * long
            found[1, known] = self._mapped.cosines(query, among, products)
            names = self._mapped_names.products(query, among)
            found[2, known] = self._mapped_names.cosines(query, among, names)
        return found[0], found[1], found[2]

    # -- merging and saving --------------------------------------------------------------------------

    def take_over(self, other: Self, numbers: NDArray[np.int32]) -> None:
        """Add what another object has learned; its labels have new numbers here. Call `learn_metric` afterwards."""
        self.resize(int(numbers.max(initial=-1)) + 1)
        known = numbers[: len(other)]
        np.add.at(self._sums.own(), known, other._sums.rows[: len(known)])
        np.add.at(self._counts.own(), known, other._counts.rows[: len(known)])
        unnamed = ~self._names.rows[known].any(axis=1)
        self._names.own()[known[unnamed]] = other._names.rows[: len(known)][unnamed]
        self._n, self._total, self._products = (
            self._n + other._n,
            self._total + other._total,
            self._products + other._products,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, and the mapped vectors, which follow from it."""
        return {
            "sums": self._sums.rows,
            "counts": self._counts.rows,
            "names": self._names.rows,
            "moments": np.concatenate([[self._n], self._total]),
            "products": self._products,
            "mean": self._metric.mean,
            "name_shift": self._name_shift,
            "metric": self._metric.rows.astype(np.int16),
            "unit": np.array([self._metric.unit]),
            "mapped": self._mapped.codes.rows,
            "mapped_scales": self._mapped.scales.rows,
            "mapped_names": self._mapped_names.codes.rows,
            "mapped_name_scales": self._mapped_names.scales.rows,
        }

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], dimensions: int, n_labels: int) -> Self:
        """Build from what `state` returned; ValueError if it cannot be used."""
        model, made = Model({}, dict(arrays)), cls(dimensions)
        made._sums = Growing(model.take("sums", np.int32, None, dimensions))
        n = len(made._sums)
        if n > n_labels:
            raise ValueError("there are more prototypes than labels")
        made._counts = Growing(model.take("counts", np.int64, n))
        made._names = Growing(model.take("names", np.int8, n, dimensions))
        moments = model.take("moments", np.float64, 1 + dimensions)
        made._n, made._total = int(moments[0]), np.array(moments[1:])
        made._products = np.array(model.take("products", np.float64, dimensions, dimensions))
        metric = model.take("metric", np.int16, dimensions, dimensions).astype(np.float64)
        mean, (unit,) = model.take("mean", np.float64, dimensions), model.take("unit", np.float64, 1).tolist()
        if np.abs(mean).max(initial=0.0) > UNIT or not unit > 0:
            raise ValueError("the metric of the prototypes is out of range")
        made._metric = Metric(np.array(mean), metric, unit)
        made._name_shift = np.array(model.take("name_shift", np.float64, dimensions))
        made._mapped, made._mapped_names = (
            Mapped(model.take(name, np.int8, n, dimensions), model.take(scales, np.float64, n))
            for name, scales in (("mapped", "mapped_scales"), ("mapped_names", "mapped_name_scales"))
        )
        return made

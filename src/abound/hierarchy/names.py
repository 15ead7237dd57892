"""Several lists of names, which are decoded on first use: a vocabulary may have many more than a ranking shows."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from numpy.typing import NDArray

from abound.store.names import check_texts, decode_names, encode_names


class NameLists:
    """Lists of names by kind.

    Parameters
    ----------
    lists : mapping from kind to names
    """

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        self._decoded = {kind: list(names) for kind, names in lists.items()}
        self._saved: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}

    def __getitem__(self, kind: str) -> list[str]:
        if kind not in self._decoded:
            # `check_texts` has ensured that all are strings.
            self._decoded[kind] = cast("list[str]", list(decode_names(*self._saved[kind], unique=False)))
        return self._decoded[kind]

    def size(self, kind: str) -> int:
        """Return the number of names of a kind."""
        return len(self._decoded[kind]) if kind in self._decoded else len(self._saved[kind][1]) - 1

    def arrays(self, kinds: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the names as arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        for kind in kinds:
            changed = kind in self._decoded
            arrays[f"{kind}_names"], arrays[f"{kind}_offsets"] = (
                encode_names(self._decoded[kind]) if changed else self._saved[kind]
            )
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]], kinds: Sequence[str]) -> Self:
        """Use the names of `arrays`; raise DamagedModel if they cannot be decoded."""
        for kind in kinds:
            saved = (arrays[f"{kind}_names"], arrays[f"{kind}_offsets"])
            check_texts(*saved)  # decoding must not fail later
            self._saved[kind] = saved
        return self

"""The base class of everything that is saved in a model directory."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from abound.errors import UnknownFormat
from abound.store.directory import Source, read_model, state_hash, write_model
from abound.store.model import Model


class Stored(ABC):
    """A learned state with a kind, a manifest and named arrays."""

    kind: ClassVar[str]  # its name in model directories and on the command line

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the manifest's content besides the kind and the files."""

    @abstractmethod
    def arrays(self) -> Mapping[str, Source]:
        """Return the learned state as arrays by name."""

    def state_hash(self) -> str:
        """Return a hash of the learned state; equal states have equal hashes."""
        return state_hash(self.kind, self.arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model directory, or replace its model; see `abound.load`."""
        arrays = self.arrays()
        write_model(path, {"kind": self.kind, **self.content()}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True, **params: Any) -> Self:
        """Load a model directory; keyword arguments replace its parameters."""
        return cls.of_model(path, read_model(path, verify=verify), **params)

    @classmethod
    def of_model(cls, path: str | os.PathLike[str], model: Model, **params: Any) -> Self:
        """Build the object of a model directory that was read; UnknownFormat if it is of another kind."""
        kind = model.content.get("kind")
        if kind != cls.kind:
            raise UnknownFormat(f"{path} contains a {kind!r}, not a {cls.kind}; use abound.load")
        return cls.from_model(model, **params)

    @classmethod
    @abstractmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build the object from the content of a model directory, with some parameters replaced."""

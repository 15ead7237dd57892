"""What can be kept in a model directory: written, hashed and read in one way."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from abound.errors import UnknownFormat
from abound.store.directory import Source, read_model, state_hash, write_model
from abound.store.model import Model


class Stored(ABC):
    """Something that was learnt, with a kind, a manifest and named arrays."""

    kind: ClassVar[str]  # its name in model directories and on the command line

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return what the manifest says beside the kind and the files."""

    @abstractmethod
    def arrays(self) -> Mapping[str, Source]:
        """Return everything that was learnt, by name."""

    def state_hash(self) -> str:
        """Return a hash of what was learnt; equal states have equal hashes, however they came about."""
        return state_hash(self.kind, self.arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model directory, or replace the model in one; see `abound.load`."""
        arrays = self.arrays()
        write_model(path, {"kind": self.kind, **self.content()}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True, **params: Any) -> Self:
        """Read what `save` wrote; some parameters may be replaced."""
        model = read_model(path, verify=verify)
        found = model.content.get("kind")
        if found != cls.kind:
            raise UnknownFormat(f"{path} holds a {found!r}, not a {cls.kind}; use abound.load")
        return cls.from_model(model, **params)

    @classmethod
    @abstractmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build it from a model directory that was read, with some parameters replaced."""

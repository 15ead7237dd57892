"""Objects that are closed at the end of a with block."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """An object with `close`; as a context manager, it closes itself."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

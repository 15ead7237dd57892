"""What is closed at the end of a with block."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something to be closed: as a context manager, it closes itself."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

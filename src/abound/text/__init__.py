"""Turn texts into sparse rows."""

from abound.text.encoder import TextEncoder
from abound.text.words import prepare

__all__ = ["TextEncoder", "prepare"]

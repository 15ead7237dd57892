"""Strings in, sparse rows out."""

from abound.text.encoder import TextEncoder
from abound.text.words import prepare

__all__ = ["TextEncoder", "prepare"]

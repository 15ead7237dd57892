"""A client of `abound serve`, in the standard library: it keeps its connection, and retries never learn twice."""

from abound.client.answers import Changes, Explained, LabelMatch, Learned, Name, Ranked, Similar, Taught, Word
from abound.client.client import Client

__all__ = ["Changes", "Client", "Explained", "LabelMatch", "Learned", "Name", "Ranked", "Similar", "Taught", "Word"]

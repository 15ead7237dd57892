"""Split texts into the tokens of a table or of a transformer, as the file `tokenizer.json` of its vocabulary says.

Two kinds are common: byte-pair encoding in the form of SentencePiece, and WordPiece. The tokens of a word do not depend
on its neighbours, so that they are remembered.
"""

import json
import re
import unicodedata
from abc import ABC, abstractmethod
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from abound.errors import ModelError

LONGEST_WORD = 100  # characters; longer words are split
REMEMBERED_WORDS = 100_000
SPACE = "▁"  # how SentencePiece writes a space


class Subwords(ABC):
    """Split texts into tokens.

    Parameters
    ----------
    vocabulary : dict
        The numbers of tokens.
    """

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._known: dict[str, list[int]] = {}

    def number(self, token: str) -> int | None:
        """Return the number of a token; None if it is not known."""
        return self._vocabulary.get(token)

    def tokens_of(self, text: str) -> list[int]:
        """Return the numbers of a text's tokens, in order."""
        found: list[int] = []
        for word in self._words(text):
            tokens = self._known.get(word)
            if tokens is None:
                tokens = self._split(word)
                if len(self._known) >= REMEMBERED_WORDS:
                    self._known.clear()
                self._known[word] = tokens
            found += tokens
        return found

    @abstractmethod
    def _words(self, text: str) -> list[str]:
        """Return the words of a text, which are split independently."""

    @abstractmethod
    def _split(self, word: str) -> list[int]:
        """Return the tokens of a word."""


class PairMerges(Subwords):
    """Byte-pair encoding: the pair that was learned first is joined first; unknown characters become bytes."""

    def __init__(self, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> None:
        super().__init__(vocabulary)
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}

    def _words(self, text: str) -> list[str]:
        marked = SPACE + text.replace(" ", SPACE) if text else ""
        pieces = re.findall(f"{SPACE}+[^{SPACE}]*", marked)
        return [piece[at : at + LONGEST_WORD] for piece in pieces for at in range(0, len(piece), LONGEST_WORD)]

    def _split(self, word: str) -> list[int]:
        parts, none, rank = list(word), len(self._ranks), self._ranks.get
        ranks = [rank(pair, none) for pair in pairwise(parts)]
        while ranks and (best := min(ranks)) < none:
            at = ranks.index(best)
            joined = parts[at] = parts[at] + parts[at + 1]
            del parts[at + 1], ranks[at]  # only the ranks of the joined part's pairs change
            if at:
                ranks[at - 1] = rank((parts[at - 1], joined), none)
            if at < len(ranks):
                ranks[at] = rank((joined, parts[at + 1]), none)
        tokens: list[int] = []
        for part in parts:
            if part in self._vocabulary:
                tokens.append(self._vocabulary[part])
            else:
                names = (f"<0x{byte:02X}>" for byte in part.encode("utf-8", "surrogatepass"))
                tokens += [self._vocabulary[name] for name in names if name in self._vocabulary]
        return tokens


class LongestPieces(Subwords):
    """WordPiece: the longest known beginning of a word, then of the rest, whose pieces have a prefix."""

    def __init__(self, vocabulary: dict[str, int], *, prefix: str, unknown: str, lower: bool, strips: bool) -> None:
        super().__init__(vocabulary)
        self._prefix, self._unknown = prefix, unknown
        self._lower, self._strips = lower, strips

    def _words(self, text: str) -> list[str]:
        if self._strips:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        if self._lower:
            text = "".join(map(str.lower, text))  # each by itself: a Greek word's last letter has no other form
        return "".join(map(_spaced, text)).split()

    def _split(self, word: str) -> list[int]:
        tokens: list[int] = []
        start = 0
        while start < len(word) and len(word) <= LONGEST_WORD:
            for stop in range(len(word), start, -1):
                piece = (self._prefix if start else "") + word[start:stop]
                if piece in self._vocabulary:
                    tokens.append(self._vocabulary[piece])
                    start = stop
                    break
            else:
                break
        if start == len(word):
            return tokens
        return [self._vocabulary[self._unknown]] if self._unknown in self._vocabulary else []


def _stands_alone(character: str) -> bool:
    """Return whether a character is a word of its own: punctuation, and the characters of Chinese and Japanese."""
    code = ord(character)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    is_ideograph = 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0x20000 <= code <= 0x2CEAF
    return is_ideograph or 0xF900 <= code <= 0xFAFF or unicodedata.category(character).startswith("P")


@lru_cache(maxsize=4096)
def _spaced(character: str) -> str:
    """Return what a character becomes before words are split at spaces; soft hyphens and control characters vanish."""
    if _stands_alone(character):
        return f" {character} "
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    return "" if character == "\ufffd" or category in ("Cc", "Cf", "Co", "Cs") else character


def read_subwords(path: Path) -> Subwords:
    """Read the vocabulary of a file `tokenizer.json`; ModelError if it is of another kind, or damaged."""
    try:
        described: dict[str, Any] = json.loads(path.read_bytes())
        model = described["model"]
        vocabulary = {str(token): int(number) for token, number in model["vocab"].items()}
        kind = model.get("type") or ("BPE" if "merges" in model else "WordPiece")
        if kind == "BPE":
            merges = [tuple(one.split(" ", 1)) if isinstance(one, str) else tuple(one) for one in model["merges"]]
            if not any(SPACE in token for token in vocabulary):
                raise ModelError(f"{path} splits bytes, and not characters; use a vocabulary of SentencePiece's form")
            return PairMerges(vocabulary, [(str(left), str(right)) for left, right in merges])
        if kind == "WordPiece":
            normalizer = described.get("normalizer") or {}
            lower = bool(normalizer.get("lowercase", True))
            strips = normalizer.get("strip_accents")
            return LongestPieces(
                vocabulary,
                prefix=str(model.get("continuing_subword_prefix", "##")),
                unknown=str(model.get("unk_token", "[UNK]")),
                lower=lower,
                strips=lower if strips is None else bool(strips),
            )
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{path} is not a vocabulary of subwords: {error!r}") from None
    raise ModelError(f"{path} has a vocabulary of the kind {kind}; BPE and WordPiece can be used")

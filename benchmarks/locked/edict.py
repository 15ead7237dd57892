"""EDICT, a Japanese-English dictionary: the kanji of a word by its English meanings."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = {"edict": "2021.02.03-1"}
ABOUT = (
    "Each entry of EDICT that is written with kanji. The text is its English meanings without codes of word classes "
    "and without Japanese characters; the labels are the kanji of the word. Spellings with the same meanings are one "
    "row."
)

ENTRY = re.compile(r"([^\s/]+) (?:\[[^\]]*\] )?/(.+)/$")
KANJI = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
CODES = re.compile(r"^\s*(?:\((?:[a-z0-9-]+(?:,[a-z0-9-]+)*|P|iK|oK)\)|\{[^}]*\})\s*")  # (n,vs), (1), (iK)
JAPANESE = "\u3000-\u30ff\u3400-\u9fff\uff00-\uffef"
REFERENCE = re.compile(rf"\([^()]*[{JAPANESE}][^()]*\)")  # (See ...), which shows kanji
ANY_JAPANESE = re.compile(rf"[{JAPANESE}]+")


def meaning(text: str) -> str:
    """Return a meaning without its codes and without Japanese characters."""
    text = ANY_JAPANESE.sub(" ", REFERENCE.sub(" ", text))
    while (code := CODES.match(text)) and code.end():
        text = text[code.end() :]
    return " ".join(text.split())


def entries(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (meanings, kanji) of each entry of the dictionary."""
    for line in lines:
        entry = ENTRY.match(line.rstrip("\n"))
        if entry is None:
            continue
        kanji = list(dict.fromkeys(KANJI.findall(entry[1])))
        text = "; ".join(filter(None, map(meaning, entry[2].split("/"))))
        if kanji and text:
            yield text, kanji


def rows(unpacked: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of the unpacked package."""
    with open(unpacked / "edict" / "usr/share/edict/edict", encoding="euc_jp", errors="replace") as lines:
        yield from entries(lines)

"""Texts with topics, tags, classes and hypernyms: one JSON object per line."""

from pathlib import Path

from tests.made_data.files import write_lines, write_objects
from tests.made_data.words import Topics

TEN_TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
FACETS = ("role", "use", "interface", "field", "game", "works-with", "devel", "network", "sound", "suite", "x11", "web")
SYNSETS = 5_000


def reuters(folder: Path) -> dict[str, int]:
    """Write stories, of which a fifth has no topics and a tenth is in neither split."""
    topics = Topics([*TEN_TOPICS, *(f"topic-{i}" for i in range(80))], seed=1, most=3)
    stories = []
    for number in range(1, 4_001):
        labels = topics.labels() if number % 5 else []
        split = "unused" if number % 10 == 0 else "test" if number % 10 in (3, 6, 9) else "train"
        story = {"id": number, "split": split, "topics": topics.kept(labels) if labels else []}
        title = topics.words(labels, 1, 3).upper() if number % 31 else None
        stories.append({**story, "places": ["usa"], "title": title, "body": topics.words(labels, 4, 25)})
    found = write_objects(folder, "reuters21578/reuters21578.jsonl.xz", stories)
    return found | write_lines(folder, "reuters21578/topics90.txt", topics.names)


def debian(folder: Path) -> dict[str, int]:
    """Write packages: a tag stands below its facet, and every third package has no tags."""
    tags = [f"{facet}::{kind}" for kind in ("program", "data", "client", "server", *"abcdefgh") for facet in FACETS]
    topics = Topics(tags, seed=2, most=5, missing=0.8, stride=3)
    packages = []
    for number in range(10_000):
        labels = topics.labels()
        package = {"package": f"lib{topics.rng.choice(topics.common)}{number}", "source": "x", "section": "misc"}
        packages.append(
            package
            | {"maintainer": "Nobody", "tags": topics.kept(labels) if number % 3 else [], "depends": labels[:2]}
            | {"summary": topics.words(labels, 1, 3), "description": topics.words(labels, 2, 15)}
        )
    return write_objects(folder, "debian-tags/debian-bookworm.jsonl.xz", packages)


def ohsumed(folder: Path) -> dict[str, int]:
    """Write abstracts of one class each, with the title in the first line."""
    topics = Topics([f"C{i:02}" for i in range(1, 24)], seed=3)
    abstracts = []
    for number in range(1_000):
        labels = topics.labels()
        text = f"{topics.words(labels, 2, 4)}.\n {topics.words(labels, 5, 30)}.\n {topics.words(labels, 5, 30)}.\n"
        split = "test" if number % 2 else "train"
        abstracts.append({"split": split, "cls": topics.kept(labels)[0], "id": f"{number:07}", "text": text})
    return write_objects(folder, "ohsumed23/ohsumed_single_23.jsonl.xz", abstracts)


def wordnet(folder: Path) -> dict[str, int]:
    """Write a tree of senses, whose glosses have words of the sense above."""
    names = [f"n{number:08}" for number in range(SYNSETS)]
    topics = Topics(names[: SYNSETS // 10], seed=5)
    synsets = []
    for number, name in enumerate(names):
        above = names[topics.rng.randrange(min(number, SYNSETS // 10))] if number else None
        hyper = [above] if above is not None else []
        words = [f"{topics.rng.choice(topics.common)}_{number}"]
        synsets.append({"id": name, "lexname": 3, "words": words, "hyper": hyper, "gloss": topics.words(hyper, 3, 6)})
    return write_objects(folder, "wordnet-hypernym/wordnet31.jsonl.xz", synsets)


def write(folder: Path) -> dict[str, int]:
    return reuters(folder) | debian(folder) | ohsumed(folder) | wordnet(folder)

"""Library titles in English and Finnish with numbered subjects, and books with subject headings."""

import itertools
import json
import random
from pathlib import Path

from tests.made_data.files import write_lines, write_objects
from tests.made_data.words import Topics

EXAMPLES = Path(__file__).parents[2] / "examples" / "finna"
ROWS = {"en": 24_000, "fi": 12_000}
KNOWN = {"en": {"3": "light reading"}, "fi": {"3": "viihdekirjallisuus"}}
KINDS = {
    "en": "old new wooden urban northern southern medieval modern wild small royal digital local public foreign "
    "painted winter summer night mountain river island desert stone iron glass paper silver children's women's "
    "soldiers' migrant village forest city coastal folk church school hospital prison factory",
    "fi": "vanhat uudet puiset pohjoiset keskiaikaiset modernit villit pienet digitaaliset paikalliset julkiset "
    "ulkomaiset maalatut kiviset lasiset hopeiset",
}
THINGS = {
    "en": "gardens boats fires berries mushrooms lighthouses windmills bridges towns parks food cookbooks novels poems "
    "paintings sculptures maps diaries letters songs dances festivals costumes carpets horses dogs wolves bears bees "
    "butterflies apples potatoes grain mills markets banks taxes courts laws schools universities hospitals nurses "
    "doctors soldiers wars ships harbours roads trains cars bicycles stadiums games toys clocks mirrors furniture "
    "houses castles churches monasteries cemeteries rivers lakes islands mountains deserts storms floods winters",
    "fi": "puutarhat veneet kirkot talot kylät joet järvet saaret metsät marjat sienet laulut tanssit kartat kirjeet "
    "hevoset mehiläiset omenat myllyt laivat",
}
PLACES = {
    "en": "Finland Sweden Norway Estonia Iceland Greenland Ireland Scotland Spain Portugal Italy Greece Turkey Egypt "
    "Kenya India China Japan Mexico Canada Brazil Chile Karelia Lapland Bavaria Tuscany Siberia Patagonia",
    "fi": "Suomessa Ruotsissa Virossa Karjalassa Lapissa Hämeessä",
}
SIDES = {
    "en": "history design law economics trade research teaching planning restoration ecology ethics statistics travel "
    "health religion psychology politics language memory war peace cities climate",
    "fi": "historia suunnittelu kauppa tutkimus opetus suojelu",
}
FORMS = {
    "en": (
        "{kind} {thing} in {place}",
        "The {side} of {kind} {thing}",
        "{kind} {thing} : {side} and {thing2}",
        "On {thing} and {thing2} in {place}",
        "{thing} of {place} : a study in {side}",
        "{side}, {kind} {thing} and the {thing2} of {place}",
    ),
    "fi": ("{kind} {thing} {place}", "{kind} {thing} : {side}", "{thing} ja {thing2} {place}", "{side} : {thing}"),
}


def subjects(language: str) -> dict[str, str]:
    """Return the number of each subject by its name: things, kinds of things, places, and sides of a matter."""
    found = {name: number for number, name in KNOWN[language].items()}
    if language == "en":
        lines = (EXAMPLES / "labels.tsv").read_text(encoding="utf-8").splitlines()
        found.update((name, number) for number, _, name in (line.partition("\t") for line in lines))
    kinds, *others = (words[language].split() for words in (KINDS, THINGS, PLACES, SIDES))
    names = [*itertools.chain(*others), *(f"{kind} {thing}" for thing in others[0] for kind in kinds)]
    for number, name in enumerate(names, 30_000):
        found.setdefault(name, str(number))
    return found


def made_rows(language: str, n_rows: int) -> list[tuple[list[str], str]]:
    """Return titles with the names of their subjects: the first that is named, and three in ten of the others."""
    rng = random.Random(f"titles {language}")
    words = [words[language].split() for words in (KINDS, THINGS, PLACES, SIDES, THINGS)]
    words[3] += KNOWN[language].values()
    shares = [list(itertools.accumulate(1 / (i + 20) for i in range(len(part)))) for part in words]
    drawn = (rng.choices(part, cum_weights=share, k=n_rows) for part, share in zip(words, shares, strict=True))
    rows = []
    for kind, thing, place, side, thing2 in zip(*drawn, strict=True):
        form = rng.choice(FORMS[language])
        values = {"kind": kind, "thing": thing, "place": place, "side": side, "thing2": thing2}
        first = f"{kind} {thing}" if "{kind}" in form else thing
        others = [values[name] for name in ("place", "side", "thing2") if f"{{{name}}}" in form]
        names = [first, *(name for name in others if name != first and rng.random() < 0.3)]
        text = form.format(**values)
        rows.append((names, text[0].upper() + text[1:]))
    return rows


def example_rows() -> list[tuple[list[str], str]]:
    """Return the real titles of the examples with the names of their subjects."""
    lines = (EXAMPLES / "titles.jsonl").read_text(encoding="utf-8").splitlines()
    return [(row["labels"], row["text"]) for row in map(json.loads, lines)]


def finna(folder: Path, language: str) -> dict[str, int]:
    numbers = subjects(language)
    rows = example_rows() if language == "en" else []
    rows += made_rows(language, ROWS[language] - len(rows))
    random.Random(0).shuffle(rows)
    lines = (f"{' '.join(sorted((numbers[name] for name in names), key=int))}\t{text}" for names, text in rows)
    names = (f"{number}\t{name}" for name, number in sorted(numbers.items(), key=lambda item: int(item[1])))
    place = f"yso-finna-{language}"
    return write_lines(folder, f"{place}/docs.tsv.xz", lines) | write_lines(folder, f"{place}/labels.tsv", names)


def gutenberg(folder: Path) -> dict[str, int]:
    """Write books with headings of one to three parts."""
    parts = (THINGS["en"].split(), PLACES["en"].split()[:6], ("History", "Fiction", "Poetry"))
    headings = [" -- ".join(found) for found in itertools.product(*parts)][::4] + parts[0]
    topics = Topics(headings, seed=4, most=3)
    books = []
    for number in range(4_000):
        labels = topics.labels() if number % 50 else []
        title, author = topics.words(labels, 2, 3), topics.words([], 0, 2)
        book = {"id": number, "title": title if number % 97 else None, "authors": [author], "language": "en"}
        books.append({**book, "bookshelves": [], "lcsh": topics.kept(labels) if labels else [], "lcc": ["PR"]})
    return write_objects(folder, "gutenberg-lcsh/gutenberg.jsonl.xz", books)


def write(folder: Path) -> dict[str, int]:
    return finna(folder, "en") | finna(folder, "fi") | gutenberg(folder)

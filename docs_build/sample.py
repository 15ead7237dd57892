"""Make examples/finna, the small real collection that the guides use, from the data set yso-finna-en.

python -m docs_build.sample
"""

import gzip
import json
import lzma
from pathlib import Path

from abound.data import read_label_names
from benchmarks import sets

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "finna"
N_ROWS, N_RECORDS = 2_500, 1_500
# Well-known subjects with about a hundred titles each.
SUBJECTS = """algebra architecture astronomy birds chess coffee comics cryptography cycling democracy diabetes dinosaurs
earthquakes elections fashion feminism fishing football forests gardening geology glaciers gold grammar insects jazz
journalism knitting libraries literacy marketing meteorology museums mythology nutrition opera optics peace photography
pollution pottery poverty railways recycling refugees robots roses sailing saints ships sleep taxation tea teachers
theatre tourism unemployment vaccines vampires volcanoes whales witchcraft yoga"""
MORE = (
    "climate changes",
    "computer games",
    "fairy tales",
    "forest fires",
    "human rights",
    "machine learning",
    "solar energy",
)
URI = "http://www.yso.fi/onto/yso/p"
PREFIXES = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix yso: <http://www.yso.fi/onto/yso/> .\n\n"


def main() -> None:
    """Keep the first rows that have one of the subjects, and only these subjects."""
    rows = list(sets.finna_rows())
    english, finnish = (
        read_label_names(sets.data_folder() / f"yso-finna-{language}" / "labels.tsv") for language in ("en", "fi")
    )
    wanted = {label for label, names in english.items() if names[0] in (*SUBJECTS.split(), *MORE)}
    kept = [(text, [label for label in labels if label in wanted]) for text, labels in rows if set(labels) & wanted]
    kept = [(text, labels) for text, labels in kept if 20 <= len(text) <= 120][:N_ROWS]
    FOLDER.mkdir(parents=True, exist_ok=True)
    ordered = sorted(wanted, key=int)
    (FOLDER / "labels.tsv").write_text("".join(f"{label}\t{english[label][0]}\n" for label in ordered))
    with lzma.open(FOLDER / "docs.tsv.xz", "wt") as file:
        file.writelines(f"{' '.join(labels)}\t{text}\n" for text, labels in kept)
    with (FOLDER / "titles.jsonl").open("w") as file:
        for text, labels in kept:
            line = {"text": text, "labels": [english[label][0] for label in labels]}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    with gzip.GzipFile(FOLDER / "records.tsv.gz", "wb", mtime=0) as packed:  # a time would differ in every run
        for text, labels in kept[:N_RECORDS]:
            packed.write(f"{text}\t{' '.join(f'<{URI}{label}>' for label in labels)}\n".encode())
    (FOLDER / "subjects.ttl").write_text(PREFIXES + "\n".join(_concept(n, english, finnish) for n in ordered))
    print(f"{len(kept):,} titles, {len(ordered)} subjects")


def _concept(label: str, english: dict[str, list[str]], finnish: dict[str, list[str]]) -> str:
    names = [f'"{english[label][0]}"@en', *(f'"{name}"@fi' for name in finnish.get(label, [])[:1])]
    return f"yso:p{label} a skos:Concept ;\n    skos:prefLabel {', '.join(names)} .\n"


if __name__ == "__main__":
    main()

"""Extract the text of PDFs with pypdfium2 and, if it is installed, with pypdf, and store pages, words and seconds.

python -m benchmarks.extraction FILE.pdf ...
"""

import argparse
import importlib.util
import io
import json
import re
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "extraction.json"


def with_pdfium(body: bytes) -> tuple[int, str]:
    import pypdfium2

    from abound.data.documents.pdf_text import pdf_text

    return len(pypdfium2.PdfDocument(body)), pdf_text(body, 1 << 30)


def with_pypdf(body: bytes) -> tuple[int, str]:
    import pypdf

    pages = pypdf.PdfReader(io.BytesIO(body)).pages
    return len(pages), "\n".join(page.extract_text() for page in pages)


READERS = {"pypdfium2": with_pdfium, "pypdf": with_pypdf}


def measure(path: Path, package: str) -> dict[str, object]:
    importlib.import_module(package)  # not measured
    body = path.read_bytes()
    started = time.perf_counter()
    pages, text = READERS[package](body)
    seconds = time.perf_counter() - started
    words = len(re.findall(r"\w+", text))
    return {"file": path.name, "package": package, "pages": pages, "words": words, "seconds": round(seconds, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    files = parser.parse_args().files
    packages = [package for package in READERS if importlib.util.find_spec(package) is not None]
    rows = [measure(path, package) for path in files for package in packages]
    for row in rows:
        print(row)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

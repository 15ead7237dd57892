"""Generate the initial corpus: small files of every format, unusual texts, records, manifests."""

import gzip
import io
import lzma
import random
from bz2 import compress as bz2

from abound.data import FORMATS
from abound.data.records import Document
from abound.store.journal.records import AddLabel, BandFeedback, Learn, MergeLabels, encode_record
from tests.store.hostile import zoo

FILES = {
    "annif": [b"a text\t<http://x/1> <http://x/2>\n", b"more\t<u:a>"],
    "csv": [b'id,text,labels\n1,"a, ""b""",x|y\n', b"text,labels\r\nq,\r\n"],
    "fasttext": [b"__label__a __label__b some words\n", b"words only\n__label__x\n"],
    "jsonl": [b'{"id": 1, "text": "a", "labels": ["x", 2]}\n', b'{"text": "\\ud800", "labels": []}\n'],
    "labels-tsv": [b"a text\tx y\n", b"\xef\xbb\xbfa\t\n"],
    "letor": [b"2 qid:10 1:0.5 2:1e-3 #docid = x\n", b"0 qid:a\n"],
    "svmlight": [b"a,b 1:0.5 7:2\n 3:1 # note\n", b"1 \n"],
    "trec-qrels": [b"1 0 doc 1\nq 0 d -1\n"],
    "trec-run": [b"1 Q0 doc 1 0.5 tag\n2 Q0 d 2 -1e9 t\n"],
    "tsv": [b"id\ttext\tlabels\n1\ta\tx|y\n"],
    "vw": [b"a b | x:1 y:0.5\n1 'tag |ns w |other z:2\n"],
    "xmc": [b"2 3 2\n0,1 0:1 2:0.5\n 1:1\n", b"1 1 1\n\n"],
}
TEXTS = ["A red apple; naïve Straße İ ﬁ", "a_b 12 ü\u0308 \ud800 \U0001f642 क्ष", "x" * 200 + " " + "y " * 40, "\0a\0b"]


def _parquet():
    out = io.BytesIO()
    format_ = FORMATS["parquet"]
    format_.write(out, [Document(("x", "y"), "a text", "1")], format_.complete({}, "write"))
    return out.getvalue()


def seeds():
    """Yield (target, number, bytes)."""
    for name in FORMATS:
        if name == "documents":  # not a stream
            continue
        for number, raw in enumerate(FILES.get(name) or FILES.get(f"trec-{name}") or [_parquet()]):
            yield f"read-{name}", number, raw
    line = FILES["jsonl"][0]
    for number, raw in enumerate(
        (gzip.compress(line, mtime=0), bz2(line), lzma.compress(line), b"\x28\xb5\x2f\xfd\0\0")
    ):
        yield "compressed", number, bytes([number]) + raw
    for number in range(12):
        yield "api", number, random.Random(number).randbytes(200)
    for number, text in enumerate(TEXTS):
        yield "text", number, bytes([number]) + text.encode("utf-8", "surrogatepass")
    for number in range(len(zoo.MAKERS)):
        yield "model", number, bytes([number, 1, 200, 3, 10, 1, 0, 0, 7])
    content = (zoo.saved("mmp") / "manifest.json").read_bytes()
    yield "manifest", 0, b"\0" + content
    yield "manifest", 1, b"\1" + content[content.index(b'"content": ') + 11 : content.rindex(b"}")]
    records = [Learn("a text", added=["x", 1], rejected=["y"]), AddLabel("x", ["X"]), MergeLabels("x", "y")]
    for number, record in enumerate([*records, BandFeedback("x", 0.5, "hide", "apply")]):
        yield "record", number, encode_record(record)
    for number in range(3):
        yield "journal", number, bytes([number, 17, 3, 1, number, 0, 9, 0])


def write_seeds(folder):
    """Write the corpus; keep other files."""
    for target, number, raw in seeds():
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / f"seed-{number}").write_bytes(raw)

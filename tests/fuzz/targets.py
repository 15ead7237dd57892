"""The fuzzing targets: functions of bytes that may only raise errors that refuse an input.

Readers must refuse or read; what they read must be unchanged after it is written and read again. The other targets must
refuse, or return a state that the kernels can use.
"""

import hashlib
import io
import itertools
import json
import os
import random
import shutil
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from abound.data import FORMATS
from abound.data.formats import DAMAGE, damage
from abound.data.streams import COMPRESSIONS, _decompressed
from abound.errors import DataError, JournalError, ModelError
from abound.store import directory, read_model
from abound.store.journal import Journal
from abound.store.journal.records import decode_record, encode_record
from abound.text import TextEncoder
from tests.fuzz.api import api
from tests.fuzz.chooser import Chooser
from tests.store.hostile import zoo
from tests.store.hostile.mutations import mutated

warnings.simplefilter("ignore")
SHARED = "/dev/shm"  # noqa: S108  where writing costs nothing
PLACE = Path(tempfile.mkdtemp(prefix="abound-fuzz-", dir=SHARED if os.path.isdir(SHARED) else None))
MOST_RECORDS = 10_000
PIECE = 1 << 13
MOST_PIECES = 8


# -- readers -----------------------------------------------------------------------------------------


def _report(line, reason, fatal):
    if fatal:
        raise DataError("fuzz", line, reason)


def _records(format_, raw, options):
    return list(itertools.islice(format_.read(io.BufferedReader(io.BytesIO(raw)), _report, options), MOST_RECORDS))


def reader(name):
    """Return the target of one format: if what was read can be written, it must read the same."""
    format_ = FORMATS[name]
    reading, writing = format_.complete({}, "read"), format_.complete({}, "write")

    def target(data):
        try:
            records = _records(format_, data, reading)
        except DataError:
            return
        written = io.BytesIO()
        try:
            format_.write(written, records, writing)
        except ValueError:
            return
        again = _records(format_, written.getvalue(), reading)
        assert again == records, (records, again)

    return target


def compressed(data):
    """Decompress the beginning of the data, which may be a decompression bomb; the first byte selects the format."""
    suffix = COMPRESSIONS[data[0] % len(COMPRESSIONS)] if data else ".gz"
    stream = io.BufferedReader(_decompressed(io.BytesIO(data[1:]), suffix))
    try:
        for piece in itertools.islice(iter(partial(stream.read, PIECE), b""), MOST_PIECES):
            assert len(piece) <= PIECE
    except DAMAGE as error:
        if damage(error) is None:
            raise


# -- texts -------------------------------------------------------------------------------------------

_ENCODERS = [
    {"ngrams": 3},
    {"ngrams": 2, "char_ngrams": (2, 4)},
    {"ngrams": 1, "weighting": "pivoted", "max_terms": 50},
    {"ngrams": 2, "weighting": "pivoted", "slope": 0.0, "char_ngrams": (1, 1)},
    {"ngrams": 2, "stem": "english", "char_ngrams": (2, 3), "form_weight": 0.5},
]
_fresh = itertools.count()
_living = {}


def text(data):
    """Convert bytes to texts, learn them, and check rows and positions."""
    number = data[0] % len(_ENCODERS) if data else 0
    if next(_fresh) % 500 == 0:
        _living.clear()
    encoder = _living.setdefault(number, None) or TextEncoder(**_ENCODERS[number])
    _living[number] = encoder
    try:
        whole = data[1:].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        whole = data[1:].decode("utf-16-le", "replace") if len(data) % 2 else data[1:].decode("latin-1")
    texts = whole.split("\x00")
    for learn in (False, True, False):
        indptr, indices, values = encoder.rows(texts, learn=learn)
        assert indptr[0] == 0
        assert indptr[-1] == len(indices) == len(values)
        assert np.isfinite(values).all()
        assert len(indices) == 0 or 0 <= indices.min() <= indices.max() < encoder.n_terms
    for each in texts[:3]:
        for span in encoder.spans(each):
            assert 0 <= span.start < span.stop <= len(each)
            encoder.name(span.term)
    if len(data) % 16 == 0:
        again = TextEncoder(**_ENCODERS[number])
        again.restore(encoder.arrays())
        assert again.rows(texts)[2].tolist() == encoder.rows(texts)[2].tolist()


# -- models ------------------------------------------------------------------------------------------

_models = {}


def model(data):
    """Change a model with valid checksums, as an attacker could, and use it if it is accepted."""
    chooser = Chooser(data)
    kind = sorted(zoo.MAKERS)[chooser.integers(len(zoo.MAKERS))]
    if kind not in _models:
        _models[kind] = read_model(zoo.saved(kind))
    try:
        found = zoo.build(kind, mutated(_models[kind], chooser))
    except ModelError:
        return
    zoo.use(found)


def manifest(data):
    """Read a model whose manifest is these bytes; if the first byte is odd, they get a valid checksum."""
    folder = PLACE / "model"
    if not folder.exists():
        shutil.copytree(zoo.saved("mmp"), folder)
    raw = data[1:]
    if data[:1] and data[0] % 2:
        try:
            content = json.loads(raw)
            checksum = hashlib.sha256(directory._canonical(content)).hexdigest()
        except (ValueError, RecursionError):
            return
        raw = json.dumps({"checksum": checksum, "content": content}).encode()
    (folder / "manifest.json").write_bytes(raw)
    try:
        found = zoo.load(folder)
    except ModelError:
        return
    zoo.use(found)


# -- journals ----------------------------------------------------------------------------------------


def record(data):
    """Decode a record of the journal; a valid one must encode to the same bytes."""
    try:
        found = decode_record(data)
    except ValueError:
        return
    assert repr(decode_record(encode_record(found))) == repr(found)


def _journal_files():
    folder = PLACE / "journal-whole"
    if not folder.exists():
        from benchmarks.hardening.subjects import JournalFiles

        JournalFiles(n_records=24).make(folder)
    return folder


def journal(data):
    """Change some bytes of a journal and its log: this must be detected, or the records must be unchanged."""
    whole, folder = _journal_files(), PLACE / "journal"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    chance = random.Random(data)
    for at in range(0, len(data) - 3, 4):
        path = folder / ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite.head")[data[at] % 3]
        raw = bytearray(path.read_bytes())
        place = int.from_bytes(data[at + 1 : at + 3], "little") * 7 % len(raw) if raw else 0
        if data[at + 3] == 0:
            raw = raw[:place]
        elif raw:
            raw[place] ^= data[at + 3]
        path.write_bytes(raw)
    expected = _expected()
    witnessed = (folder / "journal.sqlite.head").read_bytes() == (whole / "journal.sqlite.head").read_bytes()
    for write in (False, True) if chance.random() < 0.5 else (True,):
        try:
            with Journal(folder / "journal.sqlite", write=write) as found:
                if not list(itertools.islice(found.damage(), 1)):
                    records = [repr(stored) for stored in found.read(found.base)]
                    # Damage of both the log and its commit marker can shorten a journal, but not change it.
                    assert records == expected if witnessed else records == expected[: len(records)]
        except JournalError:
            pass


_known = []


def _expected():
    if not _known:
        shutil.copytree(_journal_files(), PLACE / "journal-sound", dirs_exist_ok=True)
        with Journal(PLACE / "journal-sound" / "journal.sqlite", write=True) as found:
            _known.extend(repr(stored) for stored in found.read(found.base))
    return _known


TARGETS = {
    **{f"read-{name}": reader(name) for name in FORMATS if name != "documents"},
    "api": api,
    "compressed": compressed,
    "text": text,
    "model": model,
    "manifest": manifest,
    "record": record,
    "journal": journal,
}

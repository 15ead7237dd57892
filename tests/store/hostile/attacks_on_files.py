"""Attacks on the files of a model: what they are, their names, their headers, the manifest and its parameters."""

import json
import os
import pickle

import numpy as np

from abound.store.directory import DTYPES, _header
from tests.store.hostile.forge import content_of, file_of, manifest, raw_file, raw_manifest, write_content

TERABYTES = 1 << 43


class Shell:
    """What a pickle of it does when it is read: leave a mark beside the model."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path.parent / "code-ran"),)


# -- files -------------------------------------------------------------------------------------------


def linked(name):
    def attack(path):
        target = path / "manifest.json" if name == "manifest" else file_of(path, name)
        target.rename(path.parent / "elsewhere")
        target.symlink_to(path.parent / "elsewhere")

    return attack


def piped(name):
    def attack(path):
        target = path / "manifest.json" if name == "manifest" else file_of(path, name)
        target.unlink()
        os.mkfifo(target)

    return attack


def made_a_directory(name):
    def attack(path):
        target = path / "manifest.json" if name == "manifest" else file_of(path, name)
        target.unlink()
        target.mkdir()

    return attack


def sparse_manifest(path):
    os.truncate(path / "manifest.json", TERABYTES)


def sparse_file(path):
    """Promise terabytes in the shape, and keep the promise with a hole."""
    content = content_of(path)
    content["files"]["edges"]["shape"] = [TERABYTES // 8]
    file = file_of(path, "edges")
    file.write_bytes(_header(DTYPES["edge"], (TERABYTES // 8,)))
    os.truncate(file, file.stat().st_size + TERABYTES)
    write_content(path, content)


def many_sparse_files(path):
    """Promise a little too much in each of many files."""
    content, n = content_of(path), 1 << 24
    for i in range(60):
        entry = {"dtype": "uint8", "shape": [n], "sha256": f"{i:064x}"}
        key = "x" + "".join(chr(97 + int(digit)) for digit in str(i))
        content["files"][key] = entry
        file = path / f"{key}-{entry['sha256'][:16]}.npy"
        file.write_bytes(_header(DTYPES["uint8"], (n,)))
        os.truncate(file, file.stat().st_size + n)
    write_content(path, content)


def flip_under_the_checksum(path):
    file = file_of(path, "edges")
    raw = bytearray(file.read_bytes())
    raw[-3] ^= 1
    file.write_bytes(raw)


def many_files(content):
    entry = content["files"]["edges"]
    names = ("x" + "".join(chr(97 + int(digit)) for digit in str(i)) for i in range(2000))
    content["files"].update({name: dict(entry) for name in names})


FILES = {
    "the manifest is a link": ("feature-focus", linked("manifest")),
    "an array is a link": ("feature-focus", linked("edges")),
    "the manifest is a pipe": ("feature-focus", piped("manifest")),
    "an array is a pipe": ("feature-focus", piped("edges")),
    "the manifest is a directory": ("feature-focus", made_a_directory("manifest")),
    "an array is a directory": ("feature-focus", made_a_directory("edges")),
    "the manifest promises terabytes": ("feature-focus", sparse_manifest),
    "an array promises terabytes": ("feature-focus", sparse_file),
    "many arrays are holes": ("feature-focus", many_sparse_files),
    "an array is missing": ("tagger", lambda path: file_of(path, "term_names").unlink()),
    "thousands of files": ("feature-focus", manifest(many_files)),
    "a changed byte": ("cascade-many", flip_under_the_checksum),
    "an array cut short": ("mmp", lambda path: os.truncate(file_of(path, "prototype_weights"), 200)),
    "an array with bytes after its end": ("mmp", raw_file("prototype_weights", lambda raw: raw + b"\0" * 64)),
}

# -- names and shapes in the manifest ----------------------------------------------------------------


def renamed(name):
    return manifest(lambda c: c["files"].update({name: c["files"].pop("edges")}))


def entry(**changes):
    return manifest(lambda c: c["files"]["edges"].update(changes))


NAMES = {
    "a name that climbs": renamed("../../../etc/passwd"),
    "a name from the root": renamed("/etc/passwd"),
    "a name with a zero byte": renamed("edges\0"),
    "a name with a line break": renamed("edges\n"),
    "a name with a backslash": renamed("..\\edges"),
    "an empty name": renamed(""),
    "a checksum that climbs": entry(sha256="../../../etc/passwd"),
    "a checksum with a line break": manifest(lambda c: c["files"]["edges"].update(sha256="0" * 64 + "\n")),
    "a file that is no entry": manifest(lambda c: c["files"].update(edges=[1, 2])),
    "files in a list": manifest(lambda c: c.update(files=["edges"])),
    "a shape beyond memory": entry(shape=[1 << 60]),
    "a shape beyond the file": entry(shape=[1 << 40]),
    "a negative shape": entry(shape=[-1]),
    "a shape of fractions": entry(shape=[2.5]),
    "a shape of truths": entry(shape=[True]),
    "a shape of texts": entry(shape=["10"]),
    "a shape of lists": entry(shape=[[1]]),
    "a shape of three axes": entry(shape=[1, 1, 1]),
    "objects": entry(dtype="object"),
    "a type in a list": entry(dtype=["edge"]),
    "another type of the same size": entry(dtype="int64"),
}


# -- headers of arrays -------------------------------------------------------------------------------


def header_text(text):
    """Give an array's file another header of the same length."""

    def make(raw):
        start = raw.index(b"{")
        stop = raw.index(b"\n") + 1
        return raw[:start] + text.encode().ljust(stop - start - 1)[: stop - start - 1] + b"\n" + raw[stop:]

    return make


def pickled_array(path):
    def make(_):
        import io

        out = io.BytesIO()
        np.save(out, np.array([Shell(path)], object), allow_pickle=True)
        return out.getvalue()

    raw_file("edges", make)(path)


CODE = "{'descr': __import__('os').mkdir('code-ran'), 'fortran_order': False, 'shape': (9,), }"
HEADERS = {
    "a header that is code": raw_file("edges", header_text(CODE)),
    "a header of objects": raw_file("edges", header_text("{'descr': '|O', 'fortran_order': False, 'shape': (9,), }")),
    "a header of another shape": raw_file("edges", lambda raw: raw.replace(b"'shape': (", b"'shape': (9")),
    "a header in Fortran order": raw_file("edges", lambda raw: raw.replace(b"False, ", b"True,  ")),
    "a header of the other end": raw_file("edges", lambda raw: raw.replace(b"<", b">", 2)),
    "a header beyond the file": raw_file("edges", lambda raw: raw[:8] + b"\xff\xff" + raw[10:]),
    "a header of version 3": raw_file("edges", lambda raw: raw[:6] + b"\x03" + raw[7:]),
    "a pickle in an array": pickled_array,
}

# -- JSON --------------------------------------------------------------------------------------------


def as_json(change):
    """Write the manifest with a change to its text."""
    return raw_manifest(lambda path: change((path / "manifest.json").read_text()).encode())


JSON = {
    "a repeated key": as_json(lambda text: text.replace('"content"', '"content": {}, "content"', 1)),
    "a repeated key inside": as_json(lambda text: text.replace('"kind"', '"kind": "tagger", "kind"', 1)),
    "deep lists": raw_manifest(lambda _: b"[" * 500_000),
    "deep objects": raw_manifest(lambda _: b'{"a":' * 200_000),
    "deep but whole": raw_manifest(lambda _: b'{"content":' + b"[" * 900 + b"]" * 900 + b',"checksum":""}'),
    "not a number": as_json(lambda text: text.replace('"n_features_in": 60', '"n_features_in": NaN')),
    "a number beyond all": as_json(lambda text: text.replace('"n_features_in": 60', '"n_features_in": 1e999')),
    "a number of many digits": raw_manifest(lambda _: b"9" * 1_000_000),
    "very many small objects": raw_manifest(lambda _: b'{"content":[' + b'{"":0},' * 140_000 + b'0],"checksum":""}'),
    "very many keys": raw_manifest(lambda _: json.dumps({str(i): 0 for i in range(90_000)}).encode()),
    "not UTF-8": raw_manifest(lambda _: b'{"content": "\xff\xfe"}'),
    "UTF-16": raw_manifest(lambda path: (path / "manifest.json").read_text().encode("utf-16")[:-1]),
    "a pickle for a manifest": raw_manifest(lambda path: pickle.dumps(Shell(path))),
    "an empty manifest": raw_manifest(lambda _: b""),
    "a list for a manifest": raw_manifest(lambda _: b"[1, 2]"),
    "a checksum of somebody else": manifest(lambda c: c["params"].update(d_max=1), checksum="0" * 64),
    "a state hash of somebody else": manifest(lambda c: c.update(state_hash="0" * 64), reseal=False),
    "another version": manifest(lambda c: c.update(format_version=6)),
    "another format": manifest(lambda c: c.update(format="another")),
    "an unknown kind": manifest(lambda c: c.update(kind="os.system")),
    "a kind in a list": manifest(lambda c: c.update(kind=["tagger"])),
    "no kind": manifest(lambda c: c.pop("kind")),
}

# -- parameters --------------------------------------------------------------------------------------


def params(**changes):
    return manifest(lambda c: c["params"].update(changes))


def ranker_params(**changes):
    return manifest(lambda c: c["params"]["ranker_params"].update(changes))


def columns(**changes):
    return manifest(lambda c: c["columns"].update(changes))


PARAMETERS = {
    "parameters in a list": ("feature-focus", manifest(lambda c: c.update(params=[1]))),
    "a parameter that there is not": ("feature-focus", params(surprise=1)),
    "a parameter that is an attribute": ("feature-focus", params(__class__="os")),
    "a fraction for a count": ("feature-focus", params(d_max=2.5)),
    "a count beyond 64 bits": ("cascade-many", params(d_max=10**30)),
    "a text for a number": ("mmp", params(margin="1")),
    "a truth for a loss": ("mmp", params(loss=True)),
    "a threshold above one": ("independent", params(p_ind=1e9)),
    "memory by columns": ("prank", columns(n_features_in=10**9)),
    "memory by columns, baseline": ("multiclass-perceptron", columns(n_features_in=10**9)),
    "columns beyond all": ("feature-focus", columns(n_features_in=10**30)),
    "columns below 0": ("independent", columns(n_features_in=-1)),
    "columns that are a text": ("widrow-hoff", columns(n_features_in="5")),
    "no columns": ("prank", manifest(lambda c: c.update(columns=None))),
    "names of columns that are none": ("feature-focus", columns(feature_names=[[1], {"a": 2}])),
    "names of more columns than there are": ("prank", columns(feature_names=["x"] * 1000)),
    "a form of labels in a list": ("feature-focus", columns(form=["names"])),
    "a degree that takes years": ("prank-rbf", params(kernel="poly", degree=10**18)),
    "a budget beyond 64 bits": ("prank-rbf", params(budget=10**30)),
    "ranks in lists": ("prank", params(ranks=[[1], [2]])),
    "other ranks than were learnt": ("prank", params(ranks=[3, 2, 1, 0])),
    "a ranker that there is not": ("tagger", params(ranker="os")),
    "a ranker in a list": ("tagger", params(ranker=["cascade"])),
    "a ranker's parameters in a list": ("tagger", params(ranker_params=[1])),
    "a ranker's fraction for a count": ("tagger", ranker_params(d_max=0.5)),
    "one length of parts of words": ("tagger", params(char_ngrams=[1])),
    "fractions of words": ("tagger", params(ngrams=1.5)),
    "a stemmer that there is not": ("tagger", params(stem="../english")),
    "a stemmer in a list": ("tagger", params(stem=["english"])),
    "terms without number": ("tagger", params(max_terms=1e300)),
    "a cost below 0": ("svm-map", params(C=-1.0)),
    "thresholds below 0": ("reranker", params(n_thresholds=-1)),
    "a scaling that there is not": ("reranker", params(per_query="os")),
    "a journal that is no name": ("snapshot", manifest(lambda c: c.update(served={"journal": [], "sequence": 1}))),
    "a sequence below 0": ("snapshot", manifest(lambda c: c["served"].update(sequence=-5))),
    "a sequence beyond all": ("snapshot", manifest(lambda c: c["served"].update(sequence=10**30))),
}

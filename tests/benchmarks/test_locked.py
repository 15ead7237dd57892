"""The data sets of the final comparison are extracted as described, checked, and used for no choice."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from benchmarks import bands, calibration, defaults, documents, fitting, hierarchy, second_opinion, sets, tune
from benchmarks.locked import edict, fetch, files, gcc, man, roff
from benchmarks.locked.__main__ import main

CHANGES = """\
2001-02-03  Ann Example  <ann@example.org>
\t    Bo Sample  <bo@example.org>

\tPR target/1
\t* one.c (f): New.

Mon Feb  5 15:09:18 1998  Cy Old  (cy@example.org)

\t* two.c: Copied from
\t1997-01-01  Dee Else  <dee@example.org>

\tsomewhere.

1998-01-01  Release Manager

\t* Released.
"""
MAN = r"""
.TH OPEN 2 "today"
.de EX
.SH DESCRIPTION
..
.SH NAME
open \- open a \fIfile\fP
.SH "DESCRIPTION"
The
.BR open ()
call, or
.I openat
\(lqopens\(rq.  \" a comment
.TS
a table
.TE
.SH SEE ALSO
.BR close (2),
.BR open (2),
.BR fopen (3)
"""
MDOC = """\
.Sh NAME
.Nm mbuf
.Nd memory
.Sh DESCRIPTION
.Nm
uses
.Vt "struct mbuf" .
.Sh SEE ALSO
.Xr ifnet 9 ,
.Xr mbuf_tags 9
"""


def test_the_kanji_of_a_word_are_the_labels_of_its_meanings():
    lines = [
        "会う(P);逢う [あう] /(v5u,vi) (1) to meet/(2) (See 合う) to see (a person)/(P)/\n",
        "ディスク /(n) disk/\n",
        "一一 [いちいち] /(n,vs) (oK) {comp} one by one ～/EntL1/\n",
    ]
    assert list(edict.entries(lines)) == [
        ("to meet; to see (a person)", ["会", "逢"]),
        ("one by one; EntL1", ["一"]),
    ]


def test_a_change_is_a_row_of_its_persons_and_names_nobody_in_its_text():
    assert list(gcc.entries(CHANGES.split("\n"))) == [
        ("2001-02-03 ", ["Ann Example", "Bo Sample"], "PR target/1 one.c (f): New."),
        ("Feb 5 1998", ["Cy Old"], "two.c: Copied from somewhere."),
    ]


def test_entries_of_one_day_are_one_row():
    found = [("d1", ["Ann"], "one"), ("d1", ["Bo"], "two"), ("d1", ["Ann"], "three " * 300), ("d2", ["Ann"], "one")]
    rows = list(gcc.by_day(found))
    assert rows == [("one " + "three " * 198 + "three", ["Ann"]), ("two", ["Bo"]), ("one", ["Ann"])]


def test_change_logs_of_test_suites_are_left_out(tmp_path):
    folder = tmp_path / "gcc-12-source" / "usr/src/gcc-12"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "gcc-1.tar.xz", "w:xz") as tar:
        for name in ("gcc/testsuite/ChangeLog", "gcc/ChangeLog-1998", "gcc/README"):
            member = tarfile.TarInfo(name)
            source = CHANGES.replace("one.c", name).encode()
            member.size = len(source)
            tar.addfile(member, io.BytesIO(source))
    assert [text for text, _ in gcc.rows(tmp_path)] == [
        "PR target/1 gcc/ChangeLog-1998 (f): New.",
        "two.c: Copied from somewhere.",
    ]


def test_a_manual_page_refers_to_others():
    assert man.page(MAN, "open", "2") == (
        'open - open a file The open() call, or openat "opens".',
        ["close(2)", "fopen(3)"],
    )
    assert man.page(MDOC, "other", "9") == ("mbuf memory mbuf uses struct mbuf .", ["ifnet(9)", "mbuf_tags(9)"])
    assert len(man.page(MAN.replace("call", "call " * 300), "open", "2")[0].split()) == 200


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"a\-b\&c", "a-bc"),
        (r"\f(CWx\f[B]y\fR", "xy"),
        (r"\s-1A\s0 \e \*(lqq\*(rq \(co", 'A \\ "q" '),
        (r"\N'39'a\ b", "a b"),
    ],
)
def test_escape_sequences_become_plain_text(written, read):
    assert roff.plain(written) == read


def test_a_page_with_several_names_is_one_row(tmp_path):
    folder = tmp_path / "manpages" / "usr/share/man/man2"
    folder.mkdir(parents=True)
    for name in ("open", "openat"):
        (folder / f"{name}.2.gz").write_bytes(gzip.compress(MAN.encode()))
    (folder / "creat.2.gz").symlink_to("open.2.gz")
    (folder / "latin.2.gz").write_bytes(gzip.compress(MAN.replace("today", "café").encode("latin-1")))
    (folder / "alone.2.gz").write_bytes(gzip.compress(b".SH NAME\nalone\n"))
    assert len(list(man.rows(tmp_path))) == 2  # open and latin


@pytest.fixture
def extracted(tmp_path, monkeypatch):
    monkeypatch.setenv("ABOUND_LOCKED", str(tmp_path))
    for name in files.NAMES:
        fetch.extract(name, ((f"text {i // 2}", [f"label {i % 7}"]) for i in range(400)), tmp_path)
    record = {name: fetch.describe(name, tmp_path) for name in files.NAMES}
    monkeypatch.setattr(fetch, "RECORD", tmp_path / "locked.json")
    fetch.RECORD.write_text(json.dumps(record))
    return tmp_path


def test_rows_are_merged_and_divided(extracted):
    found = json.loads(fetch.RECORD.read_text())["locked-man-links"]
    assert found["rows"] == {"train": 180, "development": 18, "test": 20}
    assert (found["labels"], found["training_labels"], found["labels_a_row"]) == (7, 7, 2.0)
    whole, development = documents.final("locked-man-links"), documents.development("locked-man-links")
    assert not {row.text for row in whole.train} & {row.text for row in whole.held}
    assert development.held == [documents.Row(*row) for row in files.read("locked-man-links", "development")]
    assert len(sets.RECIPES["locked-man-links"].parts()[1]) == 20


def test_a_changed_or_missing_file_is_noticed(extracted, capsys):
    main(["check", str(extracted)])
    assert "all files are as" in capsys.readouterr().out
    path = files.path_of(extracted, "locked-gcc-authors", "test")
    path.write_text(path.read_text().replace("label 1", "label 2", 1))
    files.path_of(extracted, "locked-edict-kanji", "train").unlink()
    with pytest.raises(SystemExit) as stopped:
        main(["check", str(extracted)])
    missing, changed = str(stopped.value).split("\n")
    assert "locked-edict-kanji/train.jsonl is missing: run `python -m benchmarks.locked fetch" in missing
    assert "locked-gcc-authors/test.jsonl is not the file" in changed


def test_without_its_files_a_set_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("ABOUND_LOCKED", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match=r"python -m benchmarks\.locked fetch"):
        documents.final("locked-man-links")


def test_no_choice_is_made_on_a_locked_set():
    used = [
        bands.SETS,
        calibration.SETS,
        defaults.SETS,
        fitting.SETS,
        hierarchy.SETS,
        second_opinion.SETS,
        tune.SOURCES,
    ]
    assert not [name for names in used for name in names if name.startswith("locked")]
    folder = Path(documents.__file__).parent
    naming = {path.relative_to(folder).parts[0] for path in folder.rglob("*.py") if "locked-" in path.read_text()}
    assert naming == {"locked", "sets.py"}  # sets.py builds them


def test_the_record_describes_each_set():
    record = json.loads(fetch.RECORD.read_text(encoding="utf-8"))
    assert tuple(record) == files.NAMES == tuple(fetch.EXTRACTIONS)
    for name, known in record.items():
        assert known["packages"] == fetch.EXTRACTIONS[name].packages
        assert known["extraction"] == fetch.EXTRACTIONS[name].about
        assert known["training_labels"] > 2_000 <= known["rows"]["train"]

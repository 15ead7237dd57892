"""Manual pages: the pages that a page refers to under SEE ALSO, by its name and description."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.locked.roff import sections

# Packages with many manual pages, and few or no updates since the release of Debian 12.
PACKAGES = {
    "9base": "1:6-13",
    "bpfcc-tools": "0.26.0+ds-1",
    "coreutils": "9.1-1",
    "freebsd-manpages": "12.2-1",
    "inn2": "2.7.1-1+deb12u1",
    "iproute2": "6.1.0-3",
    "libaudit-dev": "1:3.0.9-1",
    "libbsd-dev": "0.11.7-2",
    "libfabric-dev": "1.17.0-3",
    "libibverbs-dev": "44.0-2",
    "libkeyutils-dev": "1.6.3-2",
    "libldap-dev": "2.5.13+dfsg-5",
    "libncarg-dev": "6.6.2.dfsg.1-1",
    "libowfat-dev": "0.32-4",
    "libpcp3-dev": "6.0.3-1.1",
    "librdmacm-dev": "44.0-2",
    "libtraceevent-doc": "1:1.7.1-1",
    "libtracefs-doc": "1.6.4-1",
    "liburing-dev": "2.3-3",
    "libxcb-doc": "1.15-1",
    "libx11-doc": "2:1.8.4-2+deb12u2",
    "libzmq3-dev": "4.3.4-6",
    "manpages": "6.03-2",
    "manpages-dev": "6.03-2",
    "nbdkit": "1.32.5-1",
    "ncurses-doc": "6.4-4",
    "netpbm": "2:11.01.00-2",
    "nmh": "1.8~RC2-2",
    "openafs-client": "1.8.9-1+deb12u1",
    "pcp": "6.0.3-1.1",
    "slapd": "2.5.13+dfsg-5",
    "tcl8.6-doc": "8.6.13+dfsg-2",
    "tcllib": "1.21+dfsg-1",
    "tk8.6-doc": "8.6.13-2",
    "x11-apps": "7.7+9",
    "xfsprogs": "6.1.0-1",
}
ABOUT = (
    "The English manual pages of the packages. The text is the first 200 words of the sections NAME and DESCRIPTION; "
    "the labels are the pages that are named under SEE ALSO, with their sections, except the page itself."
)
MOST_WORDS = 200

LINK = re.compile(r"([\w.:+@-]*\w[\w.:+@-]*) ?\((\d[a-z]*|n)\)", re.IGNORECASE)


def page(source: str, name: str, section: str) -> tuple[str, list[str]]:
    """Return (name and description, linked pages) of one manual page."""
    first = re.search(r"^\.Nm +([^\s,]+)", source, re.MULTILINE)
    found = sections(source.split("\n"), first[1] if first else name)
    text = " ".join([found.get("NAME", ""), found.get("DESCRIPTION", "")])
    links = (f"{link[1]}({link[2].lower()})" for link in LINK.finditer(found.get("SEE ALSO", "")))
    return " ".join(text.split()[:MOST_WORDS]), [link for link in dict.fromkeys(links) if link != f"{name}({section})"]


def rows(unpacked: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of the pages that refer to others; a page with several names is one row."""
    seen = set()
    for package in PACKAGES:
        for path in sorted((unpacked / package / "usr/share/man").glob("man*/*.gz")):
            if path.is_symlink():
                continue
            raw = gzip.decompress(path.read_bytes())
            if raw in seen:
                continue
            seen.add(raw)
            try:
                source = raw.decode("utf-8")
            except UnicodeDecodeError:
                source = raw.decode("latin-1")
            name, _, section = path.name.removesuffix(".gz").rpartition(".")
            text, labels = page(source, name, section)
            if text and labels:
                yield text, labels

"""The process that extracts texts: it reads files from stdin and writes their texts to stdout, one after another.

Documents may come from anyone, and parsers of PDF, Word and HTML can be made to hang, to crash or to fill the memory.
So they run in a process of their own, which has limits and can be killed.
"""

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from abound.data.documents.decoding import declared_encoding, decode
from abound.data.documents.docx_text import docx_text
from abound.data.documents.html_text import html_text
from abound.data.documents.pdf_text import pdf_text
from abound.data.formats import Malformed

try:
    import resource
except ImportError:  # not on Windows, where only the time is limited
    resource = None  # type: ignore[assignment]

NICE = 10  # so that a server answers while a large file is read


def extract(body: bytes, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the text of a file, or the reason why there is none."""
    characters, guessed = request["characters"], None
    try:
        if request["kind"] == "pdf":
            text = pdf_text(body, characters)
        elif request["kind"] == "docx":
            text = docx_text(body, request["unpacked"], characters)
        else:
            markup, guessed = decode(body, request["encoding"] or declared_encoding(body))
            text = html_text(markup)
    except Malformed as error:
        return {"reason": str(error)}
    except ImportError as error:
        return {"missing": str(error)}
    except MemoryError:
        return {"reason": out_of_memory(request["memory"])}
    # Some PDFs name half of a surrogate pair as a character.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {"text": text[:characters], "is_cut": len(text) > characters, "guessed": guessed}


def out_of_memory(limit: int) -> str:
    """Return the reason for a document that needs too much memory."""
    return f"the document needs more than {limit >> 20:,} MiB of memory to be read"


def _limit_process(memory: int) -> None:
    if hasattr(os, "nice"):
        os.nice(NICE)
    if resource is None:
        return
    for kind, limit in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # the system may have a lower limit
            resource.setrlimit(kind, (limit, limit))


def _limit_time(seconds: float) -> None:
    """Limit the processor time of the next document, in case that the parent is gone and cannot kill this process."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.suppress(ValueError, OSError):
        soft = int(used.ru_utime + used.ru_stime + seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _main(memory: int) -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a library that prints must not disturb the answers
    _limit_process(memory)
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        body = sys.stdin.buffer.read(request["n_bytes"])
        _limit_time(request["seconds"])
        answer = extract(body, request)
        text = answer.pop("text", "").encode()
        answers.write(json.dumps({**answer, "n_bytes": len(text)}).encode() + b"\n")
        answers.write(text)
        answers.flush()


if __name__ == "__main__":
    _main(int(sys.argv[1]))

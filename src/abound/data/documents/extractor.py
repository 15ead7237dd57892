"""Extract the texts of documents in another process, within limits."""

import contextlib
import json
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

from abound.closing import Closing
from abound.data.documents.decoding import decode
from abound.data.documents.kinds import TEXT, Kind, check_kind
from abound.data.documents.limits import Limits
from abound.data.formats import Malformed

_WORKER = "abound.data.documents.worker"


class Extracted(NamedTuple):
    """The text of a document.

    Attributes
    ----------
    text : str
    is_cut : bool
        Whether the document has more text than the limit.
    guessed : str or None
        The encoding that was guessed, because the document is not in UTF-8 or in the one that it declares.
    """

    text: str
    is_cut: bool = False
    guessed: str | None = None


class Extractor(Closing):
    """Extracts texts, in a process that is started with the first document and again after it was killed.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # what was not sent is no longer wanted
                        pipe.close()

    def extract(self, body: bytes, kind: Kind, encoding: str | None = None) -> Extracted:
        """Return the text of a document.

        Parameters
        ----------
        body : bytes
            The content of the file.
        kind : Kind
        encoding : str, optional
            The encoding of a text or HTML file, if it is known.

        Raises
        ------
        Malformed
            If the document cannot be read within the limits.
        ImportError
            If an optional package is needed.
        """
        if len(body) > self.limits.n_bytes:
            raise Malformed(f"the file has {len(body):,} bytes; at most {self.limits.n_bytes:,} are read")
        check_kind(kind, body)
        if kind is TEXT:  # decoding takes linear time, so it needs no process
            text, guessed = decode(body, encoding)
            return Extracted(text[: self.limits.characters], len(text) > self.limits.characters, guessed)
        answer, text = self._ask(body, {"kind": kind.name, "encoding": encoding})
        if "missing" in answer:
            raise ImportError(answer["missing"])
        if "reason" in answer:
            raise Malformed(answer["reason"])
        return Extracted(text, answer["is_cut"], answer["guessed"])

    def _ask(self, body: bytes, about: dict[str, Any]) -> tuple[dict[str, Any], str]:
        if self._process is None:
            command = [sys.executable, "-m", _WORKER, str(self.limits.memory)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        started, process = time.monotonic(), self._process
        # A killed process closes its pipes, which ends the writing and the reading below.
        timer = threading.Timer(self.limits.seconds, process.kill)
        timer.start()
        try:
            return self._exchange(process, {**self.limits._asdict(), **about, "n_bytes": len(body)}, body)
        except (OSError, EOFError, ValueError):
            self.close()
            if time.monotonic() - started >= self.limits.seconds:
                raise Malformed(f"the document takes more than {self.limits.seconds:g} seconds to read") from None
            reason = f"reading it ended with code {process.returncode}"
            raise Malformed(f"the document is damaged or too complex ({reason}); download or save it again") from None
        finally:
            timer.cancel()

    def _exchange(self, process: Any, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.write(body)
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise EOFError
        answer: dict[str, Any] = json.loads(line)
        text = process.stdout.read(answer.pop("n_bytes"))
        return answer, text.decode()

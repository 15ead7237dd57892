"""What the tests of the command line share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROWS = [
    (("fruit",), "a red apple and a green pear"),
    (("vehicle", "sport"), "a fast car on the track"),
    (("fruit", "cooking"), "apple pie with pear sauce"),
    (("vehicle",), "the old car and the new lorry"),
    (("cooking",), "sauce for pasta"),
    (("sport",), "running on the track"),
]


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Result]


def write_rows(path: Path, copies: int = 10) -> Path:
    rows = [
        json.dumps({"id": f"r{copy}-{number}", "text": f"{text} {copy}", "labels": labels})
        for copy in range(copies)
        for number, (labels, text) in enumerate(ROWS)
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path

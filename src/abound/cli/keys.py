"""`abound keys`: manage the API keys of a server."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abound.cli.common import JsonOption, emit, note, parse_size, show_size, wants_json
from abound.cli.serve import load_server

if TYPE_CHECKING:
    from abound.server.http.keys import Key, KeyFile

EPILOG = "Example: abound keys add subjects.served 'the web shop' --scope learn --expires 90d --learns 100"
HELP = "Create, list, change and remove the API keys of a server."
NONE = "none"
SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# What a library directory without models may have.
KEY_FILES = ("keys.json", "keys.lock", "keys.new", "key-uses")
_LIFE = re.compile(r"(\d{1,6})([mhdw])")
HomeArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOME", help="The home of a served model, or a library, whose keys are valid for all models."
    ),
]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOME",
        help="The home of a served model, or a library, whose keys are valid for all models. A model that was not "
        "served yet gets a home.",
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key, such as its user.")]
ScopeOption = typer.Option(
    "--scope", metavar="read|learn|admin", help="What the key allows. Each scope includes the ones before it."
)
ExpiresOption = typer.Option(
    "--expires", metavar="TIME", help="When the key expires: 2027-01-31, a time in ISO 8601, or 30m, 12h, 90d, 8w."
)
RequestsOption = typer.Option("--requests", metavar="N", help="Most requests in any minute.")
LearnsOption = typer.Option("--learns", metavar="N", help="Most records that are taught in any minute.")
MemoryOption = typer.Option("--memory", metavar="SIZE", help="Most bytes of bodies at a time, such as 20M.")


def add(
    home: ModelArgument,
    name: NameArgument,
    scope: Annotated[str, ScopeOption] = "read",
    expires: Annotated[str | None, ExpiresOption] = None,
    requests: Annotated[str | None, RequestsOption] = None,
    learns: Annotated[str | None, LearnsOption] = None,
    memory: Annotated[str | None, MemoryOption] = None,
) -> None:
    """Create a key and print it. Only its hash is stored, so it cannot be printed again."""
    given = _values(None, expires, requests, learns, memory)
    _check_learns(scope, given)
    file = _file(_with_home(home), may_begin=True)
    from abound.server.http.allowances import Limits

    limits = Limits(given.get("requests"), given.get("learns"), given.get("memory"))
    typer.echo(file.add(name, scope, given.get("expires"), limits))
    note(f"abound: created a key with scope {scope}; restart a server that runs without keys to require them")


def set_(
    home: HomeArgument,
    name: NameArgument,
    scope: Annotated[str | None, ScopeOption] = None,
    expires: Annotated[str | None, ExpiresOption] = None,
    requests: Annotated[str | None, RequestsOption] = None,
    learns: Annotated[str | None, LearnsOption] = None,
    memory: Annotated[str | None, MemoryOption] = None,
) -> None:
    """Change a key, which stays valid. The value none removes an expiry or a limit."""
    changes = _values(scope, expires, requests, learns, memory)
    if not changes:
        raise ValueError("name what to change: --scope, --expires, --requests, --learns or --memory")
    file = _file(home)
    for key in file.read():
        if key.name == name:
            _check_learns(scope or key.scope, {"learns": key.limits.learns, **changes})
    file.set(name, **changes)


def _check_learns(scope: str, given: dict[str, Any]) -> None:
    if scope == "read" and given.get("learns") is not None:
        raise ValueError(
            "a key with scope read teaches nothing; give --scope learn, or no --learns (--learns none removes it)"
        )


def list_(home: HomeArgument, as_json: JsonOption = None) -> None:
    """List the keys, with their limits and when each was used last, within a minute."""
    file = _file(home)
    found = [(key, file.allowance(key).last_use()) for key in file.read()]
    if wants_json(as_json):
        for key, used in found:
            about = {name: getattr(key, name) for name in ("name", "scope", "created", "expires")}
            emit({**about, **key.limits._asdict(), "last_use": used})
        return
    from abound.cli.tables import table

    titles = ("name", "scope", "created", "expires", "requests/min", "learns/min", "memory", "last use")
    table(home, titles, [_row(key, used) for key, used in found])


def _row(key: "Key", used: str | None) -> tuple[str, ...]:
    requests, learns, memory = key.limits
    limits = ["" if limit is None else f"{limit:,}" for limit in (requests, learns)]
    size = "" if memory is None else show_size(memory)
    return (key.name, key.scope, key.created, key.expires or "never", *limits, size, used or "never")


def remove(home: HomeArgument, name: NameArgument) -> None:
    """Remove a key. A running server rejects it within a second."""
    _file(home).remove(name)


def _with_home(path: str) -> str:
    """Return a path; if it is a model that was not served yet, create its home and return that."""
    serving = load_server()
    from abound.store import is_home
    from abound.store.directory import MANIFEST

    if is_home(path) or not (Path(path) / MANIFEST).is_file():
        return path
    created = not is_home(serving.home_of(path))
    home = str(serving.open_home(path).path)
    if created:
        note(f"abound: created {home}, the home of {path}")
    return home


def _values(
    scope: str | None, expires: str | None, requests: str | None, learns: str | None, memory: str | None
) -> dict[str, Any]:
    """Return the given values by field; `none` is None."""
    values: dict[str, Any] = {} if scope is None else {"scope": scope}
    for field, given, parse in (
        ("expires", expires, parse_expiry),
        ("requests", requests, lambda text: _whole("--requests", text)),
        ("learns", learns, lambda text: _whole("--learns", text)),
        ("memory", memory, parse_size),
    ):
        if given is not None:
            values[field] = None if given == NONE else parse(given)
    return values


def parse_expiry(text: str) -> str:
    """Return the time at which a key expires, in UTC; raise ValueError if it is past.

    Examples
    --------
    >>> parse_expiry("2999-01-31")
    '2999-01-31T00:00:00Z'
    """
    now, life = datetime.now(UTC), _LIFE.fullmatch(text.strip())
    try:
        if life is not None:
            time = now + timedelta(seconds=int(life[1]) * SECONDS[life[2]])
        else:
            time = datetime.fromisoformat(text.strip())
            time = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"--expires must be like 2027-01-31, 2027-01-31T12:00:00Z or 90d, got {text!r}") from None
    if time <= now:
        raise ValueError(f"--expires must be in the future, got {text!r}")
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _whole(option: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(f"{option} must be a whole number, got {text!r}")
    return int(text)


def _file(home: str, *, may_begin: bool = False) -> "KeyFile":
    """Return the keys of a home or a library; an empty directory may become a library."""
    serving = load_server()
    from abound.server import Home
    from abound.server.http.keys import KeyFile
    from abound.store.directory import is_home

    path = Path(home)
    if path.is_dir() and not is_home(path):
        names = [entry.name for entry in path.iterdir()]
        is_begun = may_begin or KEY_FILES[0] in names
        if serving.models_of(home) or (is_begun and all(name in KEY_FILES for name in names)):
            return KeyFile(home)
        if not (path / "manifest.json").exists():
            raise ValueError(
                f"{home} is neither the home of a served model nor a library: it has no model; name one of them, "
                "or an empty directory that will be a library"
            )
    return KeyFile(Home(home).path)


COMMANDS = [(command, None) for command in (add, list_, set_, remove)]

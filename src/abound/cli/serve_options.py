"""Options of `abound serve` about logs, and its options from a file and from environment variables.

The command line wins over the environment, the environment over the file, and the file over the defaults.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from abound.cli.common import note, sentence

if TYPE_CHECKING:
    from abound.server.http.logs import LogSettings
    from abound.server.http.settings import OpinionSettings

PREFIX = "ABOUND_SERVE_"  # of the environment variables
CONFIG = "config"
ONLY_ARGUMENTS = {CONFIG, "check"}  # options that neither a file nor a variable can set


def read_defaults(context: typer.Context, config: str | None) -> str | None:
    """Read the options of a file and of environment variables, as defaults of the command; return the file's name."""
    if context.resilient_parsing:  # a shell completes the command line
        return config
    options = {_name(option): option for option in context.command.params if _name(option) not in ONLY_ARGUMENTS}
    config = config or os.environ.get(PREFIX + CONFIG.upper()) or None
    values = {} if config is None else _from_file(config, options)
    values |= _from_environment(os.environ, options)
    context.default_map = {str(options[name].name): value for name, value in values.items()}
    return config


@dataclass
class Operating:
    """Options of `abound serve` for its operation: the configuration file, the log and traces."""

    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="FILE",
            is_eager=True,
            callback=read_defaults,
            help="Read options from a TOML file. ABOUND_SERVE_PORT and so on override it.",
        ),
    ] = None
    check: Annotated[
        bool, typer.Option("--check", help="Check the options, the keys and the names of models, and exit.")
    ] = False
    log_format: Annotated[
        Literal["text", "json"], typer.Option("--log-format", help="Write the log as text or as JSON lines.")
    ] = "text"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option("--log-level", help="The lowest level to log.")
    ] = "info"
    log_file: Annotated[
        str | None,
        typer.Option(
            "--log-file",
            metavar="FILE",
            help="Append the log to a file, which is opened again when it was renamed, and on SIGHUP. Default: stderr.",
        ),
    ] = None
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False
    slow_seconds: Annotated[
        float,
        typer.Option("--slow-seconds", min=0, metavar="S", help="Log requests that take longer, as a warning."),
    ] = 1.0
    traces: Annotated[
        bool,
        typer.Option(
            "--traces", help="Send OpenTelemetry traces; the variables OTEL_* configure it. Needs 'abound[traces]'."
        ),
    ] = False

    def start(self) -> "LogSettings":
        """Begin to log; return the settings of the log. ImportError if a package for traces is missing."""
        from abound.server.http import logs

        if self.traces:
            from abound.server.http.traces import require_traces

            require_traces()
        settings = logs.LogSettings(self.log_format, self.log_level, self.log_file, self.access_log, self.slow_seconds)
        logs.configure(settings)
        return settings

    def run(self, serve: Callable[..., None], *arguments: Any) -> None:
        """Serve; an error that ends the server is also logged, unless the command's own message is in the log."""
        import atexit
        import logging

        try:
            serve(*arguments)
        except Exception as error:
            atexit.register(_end_process, 1)
            if self.log_file is not None or self.log_format == "json":
                logging.getLogger("abound").error("%s", sentence(error))
            raise
        atexit.register(_end_process, 0)


@dataclass
class SecondOpinionService:
    """Options of `abound serve` about a service that is asked for a second opinion."""

    second_opinion: Annotated[
        str | None,
        typer.Option(
            "--second-opinion",
            metavar="URL",
            help="Ask a service how well the best labels fit a text, and blend its scores. ABOUND_SECOND_OPINION_KEY "
            "can contain its key.",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            "--second-opinion-timeout",
            metavar="SECONDS",
            min=0.01,
            max=60,
            help="How long a ranking waits for the service. Default: 2.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(
            "--second-opinion-budget",
            metavar="N",
            min=1,
            help="Send at most N requests per minute to the service. Default: no limit.",
        ),
    ] = None

    def settings(self) -> "OpinionSettings | None":
        """Return the settings of the service; None if there is none."""
        from abound.server.http.settings import OpinionSettings

        if self.second_opinion is not None:
            settings = OpinionSettings(self.second_opinion, budget=self.budget)
            return settings if self.timeout is None else replace(settings, timeout=self.timeout)
        if self.timeout is not None or self.budget is not None:
            name = "budget" if self.timeout is None else "timeout"
            raise ValueError(f"--second-opinion-{name} needs --second-opinion")
        return None


def _end_process(code: int) -> None:
    """End without the interpreter's shutdown: a granian thread that needs it meanwhile would print a panic."""
    import logging

    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _name(option: Any) -> str:
    """Return the name of an option in a file: that on the command line, with underscores."""
    return str(max(option.opts, key=len)).lstrip("-").replace("-", "_")


def _is_list(option: Any) -> bool:
    return bool(getattr(option, "multiple", False)) or option.nargs == -1


def _from_file(path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    import tomllib

    with open(path, "rb") as file:
        try:
            read = tomllib.load(file)
        except ValueError as error:  # includes UnicodeDecodeError
            raise ValueError(f"{path} is not valid TOML: {error}") from None
    for name, value in read.items():
        if name not in options:
            raise ValueError(f"{path}: there is no option {name!r}{_nearest(name, options)}")
        if not _is_valid(options[name], value):
            raise ValueError(f"{path}: {name} must be {_expected(options[name])}, got {_shown(value)}")
    return read


def _nearest(name: str, options: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name.replace("-", "_"), options, 1)
    return f"; did you mean {near[0]}?" if near else "; the options are those of `abound serve --help`, with _ for -"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _from_environment(environment: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or name == CONFIG or not text:
            continue
        option = options.get(name)
        if option is None:  # not an error: Kubernetes sets such variables for a service of the same name
            note(f"abound: {variable} is ignored, because `abound serve` has no such option")
            continue
        value = _parsed(option, text)
        if not _is_valid(option, value):
            expected = "a list, separated by commas" if _is_list(option) else _expected(option)
            raise ValueError(f"{variable} must be {expected}, got {text!r}")
        values[name] = value
    return values


def _parsed(option: Any, text: str) -> Any:
    """Return the value of a variable; the text itself if it is not valid."""
    if _is_list(option):
        return [part.strip() for part in text.split(",") if part.strip()]
    if _kind(option) is bool:
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    read: Callable[[str], Any] = _kind(option)
    try:
        return read(text)
    except ValueError:
        return text


def _kind(option: Any) -> type:
    """Return the type of an option's value, or of each of its values."""
    if getattr(option, "is_flag", False):
        return bool
    return {"int": int, "integer": int, "float": float}.get(option.type.name.partition(" ")[0], str)


def _is_valid(option: Any, value: Any) -> bool:
    if _is_list(option):
        return isinstance(value, list) and len(value) > 0 and all(isinstance(one, str) for one in value)
    kind = _kind(option)
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (kind is not bool and isinstance(value, bool)):
        return False
    choices, lowest, highest = _bounds(option)
    if choices is not None:
        return value in choices
    return (lowest is None or value >= lowest) and (highest is None or value <= highest)


def _bounds(option: Any) -> tuple[list[str] | None, Any, Any]:
    """Return the choices of an option, and its lowest and highest value; None if there are none."""
    choices = getattr(option.type, "choices", None)
    shown = None if choices is None else [str(getattr(one, "value", one)) for one in choices]
    return shown, getattr(option.type, "min", None), getattr(option.type, "max", None)


def _expected(option: Any) -> str:
    """Say what a value must be."""
    if _is_list(option):
        return "a list of texts, such as ['a', 'b']"
    choices, lowest, highest = _bounds(option)
    if choices is not None:
        return "one of " + ", ".join(repr(choice) for choice in choices)
    kind = _kind(option)
    if kind is bool:
        return "true or false"
    if kind is str:
        return "a text in quotes"
    what = "a whole number" if kind is int else "a number"
    if lowest is not None and highest is not None:
        return f"{what} from {lowest:g} to {highest:g}"
    return what if lowest is None else f"{what} of at least {lowest:g}"

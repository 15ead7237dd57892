"""Groups of options that several commands share, as dataclasses."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for Typer in which each dataclass parameter is replaced by one option per field.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int = 1
    ...     height: int = 1
    >>> def draw(name: str, *, size: Size) -> None:
    ...     print(name, size.width * size.height)
    >>> inspect.signature(expand_groups(draw))
    <Signature (name: str, *, width: int = 1, height: int = 1)>
    >>> expand_groups(draw)("box", width=3)
    box 3
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name not in groups:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        kinds = get_type_hints(groups[parameter.name], include_extras=True)
        for field in fields(groups[parameter.name]):
            option = inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=field.default)
            parameters.append(option.replace(annotation=kinds[field.name]))

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        for name, kind in groups.items():
            given = [field.name for field in fields(kind) if field.name in options]
            options[name] = kind(**{field: options.pop(field) for field in given})
        command(*arguments, **options)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run

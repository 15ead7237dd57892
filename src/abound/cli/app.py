"""The application: its commands, and how errors become one sentence."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from abound.cli import (
    convert,
    evaluate,
    explain,
    feedback,
    fit,
    info,
    journal,
    keys,
    learn,
    merge,
    rank,
    rerank,
    serve,
    spark,
    tune,
)
from abound.cli.common import note, sentence
from abound.cli.option_groups import expand_groups
from abound.cli.warning_notes import warnings_as_notes


class Command(TyperCommand):
    """A command that takes --debug as the whole application does, and knows the defaults of a Tagger."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Take --debug out of the arguments, up to a bare --."""
        ends = args.index("--") if "--" in args else len(args)
        if "--debug" in args[:ends]:
            args.remove("--debug")
            ctx.find_root().params["debug"] = True
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the defaults that the Tagger has."""
        if (
            self.name == "fit" and ctx.parent is ctx.find_root()
        ):  # asked for here and not before, because a Tagger takes long to import
            fit.show_defaults(self.params)
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The commands; what goes wrong in one becomes a sentence on stderr and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            with warnings_as_notes():
                result = super().invoke(ctx)
            sys.stdout.flush()  # a pipe that was closed is noticed here, not while Python shuts down
        except BrokenPipeError:
            raise  # typer ends quietly
        except Exception as error:
            is_typers_own = hasattr(error, "exit_code") or isinstance(error, typer.Abort)
            if is_typers_own or ctx.params.get("debug"):
                raise
            note(f"abound: {sentence(error)}")
            raise typer.Exit(1) from None
        return result


app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,  # plain help: it pipes, and needs no import of rich
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"abound {version('abound')}")
        raise typer.Exit


@app.callback(epilog="Example: abound fit docs.jsonl --model subjects && abound rank subjects 'a title'")
def _abound(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")] = False,
) -> None:
    """Rank labels for texts, and learn them online."""


for _module in (fit, learn, rank, feedback, evaluate, tune, explain, info, merge, convert, serve):
    _name = _module.__name__.rpartition(".")[2]
    app.command(cls=Command, epilog=_module.EPILOG)(expand_groups(getattr(_module, _name)))
for _group in (rerank, journal, keys, spark):
    _commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=_group.HELP, epilog=_group.EPILOG)
    for _function, _epilog in _group.COMMANDS:
        _commands.command(_function.__name__.strip("_"), cls=Command, epilog=_epilog)(expand_groups(_function))
    app.add_typer(_commands, name=_group.__name__.rpartition(".")[2])

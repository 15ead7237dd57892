"""The application: its commands, and how an error becomes one sentence."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from abound.cli import (
    backup,
    convert,
    evaluate,
    explain,
    feedback,
    fit,
    forget,
    info,
    journal,
    keys,
    learn,
    merge,
    models,
    pull,
    push,
    rank,
    refit,
    rerank,
    restore,
    serve,
    spark,
    tune,
    vocabulary,
)
from abound.cli.common import note, sentence
from abound.cli.option_groups import expand_groups
from abound.cli.warning_notes import warnings_as_notes


class Command(TyperCommand):
    """A command that accepts --debug, as the application does, and shows the defaults of a Tagger in its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Remove --debug from the arguments before a bare --, and switch it on."""
        ends = args.index("--") if "--" in args else len(args)
        if "--debug" in args[:ends]:
            args.remove("--debug")
            ctx.find_root().params["debug"] = True
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the defaults of a Tagger."""
        if self.name == "fit" and ctx.parent is ctx.find_root():
            fit.show_defaults(self.params)  # only here, because importing a Tagger is slow
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The commands. An error in one of them becomes a sentence on stderr and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            with warnings_as_notes():
                result = super().invoke(ctx)
            sys.stdout.flush()  # detect a closed pipe here, not while Python shuts down
        except BrokenPipeError:
            raise  # typer exits without a message
        except Exception as error:
            is_typers_own = hasattr(error, "exit_code") or isinstance(error, typer.Abort)
            if is_typers_own or ctx.params.get("debug"):
                raise
            note(f"abound: {sentence(error)}")
            raise typer.Exit(1) from None
        return result


app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,  # plain help works in pipes and does not import rich
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from abound.version import __version__, kernel_build

        typer.echo(f"abound {__version__}\n{kernel_build()}")
        raise typer.Exit


@app.callback(epilog="Example: abound fit docs.jsonl --model subjects && abound rank subjects 'a title'")
def _abound(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and the build of the kernels."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. Allowed anywhere on the command line.")
    ] = False,
) -> None:
    """Rank labels for texts, and learn from every correction."""


_MODELS = (fit, learn, rank, feedback, evaluate, tune, explain, info, merge, convert)
for _module in (*_MODELS, serve, refit, forget, backup, restore, push, pull):
    _name = _module.__name__.rpartition(".")[2]
    app.command(cls=Command, epilog=_module.EPILOG)(expand_groups(getattr(_module, _name)))
for _group in (rerank, journal, keys, models, vocabulary, spark):
    _commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=_group.HELP, epilog=_group.EPILOG)
    for _function, _epilog in _group.COMMANDS:
        _commands.command(_function.__name__.strip("_"), cls=Command, epilog=_epilog)(expand_groups(_function))
    app.add_typer(_commands, name=_group.__name__.rpartition(".")[2])

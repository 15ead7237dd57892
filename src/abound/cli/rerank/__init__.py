"""`abound rerank`: learn to rank the documents of queries, one file a command."""

import typer

from abound.cli.rerank import apply, evaluate, fit

EPILOG = "Example: abound rerank fit train.letor --model ranker && abound rerank apply ranker test.letor"


def make_group(command_class: type) -> typer.Typer:
    """Return the group of commands; they are made with the application's class of commands."""
    group = typer.Typer(
        rich_markup_mode=None,
        no_args_is_help=True,
        help="Rank the documents of queries, and learn it by SVM-map.",
        epilog=EPILOG,
    )
    for module, function in ((fit, fit.fit), (apply, apply.apply), (evaluate, evaluate.evaluate)):
        group.command(cls=command_class, epilog=module.EPILOG)(function)
    return group

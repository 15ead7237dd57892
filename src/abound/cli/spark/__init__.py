"""`abound spark`: train and rank on Spark, one file a command."""

import typer

from abound.cli.spark import export, fit, rank

EPILOG = "Example: abound spark fit docs.parquet --model subjects && abound spark rank subjects new.parquet ranked"


def make_group(command_class: type) -> typer.Typer:
    """Return the group of commands; they are made with the application's class of commands."""
    group = typer.Typer(
        rich_markup_mode=None,
        no_args_is_help=True,
        help="Train and rank on a cluster of Spark.",
        epilog=EPILOG,
    )
    for module, function in ((fit, fit.fit), (rank, rank.rank), (export, export.export)):
        group.command(cls=command_class, epilog=module.EPILOG)(function)
    return group

"""`abound pull`: download a model from the Hugging Face Hub."""

from typing import Annotated

import typer

from abound.cli.common import JsonOption, emit, note, show_size, wants_json
from abound.cli.fit import ForceOption
from abound.cli.push import RepoArgument, hide_progress
from abound.cli.targets import lock_target

EPILOG = """\b
Example:
  abound pull library/subjects subjects
  abound pull library/subjects subjects --revision 8d1f0a2c3b4e --force
"""


def pull(
    ctx: typer.Context,
    repo: RepoArgument,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Directory for the model.")],
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="NAME", help="A branch, tag or commit. Default: main.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = None,
) -> None:
    """Download a model from the Hugging Face Hub, and check it before it is written.

    Only the files that the manifest lists are downloaded. They are compared with their checksums, and nothing in them
    is run.
    """
    lock_target(ctx, model, force)
    hide_progress()
    from abound import hub

    pulled = hub.pull(repo, model, revision=revision)
    if wants_json(as_json):
        emit({"model": model, "repo": repo, **pulled._asdict()})
        return
    from abound.cli.tables import facts

    facts(model, [("files", f"{pulled.files:,} ({show_size(pulled.bytes)})"), ("commit", pulled.commit)])
    note(f"saved to {model}; try: abound rank {model} 'a text'")

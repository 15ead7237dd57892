"""The encoder of texts: its options, and what a command prints about it."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from abound.cli.common import note
from abound.cli.vectors import Vectors

if TYPE_CHECKING:
    from abound.cli.inputs import Inputs
    from abound.encoders import VectorEncoder
    from abound.tagger import Tagger

RefusedOption = Annotated[str | None, typer.Option("--embeddings", metavar="ENCODER", hidden=True)]


@dataclass(frozen=True)
class Embedding:
    """The encoder of texts. None means that there is none."""

    embeddings: Annotated[
        str | None,
        typer.Option(
            "--embeddings",
            metavar="ENCODER",
            help="Rank by similar texts, too: wordllama, a directory with an encoder, sentence-transformers:NAME, the "
            "URL of a server of embeddings, or given:N for given vectors of N numbers. With words, similar texts are "
            "found by shared words, and rankings do not change.",
        ),
    ] = None
    download: Annotated[
        bool,
        typer.Option("--download", help="Download a model of sentence-transformers that is not on this machine."),
    ] = False

    def open(self) -> "VectorEncoder | None":
        """Open the encoder, if there is one; it measures how long it takes."""
        if self.embeddings is None:
            if self.download:
                raise ValueError("--download fetches the model of --embeddings sentence-transformers:NAME; name one")
            return None
        from abound.encoders import open_encoder
        from abound.encoders.timed import TimedEncoder
        from abound.errors import ModelError

        what = os.path.abspath(self.embeddings) if os.path.isdir(self.embeddings) else self.embeddings
        try:
            return TimedEncoder(open_encoder(what, download=self.download), what)
        except ModelError as error:
            hint = what.startswith("sentence-transformers:") and not self.download
            raise ModelError(f"{error}; --download fetches it" if hint else str(error)) from None

    def for_rows(self, documents: "Inputs", vectors: Vectors) -> "VectorEncoder | str | None":
        """Return the encoder, given vectors of the length that those of the rows have, or "words"."""
        from abound.encoders.hashed import WORDS

        if self.embeddings == WORDS:
            vectors.refuse("the vectors of --embeddings words are made of the words of texts")
            return WORDS
        encoder = self.open()
        if encoder is not None or not vectors:
            return encoder
        from abound.encoders import GivenVectors

        if documents.is_stream and vectors.vectors is None:
            raise ValueError("stdin is read once: name the length of the vectors with --embeddings given:N")
        n_numbers = documents.find_dimensions()
        if n_numbers is None:
            raise ValueError(f"no row has a vector in the field {vectors.vector_field!r}")
        return GivenVectors(n_numbers)


def note_opinion(tagger: "Tagger", encoder: "VectorEncoder | str | None", *, is_stream: bool) -> None:
    """Print the encoder, its time, and whether the blend of words and vectors is used."""
    from abound.encoders.timed import TimedEncoder

    opinion = tagger.second_opinion
    if opinion is None or encoder is None:
        return
    if isinstance(encoder, str):
        note("similar texts are found by shared words; rankings use the words alone")
        return
    words = f"encoder: {tagger.embeddings_name}, vectors of {opinion.dimensions:,} numbers"
    if isinstance(encoder, TimedEncoder) and encoder.encodes_texts and encoder.n_texts:
        words += f", {1000 * encoder.seconds / encoder.n_texts:.3g} ms per text"
    note(words)
    if is_stream:
        note("rankings are a blend of words and vectors")
    elif opinion.blend.is_used:
        note("rankings are a blend of words and vectors: on held-out rows, it ranks no worse than the words alone")
    else:
        note("rankings use the words alone: on held-out rows, they rank better than the blend with vectors")


def refuse_embeddings(given: str | None, reason: str) -> None:
    """Raise ValueError if --embeddings is given to a command that cannot use it."""
    if given is not None:
        raise ValueError(f"--embeddings cannot be used here: {reason}")

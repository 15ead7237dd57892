"""The vectors of texts in the records of a journal: the writer adds them, and replicas read them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from abound.encoders import VectorEncoder
from abound.errors import AboundError, ModelError
from abound.second_opinion import quantised
from abound.store.journal.records import BandFeedback, Learn, Record, decode_vector, encode_vector, encoder_hash
from abound.tagger import Tagger
from abound.texts import joined


def known_code(record: Learn | BandFeedback, encoder: str | None) -> NDArray[np.int8] | None:
    """Return the vector of a record; None if it has none, or one of another encoder."""
    if record.vector is None or encoder is None:
        return None
    head, numbers = decode_vector(record.vector)
    return np.frombuffer(numbers, np.int8) if head == encoder_hash(encoder) else None


def with_vectors(records: Sequence[Record], encoder: VectorEncoder) -> list[Record]:
    """Return records with the vectors of their texts; a text about which nothing is known has none."""
    found = list(records)
    given = [
        (place, record, joined(record.text))
        for place, record in enumerate(records)
        if isinstance(record, Learn | BandFeedback) and record.text is not None and record.vector is None
    ]
    codes = quantised(encoder.encode([text for _, _, text in given]))
    for (place, record, _), code in zip(given, codes, strict=True):
        if code.any():
            found[place] = replace(record, vector=encode_vector(encoder.name, code.tobytes()))
    return found


def open_encoder_of(tagger: Tagger) -> VectorEncoder | None:
    """Open the encoder of a tagger, if it has one; ModelError with one sentence if that is not possible."""
    try:
        return tagger.vector_encoder
    except (AboundError, ImportError, OSError, ValueError) as error:
        name = tagger.settings.embeddings
        raise ModelError(f"the model needs its encoder {name!r}, which cannot be opened: {error}") from None

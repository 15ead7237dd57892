"""The exceptions that abound raises of its own.

AboundError
    ModelError          a model directory cannot be used
        DamagedModel    what it holds is not what was written
        UnknownFormat   it was written by another version, or is no model at all

Wrong arguments raise ValueError and TypeError, as in scikit-learn.
"""


class AboundError(Exception):
    """Base of everything that abound raises of its own."""


class ModelError(AboundError):
    """A model directory cannot be used."""


class DamagedModel(ModelError):  # noqa: N818  the noun says what was found
    """A model directory does not hold what was written to it."""


class UnknownFormat(ModelError):  # noqa: N818
    """A directory is no model, or one of a format that this version does not know."""

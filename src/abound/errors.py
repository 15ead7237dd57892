"""The exceptions that abound raises of its own.

AboundError
    DataError                a line of a data file cannot be read
    ModelError               a model directory cannot be used
        DamagedModel         what it holds is not what was written
        UnknownFormat        it was written by another version, or is no model at all
    JournalError             a journal cannot be used
        DamagedJournal       what it holds is not what was written
        JournalInUse         another process writes to it
        JournalUnavailable   the disk is full, or failed: nothing was written, and a later try may do
            JournalBusy      too many records wait to be written
            UnappliedRecord  a record is written that could not be applied, and nothing is learnt after it
        CompactedAway        records were asked for that are not kept any more
    RefusedRecord            what was to be learnt cannot be, and was not written down
        ReusedKey            its idempotency key was given to something else before
        RecordTooLarge       it would take too long to learn
    ServerError              a server refused what it was asked
    ServerUnreachable        a server does not answer

and warnings:

AboundWarning
    LabelsWarning            labels are not what a caller most likely meant
    FormatWarning            something about a data file was guessed
    EmptyRanking             no word of a text is known, so it has no ranking

Wrong arguments raise ValueError and TypeError, as in scikit-learn.
"""


class AboundError(Exception):
    """Base of everything that abound raises of its own."""


class DataError(AboundError):
    """A data file, or one line of it, cannot be read.

    Attributes
    ----------
    file : str
        Path as the caller gave it, or "<stdin>".
    line : int
        Line number from 1; in a Parquet file the row number.
    reason : str
        One sentence: what is wrong, and what would be right.
    """

    def __init__(self, file: str, line: int, reason: str) -> None:
        # All three go to Exception, so that copying and pickling between processes rebuild the error.
        super().__init__(file, line, reason)
        self.file = file
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class ModelError(AboundError):
    """A model directory cannot be used."""


class DamagedModel(ModelError):  # noqa: N818  the noun says what was found
    """A model directory does not hold what was written to it."""


class UnknownFormat(ModelError):  # noqa: N818
    """A directory is no model, or one of a format that this version does not know."""


class JournalError(AboundError):
    """A journal cannot be used."""


class DamagedJournal(JournalError):  # noqa: N818
    """A journal does not hold what was written to it."""


class JournalInUse(JournalError):  # noqa: N818
    """A journal has one writer, and another process is it."""


class JournalUnavailable(JournalError):  # noqa: N818
    """A journal could not be read or written just now; nothing of what was to be written is in it."""


class JournalBusy(JournalUnavailable):
    """Too many records wait to be written; nothing was."""


class UnappliedRecord(JournalUnavailable):
    """A record of a journal could not be applied, so that nothing after it can be learnt."""


class CompactedAway(JournalError):  # noqa: N818
    """Records were asked for that a later snapshot has made needless, and that are gone."""


class RefusedRecord(AboundError):  # noqa: N818
    """A record cannot be applied, and was refused before it was written down."""


class ReusedKey(RefusedRecord):
    """An idempotency key came again with something else than before."""


class RecordTooLarge(RefusedRecord):
    """A record has too many words for so many labels."""


class ServerError(AboundError):
    """A server answered that it cannot do what it was asked.

    Attributes
    ----------
    status : int
        Of the HTTP answer.
    detail : str
        One sentence: what is wrong, and what would be right.
    retry_after : float or None
        Seconds after which a second try may do better.
    """

    def __init__(self, status: int, detail: str, retry_after: float | None = None) -> None:
        super().__init__(status, detail, retry_after)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"the server answers {self.status}: {self.detail}"


class ServerUnreachable(AboundError):  # noqa: N818
    """A server does not answer, or not any more."""


class AboundWarning(UserWarning):
    """Base of everything that abound warns of; the command line prints them as notes."""


class LabelsWarning(AboundWarning):
    """There are no labels, or lists of labels were taken for single ones."""


class FormatWarning(AboundWarning):
    """Something about a data file was guessed from what it holds."""


class EmptyRanking(AboundWarning):
    """A text has no ranking, because none of its words is known."""

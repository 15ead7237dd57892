"""Exceptions of abound.

AboundError
    DataError                a line of a data file cannot be read
    ModelError               a model directory cannot be used
        DamagedModel         its content is not what was written
        UnknownFormat        it was written by another version, or is not a model
        PlaceUnavailable     the place of snapshots cannot be read or written, and a later attempt may succeed
    JournalError             a journal cannot be used
        DamagedJournal       its content is not what was written
            LostRecords      a database does not have records that it has committed
        JournalInUse         another process writes to it
        JournalUnavailable   the disk is full or failed: nothing was written, and a later attempt may succeed
            JournalBusy      too many records wait to be written
            UnappliedRecord  a written record could not be applied, and nothing after it is learned
        CompactedAway        the requested records are no longer kept
    RefusedRecord            a record cannot be learned, and was not written
        ReusedKey            its idempotency key was used for something else before
        RecordTooLarge       it would take too long to learn
    NotCalibrated            a decision was asked of a model that has no probabilities
    ServerError              a server refused a request
    ServerUnreachable        a server does not answer
    HubError                 the Hugging Face Hub refused a request or does not answer
    EncoderUnavailable       a server of embeddings refused a request or does not answer

and warnings:

AboundWarning
    LabelsWarning            labels are probably not what the caller meant
    FormatWarning            something about a data file was guessed
    DocumentsWarning         files of a directory were skipped, or documents are not what they seem
    EmptyRanking             no word of a text is known, so it has no ranking
    MissingVectors           a text has no vector, so it is known by its words alone
    UnreachablePrecision     no label can be assigned with the precision that was asked for

Invalid arguments raise ValueError and TypeError, as in scikit-learn.
"""


class AboundError(Exception):
    """Base class of the exceptions of abound."""


class DataError(AboundError):
    """A data file, or one line of it, cannot be read.

    Attributes
    ----------
    file : str
        Path as the caller gave it, or "<stdin>".
    line : int
        Line number from 1; in a Parquet file the row number. 0 if the file is one document.
    reason : str
        One sentence: what is wrong, and what would be right.
    """

    def __init__(self, file: str, line: int, reason: str) -> None:
        # All three are passed to Exception, so that copying and pickling rebuild the error.
        super().__init__(file, line, reason)
        self.file = file
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}"


class ModelError(AboundError):
    """A model directory cannot be used."""


class DamagedModel(ModelError):  # noqa: N818  named by what was found
    """The content of a model directory is not what was written to it."""


class UnknownFormat(ModelError):  # noqa: N818
    """A directory is not a model, or its format is unknown to this version."""


class PlaceUnavailable(ModelError):  # noqa: N818
    """A place of model directories that several machines reach cannot be read or written."""


class JournalError(AboundError):
    """A journal cannot be used."""


class BackupError(AboundError):
    """A backup cannot be written or restored."""


class DamagedJournal(JournalError):  # noqa: N818
    """The content of a journal is not what was written to it."""


class LostRecords(DamagedJournal):
    """A database does not have records that it has committed, for example after a failover that lost some."""


class JournalInUse(JournalError):  # noqa: N818
    """Another process writes to a journal, which can have only one writer."""


class JournalUnavailable(JournalError):  # noqa: N818
    """A journal could not be read or written; nothing was written."""


class JournalMoved(JournalError):  # noqa: N818
    """Another server has appended to a journal meanwhile; nothing was written."""


class JournalBusy(JournalUnavailable):
    """Too many records wait to be written; nothing was written."""


class UnappliedRecord(JournalUnavailable):
    """A record of a journal could not be applied, so that nothing after it can be learned."""


class CompactedAway(JournalError):  # noqa: N818
    """The requested records were removed, because a later snapshot contains them."""


class RefusedRecord(AboundError):  # noqa: N818
    """A record cannot be applied, and was refused before it was written."""


class ReusedKey(RefusedRecord):
    """An idempotency key was used again with a different record."""


class RecordTooLarge(RefusedRecord):
    """A record has too many words for its number of labels."""


class NotCalibrated(AboundError, ValueError):  # noqa: N818
    """A decision was asked of a model that has no probabilities."""


class ServerError(AboundError):
    """A server refused a request.

    Attributes
    ----------
    status : int
        The HTTP status code.
    detail : str
        One sentence: what is wrong, and what would be right.
    retry_after : float or None
        Seconds after which a retry may succeed.
    """

    def __init__(self, status: int, detail: str, retry_after: float | None = None) -> None:
        super().__init__(status, detail, retry_after)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"the server answered {self.status}: {self.detail}"


class ServerUnreachable(AboundError):  # noqa: N818
    """A server does not answer, or has stopped answering."""


class HubError(AboundError):
    """The Hugging Face Hub refused a request, or does not answer."""


class EncoderUnavailable(AboundError):  # noqa: N818
    """A server of embeddings refused a request, or does not answer."""


class AboundWarning(UserWarning):
    """Base class of the warnings of abound; the command line prints them as notes."""


class LabelsWarning(AboundWarning):
    """There are no labels, or lists of labels were treated as single labels."""


class FormatWarning(AboundWarning):
    """Something about a data file was guessed from its content."""


class FieldsWarning(AboundWarning):
    """A text has fields that the model does not have."""


class DocumentsWarning(AboundWarning):
    """Files of a directory were skipped, or documents have no text or an unknown encoding."""


class EmptyRanking(AboundWarning):
    """A text has no ranking, because none of its words is known."""


class MissingVectors(AboundWarning):
    """A text has no vector, so it is known by its words alone."""


class JournalWarning(AboundWarning):
    """A server has another journal than before, or an earlier state of it."""


class UnreachablePrecision(AboundWarning):
    """No label can be assigned with the precision that was asked for."""


def pip_install(extra: str) -> str:
    """Return how an extra is installed: from a package index, and in a checkout of the repository."""
    return f"pip install 'abound[{extra}]', or in a checkout pip install '.[{extra}]'"


def missing_extra(need: str, extra: str, package: str | None = None) -> ImportError:
    """Return the error of an optional package that is not installed.

    Parameters
    ----------
    need : str
        A sentence that says what needs which package.
    extra : str
        The extra of abound that contains the package.
    package : str, optional
        The name of the package, for programs that look at it.
    """
    return ImportError(f"{need}: {pip_install(extra)}", name=package)

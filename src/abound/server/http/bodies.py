"""What is asked and answered, as types: they parse, they encode, and the OpenAPI document is made from them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_LABELS = 1000  # of a ranking
Text = Annotated[str, Meta(description="A text in any language.")]
Label = Annotated[str, Meta(min_length=1, max_length=1000)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float
Labels = Annotated[tuple[Label, ...], Meta(max_length=10_000)]
# Far beyond any weight of a word, and small enough for sums of all to be finite.
Weight = Annotated[float, Meta(ge=-1e9, le=1e9)]
K = Annotated[int, Meta(ge=1, le=MAX_LABELS, description="The most labels of a ranking.")]
Sequence = Annotated[int, Meta(ge=0, description="The last record that the answer knows.")]


class _Request(Struct, forbid_unknown_fields=True):
    pass


class _Response(Struct, omit_defaults=True):
    pass


# -- ranking -----------------------------------------------------------------------------------------


class RankRequest(_Request):
    """A text or features whose labels are to be ranked."""

    text: Text | UnsetType = UNSET
    features: Annotated[dict[str, Weight], Meta(max_length=100_000)] | UnsetType = UNSET
    k: K = 10
    threshold: float | None = None
    bands: bool = False
    explain: bool = False


class BatchRequest(_Request):
    """Texts whose labels are to be ranked."""

    texts: Annotated[list[Text], Meta(max_length=100_000)]
    k: K = 10
    threshold: float | None = None
    bands: bool = False


class WordVoted(_Response):
    """A word of a text and its vote."""

    word: str
    vote: float
    spans: list[tuple[int, int]] | UnsetType = UNSET


class RankedLabel(_Response):
    """A label of a ranking; rank 1 is best."""

    label: str | int | float
    score: float
    rank: int
    name: str | UnsetType = UNSET
    band: str | UnsetType = UNSET
    probability: float | UnsetType = UNSET
    words: list[WordVoted] | UnsetType = UNSET
    prior: float | UnsetType = UNSET


class Ranked(_Response):
    """The ranked labels of a text; a note says why there are none."""

    sequence: Sequence
    labels: list[RankedLabel]
    note: str | UnsetType = UNSET


class BatchRanked(_Response):
    """The ranked labels of texts."""

    sequence: Sequence
    results: list[list[RankedLabel]]


class ExplainRequest(_Request):
    """A text and the label whose reasons are asked for."""

    text: Text
    label: Label


class Explained(_Response):
    """The words that speak for a label; their votes, and what any text has for it, sum to its score."""

    sequence: Sequence
    label: str | int | float
    score: float
    words: list[WordVoted]
    prior: float = 0.0


# -- teaching ----------------------------------------------------------------------------------------


class LearnRequest(_Request):
    """A text and what a person says of its labels."""

    text: Text
    accepted: Labels = ()
    rejected: Labels = ()
    added: Labels = ()
    key: Annotated[str, Meta(min_length=1, max_length=200, description="As the header Idempotency-Key.")] | None = None


class Learnt(_Response):
    """Where in the journal a record stands, and whether it was there before."""

    sequence: Sequence
    repeated: bool


class FeedbackRequest(_Request):
    """The band in which a label was shown, and the one in which it belongs."""

    label: Label
    score: float
    shown: Annotated[str, Meta(min_length=1, max_length=100)]
    wanted: Annotated[str, Meta(min_length=1, max_length=100)]


class Noted(_Response):
    """Where in the journal a record stands."""

    sequence: Sequence


# -- labels ------------------------------------------------------------------------------------------


class LabelsRequest(_Request):
    """The beginning of a word in a label's name."""

    prefix: Annotated[str, Meta(max_length=1000)] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LABELS)] = 20


class FoundLabel(_Response):
    """A label and how many texts it had."""

    label: str | int | float
    count: int
    name: str | UnsetType = UNSET


class FoundLabels(_Response):
    """The most frequent labels that were found, and how many there are."""

    sequence: Sequence
    labels: list[FoundLabel]
    total: int


class AddRequest(_Request):
    """A label that is to be known, and what people call it."""

    label: Label
    names: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=1000)], ...], Meta(max_length=100)] = ()


class RenameRequest(_Request):
    """A label and its new name."""

    label: Label
    to: Label


class MergeRequest(_Request):
    """A label and the one with which it becomes one."""

    label: Label
    into: Label


class RetireRequest(_Request):
    """A label that is not to be ranked any more."""

    label: Label


class LabelEditRequest(_Request):
    """One change of the labels; with `dry_run` it is only checked."""

    add: AddRequest | UnsetType = UNSET
    rename: RenameRequest | UnsetType = UNSET
    merge: MergeRequest | UnsetType = UNSET
    retire: RetireRequest | UnsetType = UNSET
    dry_run: bool = False
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Changes(_Response):
    """How many texts and words a change concerns."""

    texts: int
    words: int


class Changed(_Response):
    """What a change of the labels concerned; without a sequence if it was only tried."""

    changes: Changes
    sequence: int | UnsetType = UNSET


# -- the model ---------------------------------------------------------------------------------------


class ModelRequest(_Request):
    """Whether the hash of the state is wanted; it takes long for a large model."""

    hash: bool = False


class About(_Response):
    """What is served."""

    kind: str
    ranker: str
    rows: int
    labels: int
    features: int
    edges: int
    bytes: int
    sequence: Sequence
    closed: bool
    version: str
    bands: bool
    learns_wrong: bool
    state_hash: str | UnsetType = UNSET


class NoParameters(_Request):
    """Nothing is asked."""


class State(_Response):
    """Whether the server lives, or is ready to answer; `detail` says why one that ranks cannot learn."""

    status: str
    sequence: int
    detail: str | UnsetType = UNSET

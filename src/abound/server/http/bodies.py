"""The types of requests and responses; they parse, encode, and define the OpenAPI document."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MAX_LABELS = 1000  # of a ranking
Fields = Annotated[dict[str, str], Meta(max_length=100, description="The texts of the document's fields, by name.")]
Text = Annotated[str, Meta(description="A text in any language.")] | Fields
Label = Annotated[str, Meta(min_length=1, max_length=1000)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float
Labels = Annotated[tuple[Label, ...], Meta(max_length=10_000)]
# Far beyond any weight of a word, and small enough for finite sums.
Weight = Annotated[float, Meta(ge=-1e9, le=1e9)]
K = Annotated[int, Meta(ge=1, le=MAX_LABELS, description="Maximum number of labels in a ranking.")]
Sequence = Annotated[int, Meta(ge=0, description="The last record that the answer reflects.")]
Sequences = (
    Annotated[list[int], Meta(description="The sequence of each result, if records were applied between them.")]
    | UnsetType
)


Voters = (
    Annotated[
        list[str],
        Meta(description="Who voted: `words`, `embeddings` and `second opinion`. Left out if only the words did."),
    ]
    | UnsetType
)
VotersOfEach = (
    Annotated[list[list[str]], Meta(description="Who voted on each result. Left out if only the words did.")]
    | UnsetType
)
Only = Annotated[
    Labels | None,
    Meta(
        description="Rank only these: labels or their names, each with all labels below it; `=` and a label alone; or "
        "schemes."
    ),
]
Without = Annotated[Labels, Meta(description="Do not rank these labels, branches or schemes.")]
KeepParents = Annotated[
    bool | None,
    Meta(
        description="Whether a label may be ranked, or marked to apply, together with one above it in the hierarchy. "
        "By default, both may be ranked, but only the better of them is to be applied."
    ),
]
Paths = Annotated[bool, Meta(description="Return the path from the top concept to each label.")]


class _Request(Struct, forbid_unknown_fields=True):
    pass


class _Response(Struct, omit_defaults=True):
    pass


# -- ranking -----------------------------------------------------------------------------------------


class RankRequest(_Request):
    """A text or features to rank labels for."""

    text: Text | UnsetType = UNSET
    features: Annotated[dict[str, Weight], Meta(max_length=100_000)] | UnsetType = UNSET
    k: K = 10
    threshold: float | None = None
    bands: bool = False
    assign: Annotated[bool, Meta(description="Mark the labels to apply; see `/v1/assign`.")] = False
    explain: bool = False
    only: Only = None
    without: Without = ()
    keep_parents: KeepParents = None
    paths: Paths = False


class BatchRequest(_Request):
    """Texts to rank labels for."""

    texts: Annotated[list[Text], Meta(max_length=100_000)]
    k: K = 10
    threshold: float | None = None
    bands: bool = False
    only: Only = None
    without: Without = ()
    keep_parents: KeepParents = None
    paths: Paths = False


class WordVoted(_Response):
    """A word of a text and its vote."""

    word: str
    vote: float
    spans: list[tuple[int, int]] | UnsetType = UNSET
    fields: (
        Annotated[list[str], Meta(description="The field of each position, if the text has fields.")] | UnsetType
    ) = UNSET


class PathLabel(_Response):
    """A label on the path from a top concept to a ranked label."""

    label: str
    name: str | UnsetType = UNSET


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
    assigned: Annotated[bool, Meta(description="Whether to apply it, if that was asked for.")] | UnsetType = UNSET
    path: Annotated[list[PathLabel], Meta(description="The labels above it, the top concept first.")] | UnsetType = (
        UNSET
    )


class Ranked(_Response):
    """The ranked labels of a text; if there are none, `note` says why."""

    sequence: Sequence
    labels: list[RankedLabel]
    note: str | UnsetType = UNSET
    voters: Voters = UNSET


class BatchRanked(_Response):
    """The ranked labels of texts."""

    sequence: Sequence
    results: list[list[RankedLabel]]
    sequences: Sequences = UNSET
    voters: VotersOfEach = UNSET


Share = Annotated[float, Meta(gt=0, le=1)]


class AssignRequest(_Request):
    """A text or texts to assign labels to; give a threshold, a precision, or neither for the best expected F1."""

    text: Text | UnsetType = UNSET
    texts: Annotated[list[Text], Meta(max_length=100_000)] | UnsetType = UNSET
    threshold: Annotated[Share, Meta(description="Assign labels with at least this probability.")] | None = None
    precision: Annotated[Share, Meta(description="Assign labels so that this share of them is right.")] | None = None
    only: Only = None
    without: Without = ()
    keep_parents: KeepParents = None
    paths: Paths = False


class Assigned(_Response):
    """The labels to apply to each text; if the precision cannot be reached, there are none, and `note` says so."""

    sequence: Sequence
    results: list[list[RankedLabel]]
    note: str | UnsetType = UNSET
    sequences: Sequences = UNSET
    voters: VotersOfEach = UNSET


class ShownLabel(_Response):
    """A label, and its name if it has one."""

    label: str | int | float
    name: str | UnsetType = UNSET


class SimilarText(_Response):
    """A learned text that is similar to another one: its beginning, its labels, and the similarity from 0 to 1."""

    text: Annotated[str, Meta(description="At most 200 characters.")]
    labels: list[ShownLabel]
    similarity: float


class SimilarRequest(_Request):
    """A text to find similar ones for."""

    text: Text
    k: Annotated[int, Meta(ge=1, le=100, description="Maximum number of texts.")] = 3


class SimilarTexts(_Response):
    """The learned texts that are most similar, the best first."""

    sequence: Sequence
    texts: list[SimilarText]


class ExplainRequest(_Request):
    """A text and the label to explain."""

    text: Text
    label: Label


class Explained(_Response):
    """The words that vote for a label; the score is the sum of their votes and `prior`, the label's bias."""

    sequence: Sequence
    label: str | int | float
    score: float
    words: list[WordVoted]
    prior: float = 0.0
    similar: (
        Annotated[
            list[SimilarText],
            Meta(description="Up to three similar texts that have the label, if the model shows similar texts."),
        ]
        | UnsetType
    ) = UNSET


# -- teaching ----------------------------------------------------------------------------------------


class LearnRequest(_Request):
    """A text and a person's decisions on its labels."""

    text: Text
    accepted: Labels = ()
    rejected: Labels = ()
    added: Labels = ()
    labels_are: Annotated[
        Literal["ids", "names"] | None,
        Meta(
            description="How labels are given. By default, a label may be given by its id or by a name that belongs to "
            "no other label; with `names`, a name wins over an id."
        ),
    ] = None
    key: Annotated[str, Meta(min_length=1, max_length=200, description="As the header Idempotency-Key.")] | None = None


class RefitRequest(_Request):
    """The name of a base model in the home's directory `bases`."""

    base: Annotated[str, Meta(min_length=1, max_length=64)]


class Learned(_Response):
    """The sequence of a record in the journal, and whether it had already been written."""

    sequence: Sequence
    repeated: bool
    new_labels: Annotated[list[str | int | float], Meta(description="The labels that this record made.")] = []
    resolved: Annotated[
        dict[str, str | int | float], Meta(description="The labels that were given by their names, by name.")
    ] = {}


class FeedbackRequest(_Request):
    """The band in which a label was shown for a text, and the one in which it belongs.

    This teaches the probabilities and the bands, not the ranking. Without a text, it is only counted.
    """

    label: Label
    score: float
    shown: Annotated[str, Meta(min_length=1, max_length=100)]
    wanted: Annotated[str, Meta(min_length=1, max_length=100, description="`hide` if the label is wrong.")]
    text: Text | UnsetType = UNSET


class Noted(_Response):
    """The sequence of a record in the journal."""

    sequence: Sequence


# -- labels ------------------------------------------------------------------------------------------


Query = Annotated[
    str,
    Meta(
        max_length=1000,
        description="Words in any order; each must be the beginning of a word in a name of the label, which may be a "
        "former name, or that of a label that was merged into it.",
    ),
]


class LabelsRequest(_Request):
    """Which labels to return, and in which order."""

    query: Query = ""
    prefix: Annotated[str, Meta(max_length=1000, description="The former name of `query`.")] = ""
    sort: Annotated[
        Literal["frequent", "name", "worst", "best", "rejected", "recent"],
        Meta(
            description="By number of texts, by name, by F1 (`worst` or `best` first; needs `abound serve --quality`), "
            "by the lower end of the 95% interval of `rejected`, the highest first, or by the last correction."
        ),
    ] = "frequent"
    offset: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_LABELS)] = 20
    worst_first: Annotated[bool, Meta(description="The former name of `sort=worst`.")] = False


class CompletionRequest(_Request):
    """A text, and the beginning of what a person types to find a label for it."""

    text: Text
    query: Query = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LABELS)] = 20


class Quality(_Response):
    """How well a label is assigned, measured by `abound evaluate` on texts that were not learned."""

    support: Annotated[int, Meta(description="Texts that have the label.")]
    assigned: Annotated[int, Meta(description="Texts that it was assigned to.")]
    f1: float
    precision: Annotated[float, Meta(description="Share of the assignments that are right.")] | UnsetType = UNSET
    recall: Annotated[float, Meta(description="Share of its texts that it was assigned to.")] | UnsetType = UNSET
    average_precision: float | UnsetType = UNSET
    confused_with: Annotated[str, Meta(description="The label that was assigned instead.")] | UnsetType = UNSET
    confused_name: str | UnsetType = UNSET
    confused_rows: int = 0


class FoundLabel(_Response):
    """A label, the number of its texts, its quality if it was measured, and what people decided on it."""

    label: str | int | float
    count: int
    name: str | UnsetType = UNSET
    quality: Quality | UnsetType = UNSET
    found_by: (
        Annotated[
            str,
            Meta(description="The name that was found, if it is another one than the label's: such as a former one."),
        ]
        | UnsetType
    ) = UNSET
    rejected: (
        Annotated[
            float,
            Meta(
                description="Of those among the last 1,000 corrections whose text had it in the first ten labels "
                "before learning, the share in which it was rejected or not chosen. A correction with only rejected "
                "labels counts for these alone."
            ),
        ]
        | UnsetType
    ) = UNSET
    offered: Annotated[int, Meta(description="The number of these corrections.")] | UnsetType = UNSET
    changed: Annotated[str, Meta(description="When it was last accepted, added or rejected.")] | UnsetType = UNSET
    score: Annotated[float, Meta(description="Its score for the text, if it has a vote.")] | UnsetType = UNSET


class FoundLabels(_Response):
    """Matching labels in the asked order, and the number of all matching labels."""

    sequence: Sequence
    labels: list[FoundLabel]
    total: int
    rated: Annotated[bool, Meta(description="Whether the quality of labels was measured.")] = False


ShownNames = Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=1000)], ...], Meta(max_length=100)]


class AddRequest(_Request):
    """A label to add, and its names for people."""

    label: Label
    names: ShownNames = ()


class NameRequest(_Request):
    """A label and its new names for people, the preferred one first."""

    label: Label
    names: ShownNames
    former: Annotated[ShownNames, Meta(description="More names that are found in searches, but not shown.")] = ()


class RenameRequest(_Request):
    """A label and its new id; its names for people stay."""

    label: Label
    to: Label


class MergeRequest(_Request):
    """A label and the label to merge it into."""

    label: Label
    into: Label


class RetireRequest(_Request):
    """A label to retire."""

    label: Label


class MoveRequest(_Request):
    """A label, and its broader labels in the hierarchy instead of those that it has."""

    label: Label
    broader: Annotated[tuple[Label, ...], Meta(max_length=1000)]
    schemes: Annotated[ShownNames, Meta(description="Its concept schemes, if they change.")] | UnsetType = UNSET


class OneEdit(_Request):
    """One label edit: exactly one of the fields."""

    add: AddRequest | UnsetType = UNSET
    name: NameRequest | UnsetType = UNSET
    rename: RenameRequest | UnsetType = UNSET
    merge: MergeRequest | UnsetType = UNSET
    retire: RetireRequest | UnsetType = UNSET
    move: MoveRequest | UnsetType = UNSET


class LabelEditRequest(OneEdit):
    """One label edit, or several as one record: all of them are applied, or none. `dry_run` only validates them."""

    edits: Annotated[list[OneEdit], Meta(min_length=1, max_length=50_000)] | UnsetType = UNSET
    dry_run: bool = False
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Changes(_Response):
    """How many texts and words a label edit affects."""

    texts: int
    words: int


class Changed(_Response):
    """What label edits affect; without a sequence if it was a dry run."""

    changes: Changes
    sequence: int | UnsetType = UNSET
    names: (
        Annotated[list[str], Meta(description="The names of the edited label after a single edit, as they are shown.")]
        | UnsetType
    ) = UNSET


# -- the model ---------------------------------------------------------------------------------------


class ModelRequest(_Request):
    """Whether to compute the hash of the state, which takes long for a large model."""

    hash: bool = False


class About(_Response):
    """The served model."""

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
    name: Annotated[str, Meta(description="That of its directory, or of `abound serve --name`.")]
    explained_bytes: Annotated[int, Meta(description="The longest text that can be ranked with `explain`.")]
    similar: Annotated[bool, Meta(description="Whether it shows similar texts; see `/v1/similar`.")] = False
    fitted: Annotated[str, Meta(description="When the model was written.")] | UnsetType = UNSET
    last_correction: Annotated[str, Meta(description="When the last correction was learned.")] | UnsetType = UNSET
    examples: Annotated[
        list[str], Meta(description="Short texts of the training data or, if it has none, of the last corrections.")
    ] = []
    fields: Annotated[list[str], Meta(description="The fields of the model's texts.")] | UnsetType = UNSET
    state_hash: str | UnsetType = UNSET


class FileRequest(_Request):
    """A file: its media type and encoding by the header Content-Type, and the bytes of the body."""

    media_type: str
    charset: str | None
    body: bytes


class FileText(_Response):
    """The text of a file; if there is none, `note` says why."""

    text: str
    is_cut: Annotated[bool, Meta(description="Whether the file has more text than can be ranked.")] = False
    note: str | UnsetType = UNSET


class NoParameters(_Request):
    """No parameters."""


class State(_Response):
    """Whether the server is alive or ready; if it ranks but cannot learn, `detail` says why."""

    status: str
    sequence: int
    detail: str | UnsetType = UNSET

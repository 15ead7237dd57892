"""The types of requests and responses about shared queues."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from abound.server.http.bodies import Label, Labels, Text

QueueName = Annotated[str, Meta(min_length=1, max_length=200)]
HolderId = Annotated[
    str, Meta(min_length=1, max_length=100, description="A random id of the browser or program that holds the text.")
]
ItemId = Annotated[int, Meta(ge=1, le=1 << 60, description="The number of a text, as `next` returned it.")]
Short = Annotated[str, Meta(max_length=1000)]
Source = Annotated[
    str, Meta(max_length=10_000, description="Where it is from, or its other columns as JSON, which the page shows.")
]
State = Literal["open", "leased", "review", "done", "skipped", "differs"]


class _Request(Struct, forbid_unknown_fields=True):
    pass


class _Response(Struct, omit_defaults=True):
    pass


class QueuedText(_Request):
    """A text to decide, the caller's id of it, and where it is from."""

    text: Text
    id: Short | None = None
    source: Source | None = None


class QueueRequest(_Request):
    """A queue to create, or texts to append to it; what is left out stays as it is."""

    name: QueueName
    texts: Annotated[list[QueuedText], Meta(max_length=10_000)] = []
    guidelines: Annotated[str, Meta(max_length=20_000, description="Shown beside each text.")] | None = None
    reviews: Annotated[int, Meta(ge=0, le=1, description="How many other people decide each text again.")] | None = None


class QueueAdded(_Response):
    """How many texts a queue has now, and how many were added."""

    sequence: int
    name: str
    total: int
    added: int


class NamedQueue(_Request):
    """The name of a queue."""

    name: QueueName


class QueueRemoved(_Response):
    """How many texts were removed with their queue."""

    sequence: int
    name: str
    removed: int


class NoQueue(_Request):
    """No parameters."""


class Agreement(_Response):
    """How far two people agree on the texts that both decided.

    `mean` is the mean over texts of 2|A and B| / (|A| + |B|), where A and B are the labels of the two, and `equal` the
    share of texts with the same labels.
    """

    texts: int
    mean: float
    equal: float


class Counts(_Response, omit_defaults=False):
    """The number of texts by state.

    `open` texts wait for a decision, `leased` ones are held by somebody, `review` ones wait for a second person, and
    `differs` counts those of `done` on which two people decided differently.
    """

    total: int
    open: int
    leased: int
    review: int
    done: int
    skipped: int
    differs: int


class Queue(_Response):
    """A queue."""

    name: str
    guidelines: str
    reviews: int
    created: str
    counts: Counts
    agreement: Agreement | UnsetType = UNSET


class QueueList(_Response):
    """All queues."""

    sequence: int
    queues: list[Queue]


class ItemsRequest(_Request):
    """Which texts of a queue to return."""

    name: QueueName
    state: State | None = None
    search: Annotated[str, Meta(max_length=1000, description="Words that the text, its id or its source has.")] = ""
    offset: Annotated[int, Meta(ge=0, le=1 << 30)] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class NamedLabel(_Response):
    """A label with its name."""

    label: str | int | float
    name: str | UnsetType = UNSET


class QueueDecision(_Response):
    """What a person decided on a text; `record` is the number of the correction, if one was taught."""

    time: str
    labels: list[NamedLabel]
    rejected: list[NamedLabel] = []
    review: bool = False
    none_fits: bool = False
    skip: bool = False
    who: str | None = None
    record: int | None = None


class QueueItem(_Response):
    """A text of a queue; decisions are shown when it is done, and `until` is the end of a lease."""

    item: int
    text: str | dict[str, str]
    state: State
    id: str | None = None
    source: str | None = None
    who: Annotated[str | None, Meta(description="Who holds it, if it is leased.")] = None
    until: str | UnsetType = UNSET
    review: Annotated[bool, Meta(description="Whether this is the second decision.")] = False
    agreement: float | None = None
    decisions: list[QueueDecision] = []


class QueueItems(_Response):
    """Texts of a queue, and how many match."""

    sequence: int
    total: int
    items: list[QueueItem]


class NextRequest(_Request):
    """Who asks for a text.

    With `after`, the next one after that text; with `item`, that text, whose lease is renewed if the holder has it.
    """

    name: QueueName
    holder: HolderId
    after: ItemId | None = None
    item: ItemId | None = None


class NextText(_Response):
    """The text to decide, leased to the holder; if there is none, `note` says why."""

    sequence: int
    counts: Counts
    item: QueueItem | UnsetType = UNSET
    note: str | UnsetType = UNSET


class HeldRequest(_Request):
    """A text that the holder gives up, or opens again."""

    name: QueueName
    item: ItemId
    holder: HolderId


class Released(_Response):
    """Whether the holder had the text."""

    sequence: int
    released: bool


class DecideRequest(_Request):
    """The decisions on a text that the holder has leased: as for `/v1/learn`, or `skip`, or `none_fits`."""

    name: QueueName
    item: ItemId
    holder: HolderId
    accepted: Labels = ()
    rejected: Labels = ()
    added: Labels = ()
    skip: bool = False
    none_fits: Annotated[bool, Meta(description="No label fits; only `rejected` labels are taught.")] = False


class Decided(_Response):
    """The state of the text afterwards, and the number of the correction, if one was taught."""

    sequence: int
    item: int
    state: State
    record: int | None = None
    repeated: bool = False
    new_labels: list[Label] = []


class ExportRequest(_Request):
    """A queue, and the format: JSON lines or CSV."""

    name: QueueName
    format: Literal["jsonl", "csv"] = "jsonl"


class ForgetQueuedRequest(_Request):
    """Which texts of all queues to remove: those that contain a text, and that a person decided or holds."""

    who: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    text: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    dry_run: Annotated[bool, Meta(description="Only count the texts that match.")] = False


class ForgottenTexts(_Response):
    """How many texts matched, and how many were removed: all of them, or none with `dry_run`."""

    sequence: int
    removed: int
    matching: int

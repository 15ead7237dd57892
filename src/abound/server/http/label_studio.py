"""Label Studio's ML backend: it shows predictions for the tasks of a project, and teaches what people annotate."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from abound.calibration.decisions import CONSIDERED
from abound.hierarchy.links import EXACTLY, Chooser
from abound.server.deliveries import DELETED, Annotation, Change, Delivery
from abound.server.http.about import ready
from abound.server.http.bodies import NoParameters
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.labelling import Control, Option, read_config
from abound.server.http.limits import BATCH_BYTES, check_ranked, check_text
from abound.server.http.problems import Problem
from abound.server.http.service import Service
from abound.server.http.suggesting import likelihood
from abound.server.introspection import find_label
from abound.server.listing import microseconds
from abound.server.queries import TextRow, rank_and_assign
from abound.server.replica import Replica
from abound.store.journal.records import Learn
from abound.store.names import Name
from abound.tagger import Entry
from abound.texts import Text

ONLY_FIELD = "$undefined$"  # Label Studio's name for the text of a task that was imported without names of fields
NEW = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED")  # others undo what they supersede by one more record
CREATED = (*NEW, "ANNOTATION_UPDATED")
REMOVED = "ANNOTATIONS_DELETED"
Number = Annotated[int, Meta(ge=0, le=1 << 60)]
Moment = Annotated[str, Meta(min_length=1, max_length=40)]
Json = dict[str, Any]


class Health(Struct, frozen=True):
    """The state of the server and the name of the model, in the words of Label Studio."""

    status: str
    model_class: str


class SetupRequest(Struct, frozen=True):
    """A project and its labelling config; its token is not used."""

    project: str | int | None = None
    schema: str = ""


class Version(Struct, frozen=True):
    """The version of the model, which changes with every record."""

    model_version: str


class Versions(Struct, frozen=True):
    """The versions of the model: the current one."""

    versions: list[str]


class Task(Struct, frozen=True):
    """A task: its data by field."""

    id: Number | None = None
    data: Json = {}


class PredictRequest(Struct, frozen=True):
    """Tasks and the labelling config."""

    tasks: Annotated[list[Task], Meta(max_length=10_000)]
    label_config: str


class PredictedRegion(Struct, frozen=True):
    """What a prediction chooses: `value` has the options under the name of the type."""

    from_name: str
    to_name: str
    type: str
    value: dict[str, list[Any]]
    score: float


class Prediction(Struct, frozen=True):
    """The prediction for a task; it is empty if no option has a vote."""

    result: list[PredictedRegion]
    score: float
    model_version: str


class Predictions(Struct, frozen=True):
    """A prediction for each task, in order."""

    results: list[Prediction]


class AnnotatedRegion(Struct, frozen=True):
    """A part of an annotation."""

    from_name: str | None = None
    value: Any = None


class ShownPrediction(Struct, frozen=True):
    """The prediction that a person has seen."""

    result: list[AnnotatedRegion] = []


class SentAnnotation(Struct, frozen=True):
    """An annotation."""

    id: Number
    updated_at: Moment
    result: list[AnnotatedRegion] | None = None
    was_cancelled: bool = False
    prediction: ShownPrediction | None = None


class SentId(Struct, frozen=True):
    """The number of what was deleted."""

    id: Number


class SentProject(Struct, frozen=True):
    """A project."""

    id: Number
    created_at: Moment | None = None
    label_config: str = ""


class WebhookRequest(Struct, frozen=True):
    """An event; which fields it has depends on the action."""

    action: str
    project: SentProject | None = None
    annotation: SentAnnotation | list[SentAnnotation] | None = None
    task: Task | list[Task] | None = None
    annotations: list[SentId] = []


class Received(Struct, frozen=True):
    """Whether all was learned already; if not, it will be: it is on disk."""

    done: bool


# -- predictions -------------------------------------------------------------------------------------


def health(call: Call[NoParameters]) -> Health:
    """Report that the model is ready."""
    ready(call)
    return Health("UP", call.service.name)


def set_up(call: Call[SetupRequest]) -> Version:
    """Check the labelling config of a project."""
    with call.service.replica.reading():
        _target(call.service.replica, call.request.schema)
    return Version(_version(call.service))


def versions(call: Call[NoParameters]) -> Versions:
    """List the current version."""
    return Versions([_version(call.service)])


async def predict(call: Call[PredictRequest]) -> Predictions:
    """Predict the options that a person would choose for tasks; other requests are answered between them."""
    service, asked = call.service, call.request
    replica = service.replica
    check_ranked(len(asked.tasks), CONSIDERED)
    with replica.reading() as seen:
        target = _target(replica, asked.label_config)
    found: list[Prediction] = []
    async with service.batches():
        for task in asked.tasks:
            row = TextRow(replica, _text(replica, target.control, task))
            await asyncio.sleep(0)
            with replica.reading() as sequence:
                if sequence != seen:  # labels may have other names
                    target, seen = _target(replica, asked.label_config), sequence
                found.append(_prediction(service, target, row))
    return Predictions(found)


class _Target(NamedTuple):
    """A tag with options, and the labels of the model that they stand for; None if all labels can be chosen."""

    control: Control
    options: dict[Name, Option] | None

    def chooser(self, replica: Replica) -> Chooser | None:
        """Return what chooses the labels that the tag offers."""
        if self.options is None:
            return None
        return replica.chooser([f"{EXACTLY}{one}" if isinstance(one, str) else one for one in self.options], [])


def _prediction(service: Service, target: _Target, row: TextRow) -> Prediction:
    replica, control = service.replica, target.control
    chosen: list[Entry] = []
    if target.options is None or target.options:
        chooser = target.chooser(replica)
        marked = rank_and_assign(replica, lambda k: row.rank(k, chooser), CONSIDERED)
        ranked = [entry for entry, _ in marked if entry.score > 0]
        assigned = [entry for entry, is_assigned in marked if is_assigned and entry.score > 0]
        chosen = ranked[:1] if control.is_single or not assigned else assigned
    if not chosen:
        return Prediction([], 0.0, _version(service))
    score = likelihood(chosen[0])
    value: list[Any] = [_result(replica, target, entry.label) for entry in chosen]
    region = PredictedRegion(control.name, control.to_name, control.kind, {control.kind: value}, score)
    return Prediction([region], score, _version(service))


def _result(replica: Replica, target: _Target, label: Name) -> str | list[str]:
    """Return how Label Studio names a chosen label."""
    if target.options is not None:
        option = target.options[label]
        return list(option.path) if target.control.has_paths else option.path[-1]
    return replica.tagger.path_names(label) or [replica.tagger.name_of(label)]


def _version(service: Service) -> str:
    return f"{service.name} {service.replica.sequence}"


# -- the labelling config ----------------------------------------------------------------------------


def _controls(config: str) -> tuple[Control, ...]:
    try:
        return read_config(config)
    except ValueError as error:
        raise Problem(422, str(error)) from None


def _target(replica: Replica, config: str) -> _Target:
    """Return the first tag that offers a label of the model; if there is none, the first tag."""
    controls = _controls(config)
    targets = (_Target(one, _offered(replica, one)) for one in controls)
    return next((one for one in targets if one.options is None or one.options), _Target(controls[0], {}))


def _offered(replica: Replica, control: Control) -> dict[Name, Option] | None:
    """Return the options that stand for labels of the model, by label."""
    if control.options is None:
        return None
    found: dict[Name, Option] = {}
    for option in control.options:
        label = _known(replica, option.names)
        if label is not None:
            found.setdefault(label, option)
    return found


def _known(replica: Replica, names: Sequence[str]) -> Name | None:
    """Return the label that has one of the names, or None; Problem if it is the name of several labels."""
    for name in names:
        label = find_label(replica, name)
        if label is not None:
            return label
        try:
            replica.names.resolve(name)
        except ValueError as error:
            raise Problem(422, f"an option of the labelling config is not clear: {error}, as its alias") from None
    return None


def _text(replica: Replica, control: Control, task: Task) -> Text:
    """Return the text of a task: the fields of the model, or the field that the labelling config names."""
    fields, data = replica.tagger.encoder.fields, task.data
    given: Any = {name: data[name] for name in fields or () if isinstance(data.get(name), str)}
    if not given:
        given = data.get(control.field, data.get(ONLY_FIELD))
    if not isinstance(given, str | dict):
        which = "a task" if task.id is None else f"task {task.id}"
        known = ", ".join(map(repr, list(data)[:10])) or "none"
        raise Problem(422, f"{which} must have a text in the field {control.field!r}; its fields: {known}")
    check_text(given)
    return given


# -- annotations -------------------------------------------------------------------------------------


async def receive(call: Call[WebhookRequest]) -> Received:
    """Teach a new annotation, replace a changed one, and take a deleted one back; other events are ignored."""
    asked = call.request
    if asked.action not in (*CREATED, REMOVED):
        return Received(True)
    project = asked.project
    if project is None or project.created_at is None or not (asked.annotation or asked.annotations):
        raise Problem(422, "the webhook must send its payload: the project, and the annotation or its number")
    uid = f"{project.id}.{_moment(project.created_at) // 1_000_000}"
    if asked.action == REMOVED:
        return await _deliver(call, [Change(Annotation(uid, one.id), DELETED, None) for one in asked.annotations])
    annotations = asked.annotation if isinstance(asked.annotation, list) else [asked.annotation]
    tasks = asked.task if isinstance(asked.task, list) else [asked.task] * len(annotations)
    if len(tasks) != len(annotations) or None in tasks or None in annotations:
        raise Problem(422, "the webhook must send each annotation with its task")
    pairs = [(one, task) for one, task in zip(annotations, tasks, strict=True) if one and task]
    return await _deliver(call, _changes(call.service.replica, uid, project.label_config, pairs))


async def _deliver(call: Call[Any], changes: list[Change]) -> Received:
    if not changes:
        return Received(True)
    delivery = Delivery(tuple(changes), call.caller.who, call.caller.scope >= Scope.ADMIN)
    n_records = sum(change.record is not None for change in changes) + (call.request.action not in NEW)
    with call.learning(n_records):
        return Received(await call.service.settler.submit(delivery))


def _changes(replica: Replica, project: str, config: str, pairs: Sequence[tuple[SentAnnotation, Task]]) -> list[Change]:
    """Return what annotations teach; those that are skipped or empty teach nothing."""
    with replica.reading():
        control = _target(replica, config).control
        names = {option.path[-1]: option.names for option in control.options or ()}
        names |= {"\n".join(option.path): option.names for option in control.options or ()}
        changes = []
        for annotation, task in pairs:
            right = [] if annotation.was_cancelled else _chosen(replica, control, names, annotation.result or [])
            record = None
            if right:
                seen = [] if annotation.prediction is None else annotation.prediction.result
                shown = _chosen(replica, control, names, seen)
                record = Learn(
                    _text(replica, control, task),
                    accepted=tuple(one for one in right if one in shown),
                    rejected=tuple(one for one in shown if one not in right),
                    added=tuple(one for one in right if one not in shown),
                )
            changes.append(Change(Annotation(project, annotation.id), _moment(annotation.updated_at), record))
        return changes


def _chosen(
    replica: Replica, control: Control, names: Mapping[str, tuple[str, ...]], regions: Sequence[AnnotatedRegion]
) -> list[Name]:
    """Return the labels that were chosen; an option that the model does not know is a new label.

    `names` has the names of an option by its result, and by its path.
    """
    found: list[Name] = []
    for region in regions:
        if region.from_name != control.name or not isinstance(region.value, dict):
            continue
        chosen = region.value.get(control.kind)
        for one in chosen if isinstance(chosen, list) else [chosen]:
            path: list[Any] = one if isinstance(one, list) else [one]
            if not path or not all(isinstance(part, str) for part in path):
                raise Problem(422, f"the options that an annotation chooses must be texts, got {one!r}")
            known = names.get("\n".join(path)) or names.get(path[-1]) or (path[-1],)
            label = _known(replica, known)
            found.append(known[0] if label is None else label)
    return list(dict.fromkeys(found))


def _moment(given: str) -> int:
    try:
        return max(0, microseconds(given))
    except (ValueError, OverflowError) as error:
        raise Problem(422, str(error)) from None


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/label-studio/{model}/health",
        health,
        NoParameters,
        Health,
        "Label Studio: is the model ready?",
        errors=(503,),
    ),
    Endpoint(
        "POST",
        "/label-studio/{model}/setup",
        set_up,
        SetupRequest,
        Version,
        "Label Studio: check a labelling config",
    ),
    Endpoint(
        "GET", "/label-studio/{model}/versions", versions, NoParameters, Versions, "Label Studio: list the versions"
    ),
    Endpoint(
        "POST",
        "/label-studio/{model}/predict",
        predict,
        PredictRequest,
        Predictions,
        "Label Studio: predict the labels of tasks",
        limit=BATCH_BYTES,
        errors=(429, 503),
    ),
    Endpoint(
        "POST",
        "/label-studio/{model}/webhook",
        receive,
        WebhookRequest,
        Received,
        "Label Studio: learn, replace or take back annotations",
        Scope.LEARN,
        limit=BATCH_BYTES,
        errors=(409, 429, 503),
    ),
)

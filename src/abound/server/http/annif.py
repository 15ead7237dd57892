"""Annif's REST API, version 1: a model is a project, so that clients of Annif can use it unchanged."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from abound.server.http.bodies import MAX_LABELS, Label, NoParameters
from abound.server.http.endpoints import Call, Endpoint, Scope
from abound.server.http.limits import check_text
from abound.server.http.problems import Problem
from abound.server.http.service import Service
from abound.server.http.suggesting import Suggestion, suggest
from abound.server.listing import iso_time
from abound.store.journal.records import Learn
from abound.text.language import likely_languages

MAX_DOCUMENTS = 32
DETECTED = 10_000  # characters of a text that its language is detected from: a megabyte would take a second
UNKNOWN = "und"  # the code of a language that is not known
Limit = Annotated[int, Meta(ge=0, le=MAX_LABELS)]
Threshold = Annotated[float, Meta(ge=0, le=1)]
Metadata = dict[str, str]


class SuggestForm(Struct, frozen=True):
    """A text to suggest subjects for; Annif's `language` is the language of the subjects' names."""

    text: str
    limit: Limit = 10
    threshold: Threshold = 0.0
    language: str | None = None


class SuggestQuery(Struct, frozen=True):
    """How many subjects to suggest."""

    limit: Limit = 10
    threshold: Threshold = 0.0
    language: str | None = None


class AnnifDocument(Struct, frozen=True):
    """A text, which may have an identifier."""

    text: str
    document_id: str | None = None
    metadata: Metadata = {}


class SuggestBatch(Struct, frozen=True):
    """Texts to suggest subjects for."""

    documents: Annotated[list[AnnifDocument], Meta(max_length=MAX_DOCUMENTS)]


class Subject(Struct, frozen=True):
    """A subject of a text."""

    uri: Label
    label: str | None = None


class IndexedDocument(Struct, frozen=True):
    """A text with its subjects."""

    text: str
    subjects: Annotated[list[Subject], Meta(max_length=10_000)]
    metadata: Metadata = {}


class Suggested(Struct, frozen=True):
    """A suggested subject."""

    uri: str
    label: str
    score: float
    notation: str | None = None


class Suggestions(Struct, frozen=True):
    """The suggested subjects of a text."""

    results: list[Suggested]


class DocumentSuggestions(Struct, frozen=True):
    """The suggested subjects of a text of a batch."""

    document_id: str | None
    results: list[Suggested]


class Backend(Struct, frozen=True):
    """What computes the suggestions."""

    backend_id: str = "abound"


class Vocabulary(Struct, frozen=True):
    """The labels of a model; the size of one that is not open is not known."""

    vocab_id: str
    languages: list[str]
    size: int | None
    loaded: bool


class Project(Struct, frozen=True):
    """A model as a project of Annif."""

    project_id: str
    name: str
    language: str
    vocab: Vocabulary
    vocab_language: str
    modification_time: str | None = None
    is_trained: bool = True
    backend: Backend = Backend()


class Projects(Struct, frozen=True):
    """All models."""

    projects: list[Project]


class Vocabularies(Struct, frozen=True):
    """The vocabularies of all models."""

    vocabs: list[Vocabulary]


class ApiInfo(Struct, frozen=True):
    """The name and the version of the interface."""

    title: str
    version: str


class DetectRequest(Struct, frozen=True):
    """A text and the languages that it may be in."""

    text: str
    languages: Annotated[list[Annotated[str, Meta(min_length=2, max_length=3)]], Meta(min_length=1, max_length=5)]


class DetectedShare(Struct, frozen=True):
    """A language, None for any other one, and its share."""

    language: str | None
    score: float


class Detected(Struct, frozen=True):
    """The languages of a text."""

    results: list[DetectedShare]


def project_of(name: str, service: Service | None) -> Project:
    """Describe a model as a project; `service` is None if it is not open."""
    if service is None:
        return Project(name, name, UNKNOWN, Vocabulary(name, [], None, loaded=False), UNKNOWN)
    tagger, fitted = service.replica.tagger, service.fitted()
    language = tagger.language or UNKNOWN
    changed = service.replica.history.last_time or (None if fitted is None else round(fitted * 1e6))
    size = tagger.n_labels - service.replica.labels.n_hidden
    vocabulary = Vocabulary(name, [language], size, loaded=True)
    return Project(name, name, language, vocabulary, language, None if changed is None else iso_time(changed))


def info(call: Call[NoParameters]) -> ApiInfo:
    """Describe the interface."""
    return api_info(call.service.version)


def api_info(version: str) -> ApiInfo:
    """Return the name and the version of the interface."""
    return ApiInfo("Annif REST API of abound", version)


def projects(call: Call[NoParameters]) -> Projects:
    """List the models."""
    return Projects([project_of(call.service.name, call.service)])


def vocabularies(call: Call[NoParameters]) -> Vocabularies:
    """List the vocabularies."""
    return Vocabularies([project_of(call.service.name, call.service).vocab])


def project(call: Call[NoParameters]) -> Project:
    """Describe a model."""
    return project_of(call.service.name, call.service)


async def suggest_subjects(call: Call[SuggestForm]) -> Suggestions:
    """Suggest subjects for a text."""
    asked = call.request
    _check_language(call.service, asked.language)
    [found] = await suggest(call.service, [asked.text], asked.limit, asked.threshold)
    return Suggestions(_suggested(found))


async def suggest_batch(call: Call[SuggestBatch]) -> list[DocumentSuggestions]:
    """Suggest subjects for some texts."""
    asked, documents = call.query, call.request.documents
    _check_language(call.service, asked.language)
    found = await suggest(call.service, [one.text for one in documents], asked.limit, asked.threshold)
    return [
        DocumentSuggestions(document.document_id, _suggested(suggestions))
        for document, suggestions in zip(documents, found, strict=True)
    ]


def _suggested(found: list[Suggestion]) -> list[Suggested]:
    return [Suggested(str(one.label), one.name, one.score) for one in found]


def _check_language(service: Service, language: str | None) -> None:
    known = service.replica.tagger.language
    if language is not None and known is not None and language != known:
        raise Problem(400, f'language "{language}" not supported by vocabulary; the model has {known!r}')


async def learn_documents(call: Call[list[IndexedDocument]]) -> None:
    """Learn the subjects of texts, one correction each."""
    for document in call.request:
        check_text(document.text)
    records = [
        Learn(document.text, added=tuple(dict.fromkeys(subject.uri for subject in document.subjects)))
        for document in call.request
        if document.subjects
    ]
    with call.learning(len(records)):
        for record in records:
            await call.service.learn(record, None, call.origin)


async def detect_language(call: Call[DetectRequest]) -> Detected:
    """Detect the language of a text among some languages."""
    return await detected(call.request)


async def detected(asked: DetectRequest) -> Detected:
    """Return the shares of some languages in a text; None stands for all others."""
    check_text(asked.text)
    try:
        shares = await asyncio.to_thread(likely_languages, asked.text[:DETECTED], asked.languages)
    except ValueError as error:
        raise Problem(400, str(error)) from None
    return Detected([DetectedShare(language, share) for language, share in shares.items()])


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/v1/", info, NoParameters, ApiInfo, "Annif: describe the interface", Scope.OPEN),
    Endpoint("GET", "/v1/projects", projects, NoParameters, Projects, "Annif: list the models"),
    Endpoint("GET", "/v1/vocabs", vocabularies, NoParameters, Vocabularies, "Annif: list the vocabularies"),
    Endpoint("GET", "/v1/projects/{model}", project, NoParameters, Project, "Annif: describe a model"),
    Endpoint(
        "POST",
        "/v1/projects/{model}/suggest",
        suggest_subjects,
        SuggestForm,
        Suggestions,
        "Annif: suggest subjects for a text",
        form=True,
        invalid=400,
    ),
    Endpoint(
        "POST",
        "/v1/projects/{model}/suggest-batch",
        suggest_batch,
        SuggestBatch,
        list[DocumentSuggestions],
        "Annif: suggest subjects for up to 32 texts",
        query=SuggestQuery,
        invalid=400,
    ),
    Endpoint(
        "POST",
        "/v1/projects/{model}/learn",
        learn_documents,
        list[IndexedDocument],
        bytes,
        "Annif: learn the subjects of texts",
        Scope.LEARN,
        status=204,
        invalid=400,
    ),
    Endpoint(
        "POST",
        "/v1/detect-language",
        detect_language,
        DetectRequest,
        Detected,
        "Annif: detect the language of a text",
        invalid=400,
    ),
)

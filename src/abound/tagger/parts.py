"""The parts of a tagger: text encoder, ranker, label names, hierarchy and bands, in memory and in a directory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from abound.calibration import Calibration
from abound.components.rows import Rows
from abound.encoders import VectorEncoder
from abound.encoders.base import MAX_DIMENSIONS
from abound.encoders.hashed import N_HASHED, WORDS
from abound.errors import DamagedModel
from abound.hierarchy import Hierarchy
from abound.hierarchy.links import Chooser, LabelLinks
from abound.ordinal.bands import Bands
from abound.rankers.ranking import Ranking
from abound.second_opinion import SecondOpinion
from abound.second_opinion.blend import Blend
from abound.store import Model, decode_names, encode_names
from abound.store.directory import Blocks, Source
from abound.store.names import check_texts
from abound.tagger.arguments import as_items, check_depth
from abound.tagger.blending import GivenCodes
from abound.tagger.choosing import rank_chosen
from abound.tagger.examples import check_examples
from abound.tagger.held_out import HeldOut, check_held_out
from abound.tagger.naming import LabelsAre, NameResolver
from abound.tagger.settings import TaggerSettings
from abound.tagger.vectors import VectorParts
from abound.text.language import AUTO
from abound.texts import Text

RANKER_PREFIX = "ranker_"
BANDS_PREFIX = "bands_"
HIERARCHY_PREFIX = "hierarchy_"
OPINION_PREFIX = "opinion_"
OUTSIDE_PREFIX = "outside_"
FORMER_PARAMS = ("mode",)  # of format version 1: whether document frequencies kept growing or were frozen
FIELD_PARAMS = ("fields", "field_weights")
NAME_ARRAYS = ("display_labels", "display_label_offsets", "display_names", "display_name_offsets")


class TaggerParts(VectorParts):
    """The parts of a tagger. The parameters are those of `Tagger`."""

    kind: ClassVar[str] = "tagger"

    def __init__(
        self,
        ranker: str = "cascade",
        *,
        ranker_params: Mapping[str, Any] | None = None,
        language: str | None = AUTO,
        name_weight: float = 4.0,
        embeddings: str | VectorEncoder | None = None,
        **params: Any,
    ) -> None:
        own: dict[str, Any] = {"language": language, "name_weight": name_weight, "embeddings": embeddings}
        self.use(TaggerSettings.of(ranker, ranker_params=ranker_params, **own, **params))

    def use(self, settings: TaggerSettings) -> None:
        """Take up parameters, and forget everything that was learned."""
        self.settings = self._built_with = settings
        self.name_weight = settings.name_weight
        self.ranker = settings.new_ranker()
        self.detects_language = settings.language == AUTO
        self._field_weights: dict[str, float] | None = None
        self.set_language(settings.language)
        self._label_names: dict[str, list[str]] | None = {}
        self.examples: tuple[str, ...] = ()  # short texts of the training data
        self.held_out: HeldOut | None = None
        self._resolver: NameResolver | None = None
        self._saved_names: tuple[NDArray[Any], ...] = ()
        self._bands: Bands | None = None
        self._hierarchy: Hierarchy | None = None
        self._links: LabelLinks | None = None
        self.forget_vectors()
        self.ranker.reset()

    def renew(self) -> None:
        """Take up parameters that were set for the next training."""
        if not self._built_with.can_become(self.settings):
            bands = self._bands
            self.use(self.settings)
            self._bands = bands

    def set_language(self, language: str | None) -> None:
        """Tokenise texts as suits a language, and forget all terms. Explicit text parameters are kept."""
        self.encoder = self.settings.new_encoder(language, self._field_weights)
        self.language = language

    def set_fields(self, weights: Mapping[str, float] | None) -> None:
        """Read texts with fields of these weights, and forget all terms. Fields and weights set as parameters win."""
        if weights != self._field_weights:
            self._field_weights = None if weights is None else dict(weights)
            self.set_language(self.language)

    def rows_of(self, texts: Iterable[Text], codes: GivenCodes | None = None) -> Rows:
        """Return texts as rows over the known terms, with their vectors if there is a second opinion."""
        given = list(texts)
        return self.with_vectors(Rows(*self.encoder.rows(given)), given, codes)

    @property
    def bands(self) -> Bands | None:
        """Which labels are applied, suggested and hidden; they use the probabilities of the rankings."""
        if self._bands is not None:
            self._bands.calibration = self.calibration
        return self._bands

    @bands.setter
    def bands(self, bands: Bands | None) -> None:
        if bands is not None and not self.blends and bands.calibration.n_rows > self.ranker.calibration_.n_rows:
            self.ranker.calibration_ = bands.calibration
        self._bands = bands

    # -- hierarchy -----------------------------------------------------------------------------------

    @property
    def hierarchy(self) -> Hierarchy | None:
        """How labels are related, or None."""
        return self._hierarchy

    @hierarchy.setter
    def hierarchy(self, hierarchy: Hierarchy | None) -> None:
        if not isinstance(hierarchy, Hierarchy | None):
            raise TypeError(f"hierarchy must be a Hierarchy, got {type(hierarchy).__name__}; use read_hierarchy")
        self._hierarchy, self._links = hierarchy, None

    @property
    def links(self) -> LabelLinks:
        """The concepts of the labels. Without a hierarchy, labels have none, but can be selected by name."""
        if self._links is None or self._links.labels is not self.ranker.labels_:
            self._links = LabelLinks(self._hierarchy or Hierarchy.empty(), self.ranker.labels_)
        return self._links

    def chooser(
        self,
        only: Any = None,
        without: Any = None,
        *,
        keep_parents: bool = True,
        find: Callable[[str], str | None] | None = None,
    ) -> Chooser:
        """Return what chooses ranked labels; see `Tagger.rank`. `find` returns the label with a name."""
        wanted, unwanted = (None if given is None else as_items(given) for given in (only, without))
        allowed = (
            self.links.select(wanted, unwanted or (), find or self.resolver.one)
            if wanted is not None or unwanted
            else None
        )
        return Chooser(self.links, allowed, keep_parents=keep_parents)

    def rank_rows(self, rows: Rows, k: int = 10, chooser: Chooser | None = None) -> Ranking:
        """Rank rows over terms: all labels, or those that `chooser` chooses."""
        check_depth(k)
        if chooser is None:
            return self._rank_all(rows, k)
        return rank_chosen(self._rank_all, rows, k, chooser, self.n_labels)

    def shown_labels(self, lists: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """Return the labels of texts as they are ranked: by their ids. A served model may have merged some."""
        return self.resolver.rows(lists)

    def has_label(self, label: Any) -> bool:
        """Return whether a label is known, under its current id or, in a served model, a former one."""
        return label in self.ranker.labels_

    def path_of(self, label: Any) -> list[str]:
        """Return the shortest path from a top concept to a label, both included; empty if it is in no hierarchy."""
        return [] if self.hierarchy is None else self.hierarchy.path(label)

    def path_names(self, label: Any) -> list[str]:
        """Return the display names of the labels on `path_of`."""
        return [self.name_of(one) for one in self.path_of(label)]

    # -- names ---------------------------------------------------------------------------------------

    @property
    def resolver(self) -> NameResolver:
        """What finds labels by their names."""
        if self._resolver is None:
            self._resolver = NameResolver(lambda: self.label_names, lambda label: label in self.ranker.labels_)
        return self._resolver

    def label_of(self, given: Any, labels_are: LabelsAre = "either") -> Any:
        """Return the label that is given by its id or its name; ValueError if it is the name of several labels."""
        return self.resolver.resolve(given, labels_are)

    # -- content -------------------------------------------------------------------------------------

    @property
    def label_names(self) -> dict[str, list[str]]:
        """Display names by label: the preferred name first, then synonyms."""
        if self._label_names is None:  # decoded on first use: there may be many more names than a ranking shows
            self._label_names, (labels, offsets, names, name_offsets) = {}, self._saved_names
            all_labels = decode_names(labels, offsets, unique=False)
            for label, name in zip(all_labels, decode_names(names, name_offsets, unique=False), strict=True):
                self._label_names.setdefault(str(label), []).append(str(name))
        return self._label_names

    @label_names.setter
    def label_names(self, names: Mapping[str, Sequence[str]]) -> None:
        self._label_names = {str(label): list(given) for label, given in names.items()}
        self._resolver = None

    def use_saved_names(self, arrays: tuple[NDArray[Any], ...]) -> None:
        """Validate the label names of a model directory and keep them; they are decoded on first use."""
        labels, label_offsets, names, name_offsets = arrays
        check_texts(labels, label_offsets)  # decoding must not fail later
        check_texts(names, name_offsets)
        if len(label_offsets) != len(name_offsets):
            raise ValueError("the number of labels differs from the number of names")
        self._saved_names, self._label_names, self._resolver = arrays, None, None

    def name_of(self, label: Any) -> str:
        """Return the display name of a label: the first of its names, or the label itself."""
        names = self.label_names.get(str(label))
        return names[0] if names else str(label)

    @property
    def seed(self) -> int:
        """What orders the rows of `fit`: the ranker's `random_state`, or 0."""
        return int(getattr(self.ranker, "random_state", 0) or 0)

    @property
    def n_rows(self) -> int:
        """Texts learned."""
        return self.ranker.n_rows_seen_

    @property
    def n_labels(self) -> int:
        """Labels known."""
        return len(self.ranker.labels_)

    @property
    def n_shown(self) -> int:
        """Labels that can be ranked; a served model may have merged or retired some."""
        return self.n_labels

    @property
    def n_features(self) -> int:
        """Terms known."""
        return self.encoder.n_terms

    @property
    def n_edges(self) -> int:
        """Edges of the index; 0 for a ranker without one."""
        return self.ranker.n_edges_

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the vocabulary, the ranker and the second opinion hold."""
        opinion = 0 if self.second_opinion is None else self.second_opinion.nbytes
        return self.encoder.vocabulary.nbytes + self.ranker.nbytes_ + opinion

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of texts of each label, by label number."""
        return self.ranker.label_counts

    def params(self) -> dict[str, Any]:
        """Return all parameters; those of fields only if there are any."""
        ranker = {"ranker": self.ranker.kind, "ranker_params": self.ranker.params()}
        params = {**ranker, "language": self.language, "name_weight": self.name_weight, **self.encoder.params()}
        return {name: value for name, value in params.items() if value is not None or name not in FIELD_PARAMS}

    # -- persistence ---------------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """Return the content of the manifest besides the kind and the files."""
        optional: dict[str, Any] = {"examples": list(self.examples)} if self.examples else {}
        optional |= {} if self.held_out is None else {"held_out": self.held_out.as_dict()}
        if self.second_opinion is not None:
            optional["second_opinion"] = self._described_opinion(self.second_opinion)
        return {"params": self.params(), "form": self.ranker.form if self.n_rows else "lists", **optional}

    def _described_opinion(self, opinion: SecondOpinion) -> dict[str, Any]:
        return {
            "embeddings": self.embeddings_name,
            "encoder": self.encoder_name,
            "dimensions": opinion.dimensions,
            "keeps_texts": opinion.keeps_texts,
            "votes": opinion.votes,
        }

    def arrays(self) -> dict[str, Source]:
        """Return the learned state as arrays, by name."""
        ranker: dict[str, Source] = {RANKER_PREFIX + key: source for key, source in self.ranker.arrays().items()}
        pairs = [(label, name) for label, names in sorted(self.label_names.items()) for name in names]
        labels, names = encode_names(label for label, _ in pairs), encode_names(name for _, name in pairs)
        display: dict[str, Source] = dict(zip(NAME_ARRAYS, (*labels, *names), strict=True))
        bands: dict[str, Source] = {}
        if self.bands is not None:
            bands = {BANDS_PREFIX + key: array for key, array in self.bands.state().items()}
        terms: dict[str, Source] = {key: Blocks(*blocks) for key, blocks in self.encoder.array_blocks().items()}
        hierarchy: dict[str, Source] = {}
        if self.hierarchy is not None:
            hierarchy = {HIERARCHY_PREFIX + key: array for key, array in self.hierarchy.arrays().items()}
        opinion: dict[str, Source] = {}
        if self.second_opinion is not None:
            opinion = {OPINION_PREFIX + key: array for key, array in self.second_opinion.state().items()}
        if self.outside_opinion is not None:
            opinion |= {OUTSIDE_PREFIX + key: array for key, array in self.outside_opinion.blend.state().items()}
        return {**ranker, **terms, **self.encoder.counters(), **display, **bands, **hierarchy, **opinion}

    @classmethod
    def from_model(cls, model: Model, **params: Any) -> Self:
        """Build a tagger from a model. `params` replace parameters of its ranker."""
        try:
            settings = {name: value for name, value in model.content["params"].items() if name not in FORMER_PARAMS}
            settings.setdefault("language", None)  # version 1 had none
            settings.setdefault("tokenizer", "alphanumeric")  # the only one before version 4
            tagger = cls(settings.pop("ranker"), ranker_params=settings.pop("ranker_params"), **settings)
            tagger.encoder.restore(model.arrays)
            columns = {"n_features_in": tagger.encoder.n_terms, "form": model.content.get("form", "lists")}
            content = {"params": model.content["params"]["ranker_params"], "columns": columns}
            tagger.examples = check_examples(model.content.get("examples", []))
            tagger.held_out = check_held_out(model.content.get("held_out"))
            tagger.use_saved_names(tuple(model.arrays[key] for key in NAME_ARRAYS))
            bands = model.under(BANDS_PREFIX)
            tagger.bands = Bands.from_state(bands, Calibration()) if bands else None
            hierarchy = model.under(HIERARCHY_PREFIX)
            tagger.hierarchy = Hierarchy.from_arrays(hierarchy) if hierarchy else None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise DamagedModel(f"the model does not hold what a tagger needs: {error}") from None
        tagger.ranker = type(tagger.ranker).from_model(Model(content, model.under(RANKER_PREFIX)), **params)
        tagger.settings = replace(tagger.settings, ranker_params=tagger.ranker.params())
        tagger.second_opinion, embeddings = saved_opinion(model, tagger.n_labels)
        tagger.outside_opinion = saved_outside_opinion(model)
        tagger.settings = tagger._built_with = replace(tagger.settings, embeddings=embeddings)
        tagger._encoder_name = saved_encoder_name(model)
        if tagger.ranker.n_stored > tagger.encoder.n_terms:
            raise DamagedModel("the model has features that the vocabulary does not have")
        return tagger


def saved_encoder_name(model: Model) -> str | None:
    """Return what identifies the vectors of a model directory, whose second opinion was read."""
    described = model.content.get("second_opinion") or {}
    name = described.get("encoder")
    if not isinstance(name, str | None):
        raise DamagedModel(f"the encoder of the model must have a name, got {name!r}")
    return name


def saved_opinion(model: Model, n_labels: int) -> tuple[SecondOpinion | None, str | None]:
    """Return the second opinion of a model directory, and the name of its encoder; DamagedModel if it is invalid."""
    described = model.content.get("second_opinion")
    if described is None:
        return None, None
    try:
        name, dimensions, keeps = described["embeddings"], described["dimensions"], described["keeps_texts"]
        if not isinstance(name, str | None) or type(dimensions) is not int or not 0 <= dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"it must have the name of an encoder and 0 to {MAX_DIMENSIONS} dimensions")
        votes = bool(described.get("votes", True))
        if votes == (name == WORDS) or (name == WORDS and dimensions != N_HASHED):
            raise ValueError(f"vectors of words have {N_HASHED} numbers and do not vote; others do")
        how = {"keeps_texts": bool(keeps), "votes": votes}
        return SecondOpinion.from_state(model.under(OPINION_PREFIX), dimensions, n_labels, **how), name
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise DamagedModel(f"the second opinion of the model cannot be used: {error}") from None


def saved_outside_opinion(model: Model) -> SecondOpinion | None:
    """Return what weighs the scores of a service in a model directory, or None; DamagedModel if it is invalid."""
    arrays = model.under(OUTSIDE_PREFIX)
    try:
        return SecondOpinion.of_blend(Blend.from_state(arrays)) if arrays else None
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise DamagedModel(f"the weights of a second opinion in the model cannot be used: {error}") from None

"""A tagger as named arrays, and back."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.ordinal.bands import Bands
from abound.store import Model, check_texts, decode_names, encode_names
from abound.store.directory import Source

if TYPE_CHECKING:
    from abound.tagger.tagger import Tagger

T = TypeVar("T", bound="Tagger")
RANKER_PREFIX = "ranker_"
FORMER_PARAMS = ("mode",)  # of format version 1: whether document frequencies ran on or were frozen
BANDS_PREFIX = "bands_"
NAME_ARRAYS = ("display_labels", "display_label_offsets", "display_names", "display_name_offsets")


def arrays_of(tagger: "Tagger") -> dict[str, Source]:
    """Return everything that a tagger has learnt."""
    ranker: dict[str, Source] = {RANKER_PREFIX + key: source for key, source in tagger.ranker._arrays().items()}
    named = [(label, name) for label, names in sorted(tagger.label_names.items()) for name in names]
    labels, names = encode_names(label for label, _ in named), encode_names(name for _, name in named)
    display: dict[str, Source] = dict(zip(NAME_ARRAYS, (*labels, *names), strict=True))
    bands: dict[str, Source] = {}
    if tagger.bands is not None:
        bands = {BANDS_PREFIX + key: array for key, array in tagger.bands.state().items()}
    return {**ranker, **tagger.encoder.arrays(), **display, **bands}


def restored(cls: type[T], model: Model, **params: Any) -> T:
    """Build a tagger from a model directory that was read; parameters of its ranker may be replaced."""
    try:
        settings = {name: value for name, value in model.content["params"].items() if name not in FORMER_PARAMS}
        settings.setdefault("language", None)  # version 1 had none
        tagger = cls(settings.pop("ranker"), ranker_params=settings.pop("ranker_params"), **settings)
        tagger.encoder.restore(model.arrays)
        columns = {"n_features_in": tagger.encoder.n_terms, "form": "lists"}
        content = {"params": model.content["params"]["ranker_params"], "columns": columns}
        tagger._saved_names, tagger._label_names = tuple(model.arrays[key] for key in NAME_ARRAYS), None
        labels, label_offsets, names, name_offsets = tagger._saved_names
        check_texts(labels, label_offsets)  # decoded when asked for: it must not fail then
        check_texts(names, name_offsets)
        if len(label_offsets) != len(name_offsets):
            raise ValueError("there is not one label for each name")
        bands = _under(BANDS_PREFIX, model.arrays)
        tagger.bands = Bands.from_state(bands) if bands else None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise DamagedModel(f"the model does not hold what a tagger needs: {error}") from None
    tagger.ranker = type(tagger.ranker).from_model(Model(content, _under(RANKER_PREFIX, model.arrays)), **params)
    if tagger.ranker._n_stored() > tagger.encoder.n_terms:
        raise DamagedModel("the model knows features that the vocabulary does not know")
    return tagger


def read_label_names(arrays: Sequence[NDArray[Any]]) -> dict[str, list[str]]:
    """Return what labels are called, from the arrays that hold it."""
    labels, label_offsets, names, name_offsets = arrays
    found: dict[str, list[str]] = {}
    all_labels = decode_names(labels, label_offsets, unique=False)
    for label, name in zip(all_labels, decode_names(names, name_offsets, unique=False), strict=True):
        found.setdefault(str(label), []).append(str(name))
    return found


def _under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}

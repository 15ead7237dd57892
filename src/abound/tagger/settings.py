"""The parameters of a tagger: its own, those of its ranker, and those of its text encoder, by name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from abound.encoders import VectorEncoder
from abound.rankers import Ranker, ranker_class
from abound.rankers.validation import check_number
from abound.text import TextEncoder
from abound.text.language import AUTO, settings_for_language

OWN_PARAMS = ("ranker", "language", "name_weight", "embeddings")
TEXT_PARAMS = tuple(field.name for field in fields(TextEncoder))


@dataclass(frozen=True)
class TaggerSettings:
    """The parameters that a tagger was given.

    Attributes
    ----------
    ranker_params, text : mapping
        Explicit parameters of the ranker and of the text encoder. The others have their defaults, which depend on the
        kind of ranker and on the language.
    """

    ranker: str
    ranker_params: Mapping[str, Any]
    language: str | None
    name_weight: float
    text: Mapping[str, Any]
    embeddings: str | VectorEncoder | None = None

    @classmethod
    def of(
        cls,
        ranker: str = "cascade",
        *,
        ranker_params: Mapping[str, Any] | None = None,
        language: str | None = AUTO,
        name_weight: float = 4.0,
        embeddings: str | VectorEncoder | None = None,
        **params: Any,
    ) -> "TaggerSettings":
        """Sort parameters by what they belong to, and check them; see `Tagger`."""
        check_number("name_weight", name_weight, 0.0, 1000.0)
        check_embeddings(embeddings)
        given, known = dict(ranker_params or {}), ranker_class(ranker).param_names()
        text = {name: value for name, value in params.items() if name in TEXT_PARAMS}
        by_name = {name: value for name, value in params.items() if name not in text}
        for name in by_name:
            if name in given:
                raise ValueError(f"{name} is given twice: by name and in ranker_params")
        given |= by_name
        for name in given:
            if name not in known:
                names = ", ".join(["language", "name_weight", "embeddings", *known, *TEXT_PARAMS])
                raise TypeError(f"a tagger with the ranker {ranker!r} has no parameter {name!r}; it has {names}")
        settings = cls(ranker, given, language, name_weight, text, embeddings)
        settings.new_ranker()
        return settings

    def replaced(self, **params: Any) -> "TaggerSettings":
        """Return settings with some parameters replaced."""
        ranker_params = {**self.ranker_params, **params.pop("ranker_params", {})}
        ranker_params |= {name: params.pop(name) for name in list(params) if name in ranker_params}
        own = {name: params.pop(name, getattr(self, name)) for name in OWN_PARAMS}
        return self.of(**own, ranker_params=ranker_params, **{**self.text, **params})

    def arguments(self) -> dict[str, Any]:
        """Return the settings as arguments of `Tagger`."""
        own = {name: getattr(self, name) for name in (*OWN_PARAMS, "ranker_params")}
        return {**own, **self.text}

    def new_ranker(self) -> Ranker:
        """Return a ranker that has learned nothing."""
        ranker = ranker_class(self.ranker)(**self.ranker_params)
        ranker.check_params()
        return ranker

    def new_encoder(self, language: str | None, weights: Mapping[str, float] | None = None) -> TextEncoder:
        """Return an encoder that suits a language and texts with fields of some weights; explicit parameters win."""
        settings = settings_for_language(None if language == AUTO else language)
        given = {**settings._asdict(), **self.text}
        if weights is not None:
            given["fields"] = tuple(self.text.get("fields") or weights)
            given["field_weights"] = {**weights, **(self.text.get("field_weights") or {})}
        return TextEncoder(**given)

    def can_become(self, other: "TaggerSettings") -> bool:
        """Tell whether a model with these settings can continue with others: only parameters of the ranker differ."""
        return self == replace(other, ranker_params=self.ranker_params, name_weight=self.name_weight)

    def unusual(self) -> dict[str, Any]:
        """Return the parameters that are not the defaults."""
        usual, encoder = TaggerSettings.of(self.ranker), replace(self, text={}).new_encoder(self.language).params()
        default = {**usual.new_ranker().params(), **encoder}
        given = {**self.ranker_params, **self.text}
        changed = {name: value for name, value in given.items() if value != default.get(name)}
        own = {"ranker": "cascade", **{name: getattr(usual, name) for name in OWN_PARAMS if name != "ranker"}}
        return {**{name: getattr(self, name) for name in own if getattr(self, name) != own[name]}, **changed}


def check_embeddings(embeddings: Any) -> None:
    """Raise TypeError if `embeddings` is neither the name of an encoder nor an encoder."""
    if not isinstance(embeddings, str | VectorEncoder | None):
        raise TypeError(
            "embeddings must be the name of an encoder, such as 'wordllama', or a VectorEncoder, "
            f"got {type(embeddings).__name__}; see abound.encoders"
        )

"""Merge models that were trained separately."""

from typing import Any, TypeVar, cast

import numpy as np

from abound.hierarchy import Hierarchy
from abound.rankers.base import Ranker, require_rankers
from abound.rankers.merging import check_params, merge_rankers
from abound.second_opinion import SecondOpinion
from abound.second_opinion.blend import Blend
from abound.tagger import Tagger
from abound.text import TextEncoder

Model = TypeVar("Model", Tagger, Ranker)


def merge(first: Model, *others: Model) -> Model:
    """Return a new model that knows what all given models learned; the models do not change.

    Labels are matched by name. Terms of taggers are matched by name, too, and features of rankers by column. Counts,
    such as document frequencies and the weights of edges, are added. Ratings and corrections are averaged, weighted by
    how much each model has learned about them. The order of the models determines the numbers of terms and labels, and
    so which of two labels with equal scores comes first.

    Parameters
    ----------
    first, *others : Tagger or ranker
        Models of one kind with the same parameters, except those that only `fit` uses. Rankers of the kinds
        "cascade", "feature-focus" and "frequency" can be merged. Served models keep their label edits.

    Returns
    -------
    Tagger or ranker

    Examples
    --------
    >>> from abound import Tagger, merge
    >>> monday = Tagger().fit(["a red apple"], [["fruit"]])
    >>> tuesday = Tagger().fit(["a fast car"], [["vehicle"]])
    >>> week = merge(monday, tuesday)
    >>> week.rank("red car", 1)[0].label in ("fruit", "vehicle"), week.n_rows
    (True, 2)
    """
    models = [first, *others]
    taggers = [model for model in models if isinstance(model, Tagger)]
    rankers = require_rankers([model for model in models if not isinstance(model, Tagger)])
    if taggers and rankers:
        raise ValueError("a tagger and a ranker cannot be merged; give models of one kind")
    return cast("Model", _merge_taggers(taggers) if taggers else merge_rankers(rankers))


def _merge_taggers(taggers: list[Tagger]) -> Tagger:
    first = taggers[0]
    for other in taggers[1:]:
        check_params(_text_params(first), _text_params(other))
    encoder = TextEncoder(**first.encoder.params())
    # Counts of terms that are not admitted yet are stored by hash and by number, so only the first model's counts stay
    # valid; such terms of the other models start from 0.
    encoder.restore(first.encoder.arrays())
    encoder.counted = any(tagger.encoder.counted for tagger in taggers)
    numbers = [np.arange(first.n_features, dtype=np.int32)]
    numbers += [encoder.vocabulary.merge(other.encoder.vocabulary) for other in taggers[1:]]
    ranker = merge_rankers([tagger.ranker for tagger in taggers], numbers)
    ranker.n_features_in_ = encoder.n_terms
    params = first.params()
    how = {"ranker_params": params.pop("ranker_params"), "embeddings": first.settings.embeddings}
    merged = Tagger(params.pop("ranker"), **how, **params)
    merged.encoder, merged.ranker = encoder, ranker
    merged.second_opinion = _merge_opinions(taggers, merged)
    heard = [tagger.outside_opinion.blend for tagger in taggers if tagger.outside_opinion is not None]
    if heard:
        most = max(heard, key=lambda blend: blend.n_learned)
        merged.outside_opinion = SecondOpinion.of_blend(Blend.from_state(most.state()))
    names: dict[str, list[str]] = {}
    for tagger in taggers:
        for label, given in tagger.label_names.items():
            known = names.setdefault(label, [])
            known += [name for name in given if name not in known]
    merged.label_names = names
    hierarchies = [tagger.hierarchy for tagger in taggers if tagger.hierarchy is not None]
    merged.hierarchy = Hierarchy.merged(hierarchies) if hierarchies else None
    if all(type(tagger) is Tagger for tagger in taggers):
        return merged
    from abound.server.served import merge_edits  # only for served models, because it takes long to import

    return merge_edits(merged, taggers)


def _merge_opinions(taggers: list[Tagger], merged: Tagger) -> SecondOpinion | None:
    """Return the second opinion of all taggers; ValueError if their vectors cannot be compared."""
    opinions = [tagger.second_opinion for tagger in taggers if tagger.second_opinion is not None]
    names = {tagger.embeddings_name for tagger in taggers}
    if len(names) > 1 or len({one.dimensions for one in opinions}) > 1:
        shown = " and ".join(sorted(str(name) for name in names))
        raise ValueError(f"models with different embeddings cannot be merged: {shown}")
    if not opinions:
        return None
    keeps, votes = (all(flags) for flags in zip(*((one.keeps_texts, one.votes) for one in opinions), strict=True))
    joined = SecondOpinion(opinions[0].dimensions, keeps_texts=keeps, votes=votes)
    for tagger in taggers:
        if tagger.second_opinion is not None:
            numbers = [merged.ranker.labels_.id_of(name) for name in tagger.ranker.labels_.names]
            joined.take_over(tagger.second_opinion, np.array(numbers, np.int32))
            merged.share_encoder(tagger)
    joined.finish_merge(merged.n_labels)
    return joined


def _text_params(tagger: Tagger) -> dict[str, Any]:
    params = {**tagger.params(), **tagger.encoder.params()}
    return {name: value for name, value in params.items() if name not in ("ranker_params", "language")}

"""Default weights of the fields of texts."""

from collections.abc import Iterable, Sequence

from abound.texts import Text

HEAVIEST_BY_DEFAULT = 8.0  # more is no better on any validation rows


def balanced_weights(texts: Iterable[Text], fields: Sequence[str]) -> dict[str, float]:
    """Return weights that let a short field count as much as the longest one.

    A weight is the mean length of the longest field, divided by that of the field, rounded, and at most 8. So the words
    of a title outweigh those of an abstract, whatever the fields are called.

    Parameters
    ----------
    texts : iterable of str, or of mappings from field to str
    fields : sequence of str

    Examples
    --------
    >>> roses = {"title": "Red roses", "abstract": "How to grow roses in a cold climate."}
    >>> balanced_weights([roses], ["title", "abstract"])
    {'title': 4.0, 'abstract': 1.0}
    """
    n_characters, n_texts = dict.fromkeys(fields, 0), dict.fromkeys(fields, 0)
    for text in texts:
        if not isinstance(text, str):
            for name, value in text.items():
                if value and name in n_characters:
                    n_characters[name] += len(value)
                    n_texts[name] += 1
    means = {name: n_characters[name] / max(n_texts[name], 1) for name in fields}
    longest = max(means.values(), default=0.0)
    return {
        name: min(float(round(longest / mean)), HEAVIEST_BY_DEFAULT) if mean else 1.0 for name, mean in means.items()
    }

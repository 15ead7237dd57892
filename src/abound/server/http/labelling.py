"""Label Studio's labelling config: which field has the text, and which labels a person can choose.

The config is XML that a client sends. A document type is refused, because only there can entities be declared, which
would expand to more than was sent.
"""

from functools import lru_cache
from typing import Literal, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

MAX_DEPTH = 50  # of options below each other
CONTROLS = ("Choices", "Taxonomy")


class Option(NamedTuple):
    """What a person can choose.

    Attributes
    ----------
    names : tuple of str
        Its alias, if it has one, and its value. The first one is in the results.
    path : tuple of str
        The results of the options above it, and its own.
    """

    names: tuple[str, ...]
    path: tuple[str, ...]


class Control(NamedTuple):
    """A tag with options for a text.

    Attributes
    ----------
    kind : {"choices", "taxonomy"}
    name, to_name : str
        The names of the tag and of the text's tag.
    field : str
        The field of a task's data that has the text.
    is_single : bool
        Whether one option at most can be chosen.
    has_paths : bool
        Whether a result is the path of an option.
    options : tuple of Option, or None
        None if they are not in the config, but come from an address.
    """

    kind: Literal["choices", "taxonomy"]
    name: str
    to_name: str
    field: str
    is_single: bool
    has_paths: bool
    options: tuple[Option, ...] | None


@lru_cache(maxsize=8)  # the config is sent with every request
def read_config(config: str) -> tuple[Control, ...]:
    """Return the tags of a labelling config from which labels of a text are chosen.

    Raises
    ------
    ValueError
        If the config is not XML, or has no such tag.

    Examples
    --------
    >>> choices = '<Choices name="c" toName="t"><Choice value="roses"/></Choices>'
    >>> [control] = read_config(f'<View><Text name="t" value="$title"/>{choices}</View>')
    >>> (control.field, control.is_single, control.options)
    ('title', True, (Option(names=('roses',), path=('roses',)),))
    """
    tags = _Tags()
    parser = ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = tags.start, tags.end
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(config.encode("utf-8", "surrogatepass"), True)
    except ExpatError as error:
        raise ValueError(f"the labelling config must be XML: {error}") from None
    return tags.controls()


def _refuse(*_: object) -> None:
    raise ValueError("the labelling config must not have a document type, and needs none")


class _Tags:
    """The tags of a config, as they are read."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[str, str]] = {}
        self._found: list[tuple[str, dict[str, str], list[Option]]] = []
        self._is_inside = False
        self._above: list[Option] = []
        self._parents: set[tuple[str, ...]] = set()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Note an opening tag."""
        if tag == "Text" and "name" in attributes:
            self._texts[attributes["name"]] = attributes
        elif tag in CONTROLS:
            self._found.append((tag, attributes, []))
            self._is_inside = True
        elif tag == "Choice" and self._is_inside:
            self._add(attributes)

    def _add(self, attributes: dict[str, str]) -> None:
        if len(self._above) >= MAX_DEPTH:
            raise ValueError(f"the options of a labelling config must be nested at most {MAX_DEPTH} levels deep")
        names = tuple(dict.fromkeys(filter(None, (attributes.get("alias"), attributes.get("value")))))
        if not names:
            raise ValueError("each Choice of a labelling config must have a value")
        above = self._above[-1].path if self._above else ()
        self._parents.add(above)
        self._above.append(Option(names, (*above, names[0])))
        self._found[-1][2].append(self._above[-1])

    def end(self, tag: str) -> None:
        """Note a closing tag."""
        if tag in CONTROLS:
            self._is_inside = False
        elif tag == "Choice" and self._above:
            self._above.pop()

    def controls(self) -> tuple[Control, ...]:
        """Return the tags with options for a text."""
        found = tuple(filter(None, (self._control(*one) for one in self._found)))
        if not found:
            raise ValueError(
                "the labelling config must have a Choices or Taxonomy tag whose toName is the name of a Text tag"
            )
        return found

    def _control(self, tag: str, attributes: dict[str, str], options: list[Option]) -> Control | None:
        names = [name.strip() for name in attributes.get("toName", "").split(",")]
        to_name = next((name for name in names if name in self._texts), None)
        if to_name is None or "name" not in attributes or attributes.get("perRegion") == "true":
            return None
        text = self._texts[to_name]
        value = text.get("value", "")
        if not value.startswith("$") or len(value) < 2 or text.get("valueType", "text") != "text":
            raise ValueError(f"the value of the Text tag {to_name!r} must be a field with a text, such as $text")
        if attributes.get("value"):
            raise ValueError(f"the options of {attributes['name']!r} must be in the labelling config, not in the tasks")
        if attributes.get("leafsOnly") == "true":
            options = [option for option in options if option.path not in self._parents]
        is_taxonomy = tag == "Taxonomy"
        is_open = is_taxonomy and bool(attributes.get("apiUrl"))
        if not options and not is_open:
            raise ValueError(f"the tag {attributes['name']!r} of the labelling config must have options")
        is_single = (
            attributes.get("maxUsages") == "1" if is_taxonomy else attributes.get("choice", "single") != "multiple"
        )
        return Control(
            "taxonomy" if is_taxonomy else "choices",
            attributes["name"],
            to_name,
            value[1:],
            is_single,
            is_taxonomy or attributes.get("allowNested") == "true",
            None if is_open else tuple(options),
        )

"""The components that can be trained on several machines, by kind."""

from abound.components.blocks import BlockComponent
from abound.components.linear import Linear
from abound.components.second_stage import SecondStage
from abound.components.votes import PlainVotes, RatedVotes

_KINDS: dict[str, type[BlockComponent]] = {
    component.kind: component for component in (PlainVotes, RatedVotes, SecondStage, Linear)
}


def component_class(kind: str) -> type[BlockComponent]:
    """Return the component of a kind.

    Examples
    --------
    >>> component_class("linear").__name__
    'Linear'
    """
    return _KINDS[kind]

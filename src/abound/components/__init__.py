"""What rankers are made of: each component is one kernel's state, with everything that can be done with it."""

from abound.components.base import Component, Moment, Reasons

__all__ = ["Component", "Moment", "Reasons"]

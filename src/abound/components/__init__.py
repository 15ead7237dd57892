"""What rankers are made of: each component is one kernel's state, with everything that can be done with it."""

from abound.components.base import BatchPosition, Component, Reasons

__all__ = ["BatchPosition", "Component", "Reasons"]

"""Components of rankers: each is the state of one kernel with all its operations."""

from abound.components.base import BatchPosition, Component, Reasons

__all__ = ["BatchPosition", "Component", "Reasons"]

"""How are labels related?"""

from abound.hierarchy.hierarchy import Hierarchy
from abound.hierarchy.reading import read_hierarchy

__all__ = ["Hierarchy", "read_hierarchy"]

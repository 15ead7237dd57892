"""Read a hierarchy from a file."""

import os

from abound.hierarchy.hierarchy import Hierarchy


def read_hierarchy(path: str | os.PathLike[str]) -> Hierarchy:
    """Read how labels are related.

    Parameters
    ----------
    path : str or path
        A SKOS vocabulary (.ttl, .nt, .rdf or .skos), whose labels are URIs; or a table of two columns, child and
        parent (.tsv or .csv). The file is decompressed by its suffix.
    """
    from abound.data import read_relations  # the readers take long to import

    return Hierarchy.of(read_relations(path))

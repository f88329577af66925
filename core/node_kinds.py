"""A kind of node: all that code needs to know to make, store, search, check and render its nodes.

Each app lists its kinds in ``kinds`` of its ``apps.py``; ``indexing.kinds.KINDS`` has all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Classes and functions are dotted paths in the app, imported on first use."""

    name: str
    plural: str  # for messages
    collection: str  # kinds share one only if their scores are comparable
    drafter: str  # the class that makes its nodes
    switch: str  # the setting of a spec that asks for its nodes
    regeneration_type: str  # the type that requests its regeneration
    search: str  # the one that finds it, a key of ``retrieval.all_searches.SEARCHES``
    # How its hits are checked and rendered: a ``CheckFunction`` and a ``HitRenderer``. If empty, as
    # nodes that are made of their document alone, and that have no position in a text.
    check: str = ""
    render: str = ""
    is_above_chunks: bool = False  # a recursive search begins with its nodes
    # For a search of the chunks below its nodes: where the best nodes are, a ``FindPlaces``.
    find_places: str = ""
    # For the passages of a page: their rows, given its id and a grant; empty if it has none.
    list_on_page: str = ""
    # Refuses metadata from which its nodes cannot be made, a ``CheckMetadata``.
    check_metadata: str = ""
    embedding: str = "embedding"  # the setting of a spec that names its model
    is_standalone: bool = False  # one node for each row of a table, not from artifacts
    has_categories: bool = False  # its rows have a ``category``
    has_sparse: bool = True  # whether its texts have enough terms for BM25
    text_field: str = "text"  # the payload field that holds the embedded text
    payload_fields: frozenset[str] = frozenset()  # in addition to RESERVED_FIELDS
    indexed_fields: Mapping[str, str] = field(default_factory=dict)  # beside the spec's; with types

"""All kinds of node. Code that depends on a kind reads this table."""

from core.apps import list_apps
from core.node_kinds import Kind

KINDS: dict[str, Kind] = {kind.name: kind for app in list_apps() for kind in app.kinds}

# Fields of every payload, which filters may use; a declared field cannot have these names.
BUILT_IN_FIELDS: dict[str, str] = {
    "artifact_id": "keyword",
    "page_id": "keyword",
    "source_id": "keyword",
    "page_index": "integer",
    "kind": "keyword",
    "strategy": "keyword",
    "media_type": "keyword",
    "external_id": "keyword",
    "artifact_title": "keyword",
    "groups": "keyword",
}
# Indexes of ids are smaller than those of words. Filters take them as words.
ID_FIELDS = {"artifact_id": "uuid", "page_id": "uuid", "source_id": "uuid"}
RESERVED_FIELDS = frozenset(BUILT_IN_FIELDS) | {
    "all_of", "any_of", "not", "text", "content", "meta", "score", "id", "chunk_index",
    "start_offset", "end_offset", "text_hash", "source_hash", "source_ordinal", "metadata",
    "file_name", "page_warnings",
}  # fmt: skip


def list_regeneration_types() -> list[str]:
    """The types that people can regenerate."""
    return sorted({kind.regeneration_type for kind in KINDS.values()})

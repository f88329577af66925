"""The kinds of node, described in one table.

All code that depends on a kind reads this table. The class that ``drafter`` names makes the nodes;
the table in ``retrieval/hits.py`` says how hits are checked and rendered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    plural: str  # for messages
    collection: str  # kinds share one only if their scores are comparable
    drafter: str  # dotted path of the class that makes its nodes; imported on first use
    switch: str  # the setting of a spec that asks for its nodes
    regeneration_type: str  # the type that requests its regeneration
    embedding: str = "embedding"  # the setting of a spec that names its model
    is_standalone: bool = False  # one node for each row of a table, not from artifacts
    has_categories: bool = False  # its rows have a ``category``
    has_sparse: bool = True  # whether its texts have enough terms for BM25
    text_field: str = "text"  # the payload field that holds the embedded text
    payload_fields: frozenset[str] = frozenset()  # in addition to RESERVED_FIELDS
    indexed_fields: Mapping[str, str] = field(default_factory=dict)  # beside the spec's; with types


_SUMMARY_FIELDS = frozenset(
    {"type", "entity_id", "summary_text", "model_name", "date_embedded", "page_count"}
)
_QUESTION_FIELDS = frozenset(
    {
        "question", "chunk_text", "chunk_id", "chunk_hash", "annotation_hash", "source",
        "summary", "model_name", "hypothetical_questions", "heading",
    }
)  # fmt: skip

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in [
        Kind(
            name="chunk",
            plural="chunks",
            collection="chunk",
            drafter="indexing.drafting.chunk.ChunkDrafter",
            switch="chunks.embed",
            regeneration_type="chunk",
        ),
        Kind(
            name="page_summary",
            plural="page summaries",
            collection="summary",
            drafter="summaries.text_nodes.PageSummaryDrafter",
            switch="page_summaries",
            regeneration_type="summary",
            text_field="summary_text",
            payload_fields=_SUMMARY_FIELDS,
            indexed_fields={"type": "keyword", "entity_id": "uuid", "model_name": "keyword"},
        ),
        Kind(
            name="artifact_summary",
            plural="artifact summaries",
            collection="summary",
            drafter="summaries.text_nodes.ArtifactSummaryDrafter",
            switch="artifact_summaries",
            regeneration_type="summary",
            text_field="summary_text",
            payload_fields=_SUMMARY_FIELDS,
            indexed_fields={"type": "keyword", "entity_id": "uuid", "model_name": "keyword"},
        ),
        Kind(
            name="question",
            plural="questions",
            collection="question",
            drafter="summaries.text_nodes.QuestionDrafter",
            switch="questions",
            regeneration_type="question",
            text_field="question",
            payload_fields=_QUESTION_FIELDS,
            indexed_fields={
                "chunk_id": "uuid",
                "source": "keyword",
                "model_name": "keyword",
                "question": "text",
                "summary": "text",
                "chunk_text": "text",
            },
        ),
        Kind(
            name="concept",
            plural="concepts",
            collection="concept",
            drafter="concepts.concept_nodes.ConceptDrafter",
            switch="concepts",
            regeneration_type="concept",
            is_standalone=True,
            has_sparse=False,  # a name of two words
        ),
        Kind(
            name="relationship_type",
            plural="relationship types",
            collection="relationship",
            drafter="concepts.concept_nodes.RelationshipTypeDrafter",
            switch="concepts",
            regeneration_type="vocabulary",
            is_standalone=True,
            has_categories=True,
            has_sparse=False,
        ),
        Kind(
            name="relationship",
            plural="relationships",
            collection="relationship",
            drafter="concepts.concept_nodes.RelationshipDrafter",
            switch="concepts",
            regeneration_type="relationship",
            is_standalone=True,
            has_sparse=False,
        ),
        Kind(
            name="compound",
            plural="chemical structures",
            collection="compound",
            drafter="indexing.drafting.own_spaces.CompoundDrafter",
            switch="compounds",
            regeneration_type="compound",
            embedding="compounds.embedding",
            has_sparse=False,
        ),
        Kind(
            name="image",
            plural="images",
            collection="image",
            drafter="indexing.drafting.own_spaces.ImageDrafter",
            switch="images",
            regeneration_type="image",
            embedding="images.embedding",
            has_sparse=False,
        ),
    ]
}

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
    "file_name",
}  # fmt: skip


def list_regeneration_types() -> list[str]:
    """The types that people can regenerate."""
    return sorted({kind.regeneration_type for kind in KINDS.values()})

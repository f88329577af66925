"""The kinds of node, where each lives, and which names their payloads take."""

# The collection each kind lives in: page and artifact summaries share one, for their scores
# compare.
COLLECTIONS: dict[str, str] = {
    "chunk": "chunk",
    "page_summary": "summary",
    "artifact_summary": "summary",
    "question": "question",
    "concept": "concept",
    "relationship_type": "relationship",
    "compound": "compound",
    "image": "image",
}

# Kinds without terms of BM25: a name of two words has too few of them, a structure and a picture
# none.
DENSE_KINDS = frozenset({"concept", "relationship_type", "compound", "image"})

# What payloads of these kinds use besides.
FIELDS_OF_KINDS: dict[str, frozenset[str]] = {
    "chunk": frozenset(),
    "page_summary": frozenset(
        {"type", "entity_id", "summary_text", "model_name", "date_embedded", "page_count"}
    ),
    "question": frozenset(
        {
            "question", "chunk_text", "chunk_id", "chunk_hash", "annotation_hash", "source",
            "summary", "model_name", "hypothetical_questions", "heading",
            # What every hit has: a question's hit shows the declared fields beside it.
            "artifact", "page", "passage", "verdict", "score_kind", "node_id", "explain", "index",
        }
    ),
}  # fmt: skip
FIELDS_OF_KINDS |= {kind: frozenset() for kind in DENSE_KINDS}
FIELDS_OF_KINDS["artifact_summary"] = FIELDS_OF_KINDS["page_summary"]

# Names a payload already uses, and filters may name; a declared field cannot take them.
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
}
RESERVED_FIELDS = frozenset(BUILT_IN_FIELDS) | {
    "all_of", "any_of", "not", "text", "content", "meta", "score", "id", "chunk_index",
    "start_offset", "end_offset", "text_hash", "source_hash", "source_ordinal", "metadata",
}  # fmt: skip

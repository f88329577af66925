"""The kinds of node: the collection of each, and the payload fields it uses."""

# The collection each kind lives in: page and artifact summaries share one, for their scores
# compare.
COLLECTION_BY_KIND: dict[str, str] = {
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
DENSE_ONLY_KINDS = frozenset({"concept", "relationship_type", "compound", "image"})

# What payloads of these kinds use besides.
PAYLOAD_FIELDS_BY_KIND: dict[str, frozenset[str]] = {
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
PAYLOAD_FIELDS_BY_KIND |= {kind: frozenset() for kind in DENSE_ONLY_KINDS}
PAYLOAD_FIELDS_BY_KIND["artifact_summary"] = PAYLOAD_FIELDS_BY_KIND["page_summary"]

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

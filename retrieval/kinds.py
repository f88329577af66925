"""The kinds of node of the core. Their drafters are below, their checks here."""

from dataclasses import replace

from core.node_kinds import Kind

_SUMMARY_FIELDS = frozenset(
    {"type", "entity_id", "summary_text", "model_name", "date_embedded", "page_count"}
)
_QUESTION_FIELDS = frozenset(
    {
        "question", "chunk_text", "chunk_id", "chunk_hash", "annotation_hash", "source",
        "summary", "model_name", "hypothetical_questions", "heading",
    }
)  # fmt: skip

_PAGE_SUMMARY = Kind(
    name="page_summary",
    plural="page summaries",
    collection="summary",
    drafter="summaries.text_nodes.PageSummaryDrafter",
    switch="page_summaries",
    regeneration_type="summary",
    text_field="summary_text",
    payload_fields=_SUMMARY_FIELDS,
    indexed_fields={"type": "keyword", "entity_id": "uuid", "model_name": "keyword"},
    search="summaries",
    is_above_chunks=True,
    check="retrieval.search.hit_checks.check_summaries",
    render="retrieval.serializers.answers.render_summary",
)

KINDS = [
    Kind(
        name="chunk",
        plural="chunks",
        collection="chunk",
        drafter="indexing.drafting.chunk.ChunkDrafter",
        switch="chunks.embed",
        regeneration_type="chunk",
        search="pages",
        check="retrieval.search.hit_checks.check_chunks",
        render="retrieval.serializers.answers.render_chunk",
        list_on_page="retrieval.source_context.list_chunks",
    ),
    _PAGE_SUMMARY,
    replace(
        _PAGE_SUMMARY,
        name="artifact_summary",
        plural="artifact summaries",
        drafter="summaries.text_nodes.ArtifactSummaryDrafter",
        switch="artifact_summaries",
        is_above_chunks=False,  # the search for those of pages finds them, too
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
        search="questions",
        is_above_chunks=True,
        check="retrieval.search.hit_checks.check_questions",
        render="retrieval.serializers.answers.render_question",
        list_on_page="retrieval.source_context.list_questions",
    ),
]

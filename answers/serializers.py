"""Reads and checks a question, and renders what a pipeline found for it."""

from dataclasses import asdict, replace
from typing import Any

from rest_framework import serializers

from answers.asking import AskRequest, PipelineHits
from answers.questions.follow_ups import MAX_TURNS
from core.openapi import with_example
from core.serializers import MAX_NAME_CHARS, FlagField, StrictSerializer, StringField
from retrieval.hits import get_hit_renderer
from retrieval.passages import Passage
from retrieval.search import MAX_LIMIT, MAX_QUERY_CHARS
from retrieval.serializers.answers import render_answer_head
from retrieval.serializers.requests import (
    ONLY_INDEX,
    ConditionsSerializer,
    FilterField,
    IndexNameField,
    QuerySerializer,
    VersionsSerializer,
)

MAX_ANSWER_CHARS = 20_000  # of an earlier answer


@with_example({"index": "handbook", "query": "When is the lamp lit?"})
class AskParametersSerializer(ConditionsSerializer, QuerySerializer, VersionsSerializer):
    """A user's question."""

    index = IndexNameField(required=False, help_text=ONLY_INDEX)
    filter = FilterField(
        required=False, help_text="Applied in addition to the filters found in the question."
    )
    limit = serializers.IntegerField(
        default=10, min_value=1, max_value=MAX_LIMIT, help_text="Maximum number of hits."
    )
    pipeline = serializers.CharField(
        required=False,
        max_length=MAX_NAME_CHARS,
        help_text="Default: the pipeline named in the index's spec.",
    )
    explain = FlagField(
        default=False, help_text="Explain for each hit what each component did to it."
    )
    why_not = serializers.UUIDField(
        required=False, help_text="Id of a node or artifact: explain which component dropped it."
    )


class TurnSerializer(StrictSerializer):
    question = StringField(max_length=MAX_QUERY_CHARS)
    answer = StringField(max_length=MAX_ANSWER_CHARS, allow_blank=True)


@with_example({"index": "handbook", "query": "When is the lamp lit?"})
class AskBodySerializer(AskParametersSerializer):
    """A user's question, and what was asked before it."""

    history = serializers.ListField(
        child=TurnSerializer(),
        required=False,
        max_length=MAX_TURNS,
        help_text="Earlier questions of the conversation with their answers, the first first. A "
        "language model rewrites the question so that it is understood without them.",
    )


def render_pipeline_hits(question: AskRequest, found: PipelineHits) -> dict[str, Any]:
    """Render what a pipeline found for a question, before an answer is written."""
    content = {
        **render_answer_head(found.builds or {question.index: None}, found.took_ms),
        "pipeline": found.pipeline,
        "relevant": found.relevant if found.refusal is None else False,
        "refusal": found.refusal and asdict(found.refusal),
        "hits": [_render_pipeline_passage(each, question.explain) for each in found.passages],
        "relationships": [each.render() for each in found.relationships],
        "filters": found.filter or {},
        "parsed": found.parsed,
        "question": found.question,
        "semantic_query": found.semantic_query,
        "query": found.query,
        "queries": found.queries,
        "identified": found.identified,
        "notes": found.notes,
        "dropped": asdict(found.dropped),
        "started_at": found.started_at,
        "found_at": found.found_at,
    }
    return content if question.why_not is None else content | {"why_not": found.why_not}


def _render_pipeline_passage(passage: Passage, explain: bool) -> dict[str, Any]:
    """Render a passage as a hit with the pipeline's score; ``explain`` lists its steps."""
    hit = replace(passage.hit, score=passage.score, explanation=None)
    render_hit = get_hit_renderer(hit.payload.get("kind", "chunk"))
    content = render_hit(hit, passage.score_kind) | {"similarity": passage.similarity}
    return content | {"explain": list(passage.steps)} if explain else content

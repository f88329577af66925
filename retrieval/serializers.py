"""What the read side takes over HTTP, and what it answers.

Answers are built as plain dicts, for a serializer per hit costs more than the search; the
serializers of answers only describe them in the schema.
"""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from documents.exceptions import InvalidInput, Malformed
from documents.parsers import load_json
from documents.serializers import StrictSerializer, StringField, invalid_input
from retrieval.context import MAX_WINDOW, SourceContext
from retrieval.explanation import Explanation, Share
from retrieval.search import (
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    ChunkHit,
    Mode,
    SearchAnswer,
    SearchRequest,
    Stale,
)


@extend_schema_field(
    {
        "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "One name, or several that share an embedding model.",
    }
)
class IndexNamesField(serializers.Field):
    """A name, several with commas between them, or a list of names."""

    default_error_messages = {"invalid": "This takes the name of an index, or a list of names."}

    def to_internal_value(self, data: Any) -> list[str]:
        names = data.split(",") if isinstance(data, str) else data
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.fail("invalid")
        names = [name.strip() for name in names]
        if not names or "" in names:
            self.fail("invalid")
        return names

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "object", "additionalProperties": True})
class FilterField(serializers.Field):
    """Passed on as it is: ``retrieval.filters`` knows better what is wrong with one."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class SearchParametersSerializer(StrictSerializer):
    index = IndexNamesField()
    query = StringField(required=False, max_length=MAX_QUERY_CHARS)
    q = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="The same as query.")
    mode = serializers.ChoiceField(choices=[str(mode) for mode in Mode], default="hybrid")
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)
    filter = FilterField(
        required=False,
        help_text='Such as {"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}; all_of, any_of '
        "and not nest. JSON text in a query string.",
    )
    min_score = serializers.FloatField(
        required=False, help_text="On the scale of the mode's scores."
    )
    verify = serializers.BooleanField(
        default=True, help_text="Compare each hit with the document as it is now."
    )
    explain = serializers.BooleanField(
        default=False, help_text="Say what gave each hit its score; costs two more requests."
    )
    stale = serializers.ChoiceField(
        choices=[str(stale) for stale in Stale],
        default="flag",
        help_text="What becomes of hits whose document has changed since.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        query, q = attrs.get("query"), attrs.pop("q", None)
        if query is not None and q is not None:
            raise InvalidInput("Give query or q, not both.", field="q")
        attrs["query"] = q if query is None else query
        if attrs["query"] is None:
            raise InvalidInput("Give a query.", field="query")
        return attrs


# Shared by all requests: a serializer of its own would copy every field for each.
_search_parameters = SearchParametersSerializer()


def read_search_request(content: Any) -> SearchRequest:
    """
    Raises:
        InvalidInput: the first thing wrong with it.
    """
    try:
        values = _search_parameters.run_validation(content)
    except serializers.ValidationError as error:
        raise invalid_input(error.detail, _search_parameters.fields) from None
    return SearchRequest(
        indexes=values["index"],
        query=values["query"],
        mode=Mode(values["mode"]),
        limit=values["limit"],
        offset=values["offset"],
        filter=values.get("filter"),
        min_score=values.get("min_score"),
        verify=values["verify"],
        explain=values["explain"],
        stale=Stale(values["stale"]),
    )


def read_query_string(params: QueryDict) -> dict[str, Any]:
    """A query string as the JSON body it stands for: ``index`` may repeat, ``filter`` is JSON.

    Raises:
        InvalidInput: a parameter that stands twice, or a filter that is not JSON.
    """
    content: dict[str, Any] = {}
    for name, values in params.lists():
        if name == "index":
            content[name] = [part for value in values for part in value.split(",")]
            continue
        if len(values) > 1:
            raise InvalidInput(f"{name[:100]} stands there twice.", field=name[:100])
        content[name] = values[0]
    if "filter" in content:
        try:
            content["filter"] = load_json(content["filter"])
        except Malformed:
            raise InvalidInput(
                "The filter is not JSON.",
                field="filter",
                fix='Write it as {"year": {"gte": 2019}}, percent-encoded.',
            ) from None
    return content


# --- Answers ---------------------------------------------------------------------------------


def render_answer(answer: SearchAnswer) -> dict[str, Any]:
    """``index`` and ``build`` are lists where several indexes were asked; hits then name theirs."""
    is_several = len(answer.builds) > 1
    names, numbers = list(answer.builds), list(answer.builds.values())
    content: dict[str, Any] = {
        "index": names if is_several else names[0],
        "build": numbers if is_several else numbers[0],
        "took_ms": answer.took_ms,
        "hits": [render_hit(hit, answer.score_kind) for hit in answer.hits],
        "dropped": {
            "orphans": answer.dropped.orphans,
            "integrity_errors": answer.dropped.integrity_errors,
        },
    }
    if is_several:
        for rendered, hit in zip(content["hits"], answer.hits, strict=True):
            rendered["index"] = hit.index
    return content


def render_hit(hit: ChunkHit, score_kind: str) -> dict[str, Any]:
    payload = hit.payload
    content = {
        "score": hit.score,
        "score_kind": score_kind,
        "node_id": str(hit.node_id),
        "kind": payload.get("kind"),
        "text": payload.get("text"),
        "start_offset": payload.get("start_offset"),
        "end_offset": payload.get("end_offset"),
        "verdict": hit.verdict,
        "artifact": {
            "id": payload.get("artifact_id"),
            "title": payload.get("artifact_title"),
            "external_id": payload.get("external_id"),
        },
        "page": {"id": payload.get("page_id"), "index": payload.get("page_index")},
        "source": {"id": payload.get("source_id"), "ordinal": payload.get("source_ordinal")},
        "metadata": payload.get("metadata") or {},
    }
    if hit.explanation is not None:
        content["explain"] = _render_explanation(hit.explanation)
    return content


def _render_explanation(explanation: Explanation) -> dict[str, Any]:
    fusion = explanation.fusion
    return {
        "dense": _render_share(explanation.dense),
        "sparse": _render_share(explanation.sparse),
        "fusion": None
        if fusion is None
        else {
            "k": fusion.k,
            "weights": {"dense": fusion.dense_weight, "sparse": fusion.sparse_weight},
        },
    }


def _render_share(share: Share | None) -> dict[str, Any] | None:
    if share is None:
        return None
    return {"rank": share.rank, "score": share.score, "contribution": share.contribution}


def render_source(context: SourceContext) -> dict[str, Any]:
    source = context.source
    return {
        "id": str(source.pk),
        "ordinal": source.ordinal,
        "heading": source.heading,
        "text": source.text,
        "start": source.start,
        "end": source.end,
        "content_hash": source.content_hash,
        "artifact": {
            "id": str(source.artifact_id),
            "title": source.artifact.title,
            "external_id": source.artifact.external_id,
            "index": source.artifact.index,
        },
        "page": {
            "id": str(source.page_id),
            "index": source.page.index,
            "label": source.page.label,
        },
        "chunks": [
            {
                "node_id": str(node.point_id),
                "strategy": node.strategy,
                "chunk_index": node.chunk_index,
                "start_offset": node.start_offset,
                "end_offset": node.end_offset,
                "state": node.state,
            }
            for node in context.chunks
        ],
        "neighbours": [
            {
                "id": str(neighbour.pk),
                "ordinal": neighbour.ordinal,
                "heading": neighbour.heading,
                "text": neighbour.text,
                "page": {"id": str(neighbour.page_id), "index": neighbour.page.index},
            }
            for neighbour in context.neighbours
        ],
    }


# --- For the schema only ---------------------------------------------------------------------


class HitArtifactSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    title = serializers.CharField()
    external_id = serializers.CharField(allow_null=True)


class HitPageSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    index = serializers.IntegerField(help_text="Counted from 0.")


class HitSourceSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    ordinal = serializers.IntegerField(help_text="Within its artifact, counted from 0.")


class HitShareSerializer(serializers.Serializer):
    rank = serializers.IntegerField(help_text="Counted from 1.")
    score = serializers.FloatField(allow_null=True)
    contribution = serializers.FloatField()


class FusionWeightsSerializer(serializers.Serializer):
    dense = serializers.FloatField()
    sparse = serializers.FloatField()


class HitFusionSerializer(serializers.Serializer):
    k = serializers.IntegerField()
    weights = FusionWeightsSerializer()


class HitExplanationSerializer(serializers.Serializer):
    dense = HitShareSerializer(allow_null=True)
    sparse = HitShareSerializer(allow_null=True)
    fusion = HitFusionSerializer(allow_null=True)


class HitSerializer(serializers.Serializer):
    score = serializers.FloatField()
    score_kind = serializers.ChoiceField(choices=["rrf", "cosine", "bm25"])
    node_id = serializers.UUIDField()
    kind = serializers.CharField()
    text = serializers.CharField()
    start_offset = serializers.IntegerField(help_text="Unicode code points, in the source's text.")
    end_offset = serializers.IntegerField()
    verdict = serializers.ChoiceField(
        choices=["exact", "stale"], allow_null=True, help_text="Null where verify is false."
    )
    artifact = HitArtifactSerializer()
    page = HitPageSerializer()
    source = HitSourceSerializer()  # type: ignore[assignment]  # a field's name of DRF's own
    metadata = serializers.DictField()
    explain = HitExplanationSerializer(required=False)


class StageTimesSerializer(serializers.Serializer):
    embed = serializers.FloatField()
    search = serializers.FloatField()
    verify = serializers.FloatField()
    total = serializers.FloatField()


class DroppedPointsSerializer(serializers.Serializer):
    orphans = serializers.IntegerField()
    integrity_errors = serializers.IntegerField()


class PageSearchAnswerSerializer(serializers.Serializer):
    index = IndexNamesField()
    build = serializers.JSONField(help_text="Build number; a list where several indexes are.")
    took_ms = StageTimesSerializer()
    hits = HitSerializer(many=True)
    dropped = DroppedPointsSerializer()


class SourceParametersSerializer(StrictSerializer):
    window = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_WINDOW, help_text="Neighbours on each side."
    )


class SourceChunkSerializer(serializers.Serializer):
    node_id = serializers.UUIDField()
    strategy = serializers.CharField()
    chunk_index = serializers.IntegerField(allow_null=True)
    start_offset = serializers.IntegerField()
    end_offset = serializers.IntegerField()
    state = serializers.CharField()


class SourceNeighbourSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    ordinal = serializers.IntegerField()
    heading = serializers.CharField()
    text = serializers.CharField()
    page = HitPageSerializer()


class SourceArtifactSerializer(HitArtifactSerializer):
    index = serializers.CharField()


class SourcePageSerializer(HitPageSerializer):
    label = serializers.CharField()  # type: ignore[assignment]


class SourceAnswerSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    ordinal = serializers.IntegerField()
    heading = serializers.CharField()
    text = serializers.CharField()
    start = serializers.IntegerField(help_text="In its page's text.")
    end = serializers.IntegerField()
    content_hash = serializers.CharField(allow_null=True)
    artifact = SourceArtifactSerializer()
    page = SourcePageSerializer()
    chunks = SourceChunkSerializer(many=True)
    neighbours = SourceNeighbourSerializer(many=True)


def read_window(params: Mapping[str, Any]) -> int:
    parameters = SourceParametersSerializer(data=params)
    parameters.is_valid(raise_exception=True)
    return int(parameters.validated_data["window"])

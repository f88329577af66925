"""Describes the answers of searches in the OpenAPI document."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from core.openapi import make_list_example, with_example
from core.serializers import ListSerializer
from retrieval.serializers.requests import IndexNamesField
from retrieval.tools import FilterStep

HIT_EXAMPLE: dict[str, Any] = {
    "score": 0.0328,
    "score_kind": "rrf",
    "node_id": "8c2f0a52-58a4-5d5c-9d0e-3d4f0a4f2f6e",
    "kind": "chunk",
    "text": "The lamp is lit at sunset.",
    "start_offset": 0,
    "end_offset": 26,
    "verdict": "exact",
    "artifact": {
        "id": "0b7c1c9e-6c1b-4f5e-9a55-6f0a1de3f6a1",
        "title": "Keeper's handbook",
        "external_id": "handbook-7",
        "file_name": "handbook.pdf",
    },
    "page": {"id": "5d0f6f0e-1c0a-4a53-8f6e-2b1f5f7f3a10", "index": 0},
    "source": {"id": "a3bb189e-8bf9-4888-9912-ace4e6543002", "ordinal": 0},
    "metadata": {"year": 1911},
}


def make_search_example(**content: Any) -> dict[str, Any]:
    return {
        "index": "handbook",
        "build": 1,
        "took_ms": {"embed": 4.1, "search": 1.9, "verify": 0.8, "total": 7.2},
        "notes": [],
        "dropped": {"orphans": 0, "integrity_errors": 0},
        **content,
    }


@extend_schema_field(
    {
        # Inside ``allOf``, so that the generator does not create a named type for it.
        "allOf": [{"type": "string", "enum": ["exact", "stale"]}],
        "nullable": True,
        "description": "Null where verify is false.",
    }
)
class VerdictField(serializers.CharField):
    pass


@extend_schema_field(
    {
        "oneOf": [
            {"type": "integer", "nullable": True},
            {"type": "array", "items": {"type": "integer", "nullable": True}},
        ],
        "description": "Null while there is no live build; a list where several indexes were "
        "searched.",
    }
)
class BuildNumbersField(serializers.Field):
    pass


SEVERAL_HELP = "Only if several indexes were searched."


class HitArtifactSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    title = serializers.CharField()
    external_id = serializers.CharField(allow_null=True)
    file_name = serializers.CharField(
        allow_null=True, help_text="Of the original; empty for a text given without a file."
    )


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


class CommonHitSerializer(serializers.Serializer):
    """The fields of every kind of hit."""

    score = serializers.FloatField()
    score_kind = serializers.ChoiceField(choices=["rrf", "cosine", "bm25"])
    node_id = serializers.UUIDField()
    kind = serializers.CharField()
    text = serializers.CharField()
    verdict = VerdictField(allow_null=True)
    artifact = HitArtifactSerializer()
    metadata = serializers.DictField()
    index = serializers.CharField(required=False, help_text=SEVERAL_HELP)
    explain = HitExplanationSerializer(required=False)


class HitSerializer(CommonHitSerializer):
    start_offset = serializers.IntegerField(help_text="Unicode code points, in the source's text.")
    end_offset = serializers.IntegerField()
    page = HitPageSerializer()
    source = HitSourceSerializer()  # type: ignore[assignment]  # DRF has an attribute of this name


class SummaryHitSerializer(CommonHitSerializer):
    start_offset = serializers.IntegerField(allow_null=True, help_text="Always null.")
    end_offset = serializers.IntegerField(allow_null=True, help_text="Always null.")
    page = HitPageSerializer(allow_null=True)
    source = HitSourceSerializer(  # type: ignore[assignment]
        allow_null=True, help_text="Always null."
    )
    type = serializers.CharField(help_text="`page_summary` or `artifact_summary`.")
    entity_id = serializers.UUIDField(help_text="Id of the page or artifact.")
    artifact_id = serializers.UUIDField()
    artifact_title = serializers.CharField()
    summary_text = serializers.CharField()
    model_name = serializers.CharField(help_text="Model or method that wrote it.")
    date_embedded = serializers.DateTimeField(allow_null=True)
    page_id = serializers.UUIDField(required=False, help_text="Only for page summaries.")
    page_index = serializers.IntegerField(required=False, help_text="Only for page summaries.")
    page_count = serializers.IntegerField(required=False, help_text="Only for artifact summaries.")


class QuestionHitSerializer(CommonHitSerializer):
    """A chunk and the question that found it, with every metadata field that the index declares."""

    start_offset = serializers.IntegerField(help_text="Unicode code points, in the passage's text.")
    end_offset = serializers.IntegerField()
    page = HitPageSerializer()
    passage = HitSourceSerializer()
    source = serializers.CharField(help_text="File name.")  # type: ignore[assignment]
    id = serializers.UUIDField(help_text="Id of the question.")
    chunk_id = serializers.UUIDField()
    question = serializers.CharField(
        allow_null=True, help_text="Null if the passage has no questions: its own words were found."
    )
    summary = serializers.CharField(help_text="One-line summary of the chunk.")


class StageTimesSerializer(serializers.Serializer):
    embed = serializers.FloatField()
    search = serializers.FloatField()
    verify = serializers.FloatField()
    total = serializers.FloatField()


class DroppedPointsSerializer(serializers.Serializer):
    orphans = serializers.IntegerField()
    integrity_errors = serializers.IntegerField()


class SearchAnswerSerializer(serializers.Serializer):
    index = IndexNamesField()
    build = BuildNumbersField()
    took_ms = StageTimesSerializer()
    notes = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the answer lacks: for example that it was found by words only, because the "
        "endpoint of the embedding model failed.",
    )
    dropped = DroppedPointsSerializer()


@with_example(make_search_example(hits=[HIT_EXAMPLE]))
class PageSearchAnswerSerializer(SearchAnswerSerializer):
    hits = HitSerializer(many=True)


@with_example(
    make_search_example(
        hits=[
            HIT_EXAMPLE
            | {
                "kind": "page_summary",
                "node_id": HIT_EXAMPLE["page"]["id"],
                "text": "When and how the lamp is lit.",
                "start_offset": None,
                "end_offset": None,
                "source": None,
                "type": "page_summary",
                "entity_id": HIT_EXAMPLE["page"]["id"],
                "artifact_id": HIT_EXAMPLE["artifact"]["id"],
                "artifact_title": "Keeper's handbook",
                "summary_text": "When and how the lamp is lit.",
                "model_name": "extractive",
                "date_embedded": "2026-03-02T09:30:04Z",
                "page_id": HIT_EXAMPLE["page"]["id"],
                "page_index": 0,
            }
        ]
    )
)
class SummarySearchAnswerSerializer(SearchAnswerSerializer):
    hits = SummaryHitSerializer(many=True)


QUESTION_HIT_EXAMPLE = HIT_EXAMPLE | {
    "kind": "question",
    "source": "handbook.pdf",
    "passage": HIT_EXAMPLE["source"],
    "id": "8c2f0a52-58a4-5d5c-9d0e-3d4f0a4f2f6e",
    "chunk_id": "16fd2706-8baf-533b-82eb-8c7fada847da",
    "question": "When is the lamp lit?",
    "summary": "When the lamp is lit.",
}


@with_example(make_search_example(hits=[QUESTION_HIT_EXAMPLE]))
class QuestionSearchAnswerSerializer(SearchAnswerSerializer):
    hits = QuestionHitSerializer(many=True)


class _ToolHitSerializer(serializers.Serializer):
    similarity = serializers.FloatField(
        allow_null=True, help_text="Cosine of the query and the matched question or passage."
    )


class ToolPassageHitSerializer(HitSerializer, _ToolHitSerializer):
    pass


class ToolQuestionHitSerializer(QuestionHitSerializer, _ToolHitSerializer):
    pass


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="ToolHit",
        serializers=[ToolPassageHitSerializer, ToolQuestionHitSerializer],
        resource_type_field_name=None,
        many=True,
    )
)
class ToolHitsField(serializers.ListField):
    """Chunks, or chunks with the questions that found them, depending on the tool."""


@with_example(
    make_search_example(hits=[QUESTION_HIT_EXAMPLE | {"similarity": 0.81}], filter_applied="exact")
)
class ToolAnswerSerializer(SearchAnswerSerializer):
    hits = ToolHitsField()
    filter_applied = serializers.ChoiceField(
        choices=[str(step) for step in FilterStep],
        allow_null=True,
        help_text="How the arguments filtered: by the exact value; if that left nothing, by "
        "declared synonyms; if that left nothing too, not at all, with hits that mention the value "
        "ranked higher (`boost`). Null for a tool that does not filter.",
    )


class StructureMatchSerializer(serializers.Serializer):
    node_id = serializers.UUIDField()
    smiles = serializers.CharField(help_text="As written in the artifact.")
    similarity = serializers.FloatField(help_text="Cosine of the fingerprints.")
    rank = serializers.IntegerField(help_text="Counted from 1.")
    verdict = VerdictField(allow_null=True)


class RankedHitSerializer(HitSerializer):
    rank = serializers.IntegerField(
        help_text="Rank of its artifact in the text search, counted from 1."
    )


class SpaceHitSerializer(serializers.Serializer):
    """An artifact found in a separate vector space, by its passages, or both."""

    score = serializers.FloatField()
    score_kind = serializers.CharField(help_text="`cosine`; with passages, `rrf`.")
    artifact = HitArtifactSerializer()
    metadata = serializers.DictField()
    index = serializers.CharField(required=False, help_text=SEVERAL_HELP)
    passage = RankedHitSerializer(allow_null=True, help_text="Null if none was found or requested.")


class StructureHitSerializer(SpaceHitSerializer):
    structure = StructureMatchSerializer(
        allow_null=True, help_text="Null if only the text search found it."
    )


_SPACE_HIT_EXAMPLE = {
    "score": 0.92,
    "score_kind": "cosine",
    "artifact": HIT_EXAMPLE["artifact"],
    "metadata": {},
    "passage": None,
}


@with_example(
    make_search_example(
        hits=[
            _SPACE_HIT_EXAMPLE
            | {
                "structure": {
                    "node_id": HIT_EXAMPLE["node_id"],
                    "smiles": "CC(=O)Oc1ccccc1C(=O)O",
                    "similarity": 0.92,
                    "rank": 1,
                    "verdict": "exact",
                }
            }
        ]
    )
)
class StructureSearchAnswerSerializer(SearchAnswerSerializer):
    hits = StructureHitSerializer(many=True, help_text="Artifacts, best first.")


class ImageMatchSerializer(serializers.Serializer):
    node_id = serializers.UUIDField()
    media_type = serializers.CharField()
    sha256 = serializers.CharField(help_text="SHA-256 of the embedded image file.")
    similarity = serializers.FloatField(help_text="Cosine of image and query.")
    rank = serializers.IntegerField(help_text="Counted from 1.")
    verdict = VerdictField(allow_null=True)


class ImageHitSerializer(SpaceHitSerializer):
    image = ImageMatchSerializer(
        allow_null=True, help_text="Null if only the artifact's passages were found."
    )


@with_example(
    make_search_example(
        hits=[
            _SPACE_HIT_EXAMPLE
            | {
                "image": {
                    "node_id": HIT_EXAMPLE["node_id"],
                    "media_type": "image/png",
                    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                    "similarity": 0.92,
                    "rank": 1,
                    "verdict": "exact",
                }
            }
        ]
    )
)
class ImageSearchAnswerSerializer(SearchAnswerSerializer):
    hits = ImageHitSerializer(many=True, help_text="Artifacts, best first.")


class PageGroupSerializer(serializers.Serializer):
    page_id = serializers.UUIDField()
    page_index = serializers.IntegerField(help_text="Counted from 0.")
    score = serializers.FloatField()
    summary_snippet = serializers.CharField(allow_null=True)
    supporting_chunks = HitSerializer(many=True, help_text="At most three, best first.")


class ArtifactGroupSerializer(serializers.Serializer):
    artifact_id = serializers.UUIDField()
    artifact_title = serializers.CharField()
    file_name = serializers.CharField(allow_null=True)
    score = serializers.FloatField()
    summary_snippet = serializers.CharField(allow_null=True)
    pages = PageGroupSerializer(many=True, help_text="Best first.")
    index = serializers.CharField(required=False, help_text=SEVERAL_HELP)


@with_example(
    make_search_example(
        artifacts=[
            {
                "artifact_id": HIT_EXAMPLE["artifact"]["id"],
                "artifact_title": "Keeper's handbook",
                "file_name": "handbook.pdf",
                "score": 0.0328,
                "summary_snippet": "How the light is kept.",
                "pages": [
                    {
                        "page_id": HIT_EXAMPLE["page"]["id"],
                        "page_index": 0,
                        "score": 0.0328,
                        "summary_snippet": "When and how the lamp is lit.",
                        "supporting_chunks": [HIT_EXAMPLE],
                    }
                ],
            }
        ]
    )
)
class HierarchicalAnswerSerializer(SearchAnswerSerializer):
    artifacts = ArtifactGroupSerializer(many=True, help_text="Best first.")


class ToolSerializer(serializers.Serializer):
    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text="JSON schema of its arguments.")


@with_example(
    make_list_example(
        {
            "name": "search_by_exercise",
            "description": "How an exercise is done, and for what.",
            "parameters": {
                "type": "object",
                "properties": {
                    "exercise": {"type": "string"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                },
                "required": ["exercise"],
                "additionalProperties": False,
            },
        }
    )
)
class ToolListSerializer(ListSerializer):
    results = ToolSerializer(many=True)


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


@with_example(
    {
        "id": HIT_EXAMPLE["source"]["id"],
        "ordinal": 0,
        "heading": "Lighting the lamp",
        "text": "The lamp is lit at sunset.",
        "start": 0,
        "end": 26,
        "content_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "artifact": HIT_EXAMPLE["artifact"] | {"index": "handbook"},
        "page": HIT_EXAMPLE["page"] | {"label": ""},
        "chunks": [
            {
                "node_id": HIT_EXAMPLE["node_id"],
                "strategy": "sentence",
                "chunk_index": 0,
                "start_offset": 0,
                "end_offset": 26,
                "state": "synced",
            }
        ],
        "neighbours": [],
    }
)
class SourceAnswerSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    ordinal = serializers.IntegerField()
    heading = serializers.CharField()
    text = serializers.CharField()
    start = serializers.IntegerField(help_text="First character, in its page's text.")
    end = serializers.IntegerField()
    content_hash = serializers.CharField(allow_null=True)
    artifact = SourceArtifactSerializer()
    page = SourcePageSerializer()
    chunks = SourceChunkSerializer(many=True)
    neighbours = SourceNeighbourSerializer(many=True)


# --- Questions -------------------------------------------------------------------------------


class PipelineRankSerializer(serializers.Serializer):
    """The score and steps that a query pipeline adds to a hit."""

    score_kind = serializers.CharField(
        help_text="Set by the last component that ranked the hit: `rrf`, `similarity_and_rank`, "
        "`cross_encoder`, `mmr`, or the name of a postprocessor."
    )
    similarity = serializers.FloatField(
        allow_null=True, help_text="Cosine to the question; null if it no longer has a vector."
    )
    explain = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="What each component did to it, in order.",
    )


class PipelineHitSerializer(PipelineRankSerializer, HitSerializer):  # type: ignore[misc]
    """A chunk, as a query pipeline ranked it."""


class PipelineQuestionHitSerializer(  # type: ignore[misc]
    PipelineRankSerializer, QuestionHitSerializer
):
    """A chunk found by its question, as a query pipeline ranked it."""


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="AskHit",
        serializers=[PipelineHitSerializer, PipelineQuestionHitSerializer],
        resource_type_field_name=None,
        many=True,
    )
)
class AskHitsField(serializers.ListField):
    """Chunks; for an index that holds only questions, chunks with the questions that found them."""


class RefusalSerializer(serializers.Serializer):
    detail = serializers.CharField()
    fix = serializers.CharField(allow_null=True)


class CitationSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="Number of the hit, counted from 1.")
    answer_start = serializers.IntegerField(help_text="Unicode code points, in the answer.")
    answer_end = serializers.IntegerField()
    node_id = serializers.UUIDField()
    artifact_id = serializers.UUIDField()
    source_id = serializers.UUIDField()
    start_offset = serializers.IntegerField(help_text="Unicode code points, in the source's text.")
    end_offset = serializers.IntegerField()
    is_supported = serializers.BooleanField(
        help_text="Whether the passage supports the sentence. If not, the offsets are those of the "
        "whole passage."
    )


EVENT_STREAM = "text/event-stream"


@with_example(
    {"id": "f3a1.0", "event": "chunk", "data": '{"text": "The lamp is lit at sunset. [1]"}'},
    EVENT_STREAM,
)
class AskEventSerializer(serializers.Serializer):
    """An event of the stream. The metadata and done events together hold the fields of an answer
    that is not streamed; a chunk event holds the next piece of text, and an error event the fields
    of every error."""

    id = serializers.CharField(required=False, help_text="For Last-Event-ID.")
    event = serializers.ChoiceField(choices=["metadata", "chunk", "done", "error"])
    data = serializers.CharField(help_text="A JSON object.")  # type: ignore[assignment]


@with_example(
    {
        "index": "handbook",
        "build": 1,
        "pipeline": "plain",
        "relevant": True,
        "refusal": None,
        "hits": [HIT_EXAMPLE | {"similarity": 0.81}],
        "filters": None,
        "parsed": {},
        "query": "When is the lamp lit?",
        "queries": ["When is the lamp lit?"],
        "identified": [],
        "notes": [],
        "dropped": {"orphans": 0, "integrity_errors": 0},
        "took_ms": {"retriever": 6.8, "total": 9.4},
        "answer": "The lamp is lit at sunset. [1]",
        "model_name": "extractive",
        "citations": [
            {
                "number": 1,
                "answer_start": 0,
                "answer_end": 26,
                "node_id": HIT_EXAMPLE["node_id"],
                "artifact_id": HIT_EXAMPLE["artifact"]["id"],
                "source_id": HIT_EXAMPLE["source"]["id"],
                "start_offset": 0,
                "end_offset": 26,
                "is_supported": True,
            }
        ],
        "unknown_marks": 0,
    }
)
class AskAnswerSerializer(serializers.Serializer):
    """The data of all events in one object."""

    index = serializers.CharField()
    build = serializers.IntegerField(allow_null=True)
    pipeline = serializers.CharField()
    relevant = serializers.BooleanField(help_text="Whether the question concerns this index.")
    refusal = RefusalSerializer(allow_null=True)
    hits = AskHitsField()
    filters = serializers.DictField(allow_null=True, help_text="The filter that all hits satisfy.")
    parsed = serializers.DictField(help_text="What the pipeline parsed from the question.")
    query = serializers.CharField(help_text="The query that was searched.")
    queries = serializers.ListField(child=serializers.CharField())
    identified = serializers.ListField(child=serializers.DictField())
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What could not be done, one sentence each."
    )
    dropped = DroppedPointsSerializer()
    took_ms = serializers.DictField(child=serializers.FloatField())
    why_not = serializers.DictField(required=False)
    restarted = serializers.BooleanField(
        required=False, help_text="The answer was restarted after the connection was lost."
    )
    answer = serializers.CharField(allow_null=True)
    model_name = serializers.CharField(allow_null=True, help_text="`extractive` without a model.")
    citations = CitationSerializer(many=True)
    unknown_marks = serializers.IntegerField(
        help_text="How many citation marks of the answer name no hit."
    )

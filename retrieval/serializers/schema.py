"""The shapes of answers, for the OpenAPI document only."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from retrieval.serializers.requests import IndexNamesField


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
    explain = HitExplanationSerializer(required=False)


class HitSerializer(CommonHitSerializer):
    start_offset = serializers.IntegerField(help_text="Unicode code points, in the source's text.")
    end_offset = serializers.IntegerField()
    page = HitPageSerializer()
    source = HitSourceSerializer()  # type: ignore[assignment]  # a field's name of DRF's own


class SummaryHitSerializer(CommonHitSerializer):
    start_offset = serializers.IntegerField(allow_null=True, help_text="Null.")
    end_offset = serializers.IntegerField(allow_null=True, help_text="Null.")
    page = HitPageSerializer(allow_null=True)
    source = HitSourceSerializer(  # type: ignore[assignment]
        allow_null=True, help_text="Null."
    )
    type = serializers.CharField(help_text="`page_summary` or `artifact_summary`.")
    entity_id = serializers.UUIDField(help_text="Of the page or artifact.")
    artifact_id = serializers.UUIDField()
    artifact_title = serializers.CharField()
    summary_text = serializers.CharField()
    model_name = serializers.CharField(help_text="What wrote it.")
    date_embedded = serializers.DateTimeField(allow_null=True)
    page_id = serializers.UUIDField(required=False, help_text="On page summaries.")
    page_index = serializers.IntegerField(required=False, help_text="On page summaries.")
    page_count = serializers.IntegerField(required=False, help_text="On artifact summaries.")


class QuestionHitSerializer(CommonHitSerializer):
    """A chunk and the question that found it, with every metadata field that the index declares."""

    start_offset = serializers.IntegerField(help_text="Unicode code points, in the passage's text.")
    end_offset = serializers.IntegerField()
    page = HitPageSerializer()
    passage = HitSourceSerializer()
    source = serializers.CharField(help_text="File name.")  # type: ignore[assignment]
    id = serializers.UUIDField(help_text="Of the question.")
    chunk_id = serializers.UUIDField()
    question = serializers.CharField()
    summary = serializers.CharField(help_text="Of the chunk, in a line.")


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
    build = serializers.JSONField(help_text="Build number; a list where several indexes are.")
    took_ms = StageTimesSerializer()
    dropped = DroppedPointsSerializer()


class PageSearchAnswerSerializer(SearchAnswerSerializer):
    hits = HitSerializer(many=True)


class SummarySearchAnswerSerializer(SearchAnswerSerializer):
    hits = SummaryHitSerializer(many=True)


class QuestionSearchAnswerSerializer(SearchAnswerSerializer):
    hits = QuestionHitSerializer(many=True)


class StructureMatchSerializer(serializers.Serializer):
    node_id = serializers.UUIDField()
    smiles = serializers.CharField(help_text="As the artifact has it.")
    similarity = serializers.FloatField(help_text="Cosine of the fingerprints.")
    rank = serializers.IntegerField(help_text="Counted from 1.")
    verdict = VerdictField(allow_null=True)


class RankedHitSerializer(HitSerializer):
    rank = serializers.IntegerField(help_text="Of its artifact by the words, counted from 1.")


class SpaceHitSerializer(serializers.Serializer):
    """An artifact found in a vector space of its own, by its passages, or both."""

    score = serializers.FloatField()
    score_kind = serializers.CharField(help_text="`cosine`; where passages count too, `rrf`.")
    artifact = HitArtifactSerializer()
    metadata = serializers.DictField()
    passage = RankedHitSerializer(
        allow_null=True, help_text="Null where none was found, or none was asked for."
    )


class StructureHitSerializer(SpaceHitSerializer):
    structure = StructureMatchSerializer(
        allow_null=True, help_text="Null where only the words found it."
    )


class StructureSearchAnswerSerializer(SearchAnswerSerializer):
    hits = StructureHitSerializer(many=True, help_text="Artifacts, best first.")


class ImageMatchSerializer(serializers.Serializer):
    node_id = serializers.UUIDField()
    media_type = serializers.CharField()
    sha256 = serializers.CharField(help_text="Of the file whose pixels were embedded.")
    similarity = serializers.FloatField(help_text="Cosine of the picture and the words.")
    rank = serializers.IntegerField(help_text="Counted from 1.")
    verdict = VerdictField(allow_null=True)


class ImageHitSerializer(SpaceHitSerializer):
    image = ImageMatchSerializer(
        allow_null=True, help_text="Null where only the artifact's passages were found."
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
    score = serializers.FloatField()
    summary_snippet = serializers.CharField(allow_null=True)
    pages = PageGroupSerializer(many=True, help_text="Best first.")


class HierarchicalAnswerSerializer(SearchAnswerSerializer):
    artifacts = ArtifactGroupSerializer(many=True, help_text="Best first.")


class ToolSerializer(serializers.Serializer):
    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text="JSON schema of its arguments.")


class ToolListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True, help_text="Null: there are no pages.")
    previous = serializers.URLField(allow_null=True, help_text="Null.")
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


# --- Questions -------------------------------------------------------------------------------


class RefusalSerializer(serializers.Serializer):
    detail = serializers.CharField()
    fix = serializers.CharField(allow_null=True)


class CitationSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="Of the hit, counted from 1.")
    answer_start = serializers.IntegerField(help_text="Unicode code points, in the answer.")
    answer_end = serializers.IntegerField()
    node_id = serializers.UUIDField()
    artifact_id = serializers.UUIDField()
    source_id = serializers.UUIDField()
    start_offset = serializers.IntegerField(help_text="Unicode code points, in the source's text.")
    end_offset = serializers.IntegerField()


class AskAnswerSerializer(serializers.Serializer):
    """The data of all events in one object."""

    index = serializers.CharField()
    build = serializers.IntegerField(allow_null=True)
    pipeline = serializers.CharField()
    relevant = serializers.BooleanField(help_text="Whether the question concerns this index.")
    refusal = RefusalSerializer(allow_null=True)
    hits = HitSerializer(many=True)
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
    answer = serializers.CharField(allow_null=True)
    model_name = serializers.CharField(allow_null=True, help_text="`extractive` without a model.")
    citations = CitationSerializer(many=True)

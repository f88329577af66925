"""Serializers of summaries for the REST API."""

from typing import Any

from rest_framework import serializers

from core.serializers import StrictSerializer, StringField
from documents.serializers import REVISION_HELP
from summaries.models import Summary

MAX_SUMMARY_CHARS = 10_000


class SummaryPatchSerializer(StrictSerializer):
    text = StringField(
        allow_null=True,
        max_length=MAX_SUMMARY_CHARS,
        help_text="The summary; null has it written again.",
    )


class SummarySerializer(serializers.Serializer):
    """The summary of a page or an artifact in the index's newest build."""

    entity_id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=["page_summary", "artifact_summary"])
    artifact_id = serializers.UUIDField()
    revision = serializers.IntegerField(help_text=REVISION_HELP)
    text = serializers.CharField()
    model_name = serializers.CharField(help_text="`extractive`, `by hand`, or a model's.")
    is_by_hand = serializers.BooleanField()
    state = serializers.ChoiceField(choices=["due", "written", "failed"])
    error = serializers.CharField(allow_null=True)
    input_hash = serializers.CharField()
    written_at = serializers.DateTimeField(allow_null=True)
    citations = serializers.ListField(child=serializers.DictField())


def render_stored_summary(summary: Summary) -> dict[str, Any]:
    return {
        "entity_id": str(summary.entity_id),
        "type": summary.kind,
        "artifact_id": str(summary.artifact_id),
        "revision": summary.artifact.revision,
        "text": summary.text,
        "model_name": summary.model_name,
        "is_by_hand": summary.is_by_hand,
        "state": summary.state,
        "error": summary.last_error or None,
        "input_hash": summary.input_hash,
        "written_at": summary.written_at.isoformat() if summary.written_at else None,
        "citations": summary.citations,
    }

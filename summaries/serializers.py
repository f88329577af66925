"""Serializers of summaries for the REST API."""

from typing import Any

from rest_framework import serializers

from core.openapi import with_example
from core.serializers import StrictSerializer, StringField, TitleField
from documents.serializers import REVISION_HELP
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary

MAX_SUMMARY_CHARS = 10_000


@with_example({"text": "When and how the lamp is lit."})
class SummaryPatchSerializer(StrictSerializer):
    text = StringField(
        allow_null=True,
        max_length=MAX_SUMMARY_CHARS,
        help_text="The summary; null has it written again.",
    )
    model_name = TitleField(
        required=False,
        max_length=200,
        help_text="What wrote the text: a model, or `by hand`, the default. `extractive`, which "
        "stands for the service's rules, is refused.",
    )

    def validate_model_name(self, name: str) -> str:
        if name in {"", EXTRACTIVE_MODEL_NAME}:
            raise serializers.ValidationError("Give a name other than that of the service's rules.")
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["text"] is None and "model_name" in attrs:
            raise serializers.ValidationError({"model_name": "Give it with a text."})
        return attrs


@with_example(
    {
        "entity_id": "5d0f6f0e-1c0a-4a53-8f6e-2b1f5f7f3a10",
        "type": "page_summary",
        "artifact_id": "0b7c1c9e-6c1b-4f5e-9a55-6f0a1de3f6a1",
        "revision": 44,
        "text": "When and how the lamp is lit.",
        "model_name": "by hand",
        "is_by_hand": True,
        "state": "written",
        "error": None,
        "input_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "written_at": "2026-03-02T09:31:00Z",
        "citations": [],
    }
)
class SummarySerializer(serializers.Serializer):
    """The summary of a page or an artifact in the index's newest build."""

    entity_id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=["page_summary", "artifact_summary"])
    artifact_id = serializers.UUIDField()
    revision = serializers.IntegerField(help_text=REVISION_HELP)
    text = serializers.CharField()
    model_name = serializers.CharField(help_text="`extractive`, `by hand`, or what was given.")
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

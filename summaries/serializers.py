"""Reads changes of summaries and renders summaries."""

from typing import Any

from rest_framework import serializers

from core.openapi import with_example
from core.serializers import StrictSerializer, StringField, TitleField
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

"""Reads changes of summaries and renders summaries."""

from typing import Any

from rest_framework import serializers

from core.openapi import with_example
from core.serializers import StrictSerializer, StringField, TitleField
from summaries.models import EXTRACTIVE_MODEL_NAME, Annotation, Summary

MAX_SUMMARY_CHARS = 10_000
MAX_QUESTIONS = 20  # as many as a spec may ask for
MAX_QUESTION_CHARS = 500


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


@with_example({"questions": ["When is the lamp lit?"]})
class QuestionsSerializer(StrictSerializer):
    questions = serializers.ListField(
        child=TitleField(max_length=MAX_QUESTION_CHARS),
        max_length=MAX_QUESTIONS,
        help_text="Those that the chunk answers; empty: it is found by its own words.",
    )

    def validate_questions(self, questions: list[str]) -> list[str]:
        if not all(questions):
            raise serializers.ValidationError("A question may not be blank.")
        return questions


def render_questions(row: Annotation) -> dict[str, Any]:
    return {
        "chunk_id": str(row.chunk_id),
        "artifact_id": str(row.artifact_id),
        "revision": row.artifact.revision,
        "questions": row.questions,
        "summary": row.summary,
        "model_name": row.model_name,
        "is_by_hand": row.is_by_hand,
    }

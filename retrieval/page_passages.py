"""Lists what was made of a page: chunks, the questions that they answer, and quotes of concepts."""

from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.fields.json import KT

from access.grants import Grant
from concepts.models import Concept, Instance
from indexing.models import Node
from retrieval.search.hit_checks import Verdict

NODE_KINDS = ("chunk", "question")
KINDS = (*NODE_KINDS, "concept")
PLACE = ("source_id", "source_hash", "start_offset", "end_offset")


def list_passages(page_id: UUID, kind: str, grant: Grant) -> QuerySet[Any]:
    """Rows of one of ``KINDS`` in the order of the page, for ``render_passage``."""
    if kind in NODE_KINDS:
        nodes = Node.objects.in_live_builds().filter(kind=kind, source__page=page_id)
        rows: QuerySet[Any] = nodes.exclude(state=Node.State.DELETING).values(
            *PLACE, "text", passage_id=F("point_id"), current_hash=F("source__content_hash"),
            answered_id=KT("details__chunk_id"),
        )  # fmt: skip
    else:
        quotes = Instance.objects.not_lost().filter(
            source__page=page_id, concept__in=Concept.objects.visible_to(grant)
        )
        rows = quotes.values(
            *PLACE, "concept_id", text=F("quote"), label=F("concept__label"),
            passage_id=F("id"), current_hash=F("source__content_hash"),
        )  # fmt: skip
    return rows.order_by("source__ordinal", "start_offset", "passage_id")


def render_passage(row: dict[str, Any]) -> dict[str, Any]:
    is_exact = row["source_hash"] == row["current_hash"]
    return {
        "id": str(row["passage_id"]),
        "text": row["text"],
        "source_id": str(row["source_id"]),
        "start_offset": row["start_offset"],
        "end_offset": row["end_offset"],
        "chunk_id": row.get("answered_id"),
        "verdict": Verdict.EXACT if is_exact else Verdict.STALE,
        "concept": {"id": str(row["concept_id"]), "label": row["label"]}
        if "concept_id" in row
        else None,
    }

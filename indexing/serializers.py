"""Reads the requests of the index endpoints and renders builds."""

import base64
from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from core.openapi import with_example
from core.serializers import (
    MAX_NAME_CHARS,
    MAX_OFFSET,
    FlagField,
    IdField,
    StrictSerializer,
    StringField,
)
from indexing.drafting import hash_payload
from indexing.lifecycle import count_missing
from indexing.models import IndexBuild, Node
from indexing.progress import count_nodes, count_readings
from indexing.regeneration import ALL_TYPES
from indexing.services.batches import ROWS_PER_STATEMENT
from indexing.stores.base import StoredPoint

MAX_CALLS = 2**31 - 1  # the column's maximum
MAX_MINUTES = 1_000_000  # about two years


@with_example({"promote": True, "max_calls": 500, "max_minutes": 60})
class ApplySerializer(StrictSerializer):
    promote = FlagField(
        default=False, help_text="Promote it when complete, unless it is significantly worse."
    )
    reread = FlagField(
        default=False,
        help_text="Make a build even if the spec has not changed, if documents were read by other "
        "readers than would read them now.",
    )
    max_calls = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_CALLS,
        help_text="Pause the build after this many LLM calls.",
    )
    max_minutes = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_MINUTES,
        help_text="Pause the build after this many minutes, if it is incomplete.",
    )


@with_example({"force": False})
class PromoteSerializer(StrictSerializer):
    force = FlagField(default=False, help_text="Even if it is incomplete or worse.")


@with_example({"kind": "chunk", "ids": ["0f0e8b5e-3c1d-5a52-9f5c-5d1c2f6f7a10"]})
class VectorsSerializer(StrictSerializer):
    kind = StringField(max_length=MAX_NAME_CHARS)
    ids = serializers.ListField(
        child=IdField(), min_length=1, max_length=ROWS_PER_STATEMENT, help_text="Ids of nodes."
    )


class PlanParametersSerializer(StrictSerializer):
    exact = FlagField(default=False, help_text="Examine every artifact, however long that takes.")


def render_vector(point: StoredPoint) -> dict[str, Any]:
    vector = None
    if point.dense is not None:
        vector = base64.b64encode(point.dense.astype("<f4").tobytes()).decode()
    return {"id": point.id, "payload_hash": hash_payload(point.payload), "vector": vector}


def render_build(build: IndexBuild) -> dict[str, Any]:
    return render_builds([build])[0]


def render_builds(builds: Sequence[IndexBuild]) -> list[dict[str, Any]]:
    counts = count_nodes(builds)
    readings = count_readings(builds)
    return [
        {
            "index": build.index_id,
            "number": build.number,
            "state": build.state,
            "kinds": [] if build.reading_problem else list(build.spec.kinds),
            "nodes": {state: counts[build.pk][state] for state in Node.State.values},
            "artifacts_missing": 0
            if build.state in {IndexBuild.State.LIVE, IndexBuild.State.RETIRED}
            else count_missing(build),
            "artifacts_unread": readings[build.pk]["unread"],
            "artifacts_not_reread": readings[build.pk]["failed"],
            "embedded": build.embedded_count,
            "copied": build.copied_count,
            "promotion": build.promotion,
            "comparison": build.comparison,
            "max_calls": build.max_calls,
            "deadline_at": build.deadline_at,
            "paused_at": build.paused_at,
            "pause_reason": build.pause_reason or None,
            "problem": build.first_problem or None,
            "created_at": build.created_at,
            "promoted_at": build.promoted_at,
        }
        for build in builds
    ]


@with_example({"type": "chunk", "index": "handbook", "only_missing": True})
class RegenerateSerializer(StrictSerializer):
    type = StringField(
        default=ALL_TYPES,
        max_length=MAX_NAME_CHARS,
        help_text="What to regenerate. The error for an unknown type lists all types.",
    )
    index = StringField(
        required=False,
        allow_null=True,
        max_length=MAX_NAME_CHARS,
        help_text="Default: every index.",
    )
    category = StringField(
        default="",
        allow_blank=True,
        max_length=MAX_NAME_CHARS,
        help_text="Only relationship types of this category; the type must be vocabulary.",
    )
    artifacts = serializers.ListField(
        child=IdField(), required=False, min_length=1, help_text="Only these artifacts."
    )
    only_missing = FlagField(
        default=False, help_text="Only artifacts with missing nodes or points."
    )
    stale = FlagField(
        default=False,
        help_text="Only artifacts that changed since they were planned, or were never hashed.",
    )
    limit = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_OFFSET,
        help_text="Regenerate at most this many artifacts, in the order of their ids.",
    )  # fmt: skip
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)

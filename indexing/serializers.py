"""Serializers of the index endpoints: they validate input and describe answers for OpenAPI."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count
from rest_framework import serializers

from core.openapi import make_list_example, with_example
from core.serializers import (
    MAX_NAME_CHARS,
    MAX_OFFSET,
    FlagField,
    IdField,
    ListSerializer,
    StrictSerializer,
    StringField,
)
from indexing.kinds import KINDS
from indexing.lifecycle import count_missing
from indexing.models import IndexBuild, Node, Regeneration
from indexing.regeneration import ALL_TYPES

MAX_CALLS = 2**31 - 1  # the column's maximum
MAX_MINUTES = 1_000_000  # about two years


class NodeCountsSerializer(serializers.Serializer):
    pending = serializers.IntegerField()
    synced = serializers.IntegerField()
    failed = serializers.IntegerField()
    deleting = serializers.IntegerField()


INDEX_EXAMPLE = {
    "name": "handbook",
    "title": "Handbook",
    "description": "How the lights are kept.",
    "build": 1,
    "search_settings": 1,
    "kinds": ["chunk", "page_summary"],
    "nodes": {"pending": 0, "synced": 99, "failed": 0, "deleting": 0},
    "artifacts": 1,
    "artifacts_waiting": 0,
    "artifacts_failed": 0,
    "oldest_pending_seconds": None,
    "problem": None,
}


@with_example(INDEX_EXAMPLE)
class IndexSerializer(serializers.Serializer):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    build = serializers.IntegerField()
    search_settings = serializers.IntegerField(
        allow_null=True,
        help_text="The number of the current search settings; each change increments it.",
    )
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(KINDS)),
        help_text="The kinds of node it contains.",
    )
    nodes = NodeCountsSerializer()
    artifacts = serializers.IntegerField()
    artifacts_waiting = serializers.IntegerField()
    artifacts_failed = serializers.IntegerField()
    oldest_pending_seconds = serializers.FloatField(allow_null=True)
    problem = serializers.CharField(allow_null=True, help_text="Why it cannot sync at the moment.")


@with_example(make_list_example(INDEX_EXAMPLE))
class IndexListSerializer(ListSerializer):
    results = IndexSerializer(many=True)


@with_example(
    {
        "index": "handbook",
        "deleted": True,
        "points": 0,
        "collections": {"handbook.page_embeddings.1": 0},
        "waits_for": [],
        "artifact_count": 0,
        "node_count": 0,
        "build_count": 0,
        "has_spec": False,
    }
)
class IndexRemovalSerializer(serializers.Serializer):
    index = serializers.CharField()
    deleted = serializers.BooleanField()
    points = serializers.IntegerField(
        allow_null=True, help_text="Points left in the store; null if the store did not answer."
    )
    collections = serializers.DictField(child=serializers.IntegerField(), required=False)
    waits_for = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Why copies of removed points may still exist, such as a replica that is down.",
    )
    artifact_count = serializers.IntegerField(
        required=False, help_text="Artifacts still to be removed."
    )
    node_count = serializers.IntegerField(required=False)
    build_count = serializers.IntegerField(required=False)
    has_spec = serializers.BooleanField(required=False)
    detail = serializers.CharField(required=False)


VERIFICATION_REPORT_EXAMPLE = {
    "index": "handbook",
    "build": 1,
    "is_sound": False,
    "artifact_count": 1,
    "node_count": 99,
    "point_count": 98,
    "failed_count": 0,
    "repaired_count": 0,
    "findings": {"missing": 1},
    "examples": {"missing": ["8c2f0a52-58a4-5d5c-9d0e-3d4f0a4f2f6e"]},
    "remedies": {"missing": "They are embedded and written again."},
}


class VerificationReportSerializer(serializers.Serializer):
    index = serializers.CharField()
    build = serializers.IntegerField()
    is_sound = serializers.BooleanField()
    artifact_count = serializers.IntegerField()
    node_count = serializers.IntegerField()
    point_count = serializers.IntegerField()
    failed_count = serializers.IntegerField()
    repaired_count = serializers.IntegerField()
    findings = serializers.DictField(child=serializers.IntegerField())
    examples = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    remedies = serializers.DictField(child=serializers.CharField())


@with_example(VERIFICATION_REPORT_EXAMPLE | {"beside": []})
class IndexVerificationSerializer(VerificationReportSerializer):
    beside = VerificationReportSerializer(many=True, help_text="Reports of the other builds.")


@with_example({"reports": [VERIFICATION_REPORT_EXAMPLE]})
class VerifyResponseSerializer(serializers.Serializer):
    reports = VerificationReportSerializer(many=True)


BUILD_EXAMPLE = {
    "index": "handbook",
    "number": 2,
    "state": "building",
    "kinds": ["chunk", "page_summary"],
    "nodes": {"pending": 12, "synced": 87, "failed": 0, "deleting": 0},
    "artifacts_missing": 1,
    "embedded": 5,
    "copied": 82,
    "promotion": "when_complete",
    "comparison": None,
    "max_calls": None,
    "deadline_at": None,
    "paused_at": None,
    "pause_reason": None,
    "problem": None,
    "created_at": "2026-03-02T09:30:00Z",
    "promoted_at": None,
}


@with_example(BUILD_EXAMPLE)
class BuildSerializer(serializers.Serializer):
    """One index made by one version of its spec."""

    index = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=IndexBuild.State.values)
    kinds = serializers.ListField(child=serializers.CharField())
    nodes = NodeCountsSerializer()
    artifacts_missing = serializers.IntegerField(
        help_text="Artifacts that are ready in the live build but not yet in this one."
    )
    embedded = serializers.IntegerField(help_text="Nodes whose vectors were computed for it.")
    copied = serializers.IntegerField(
        help_text="Nodes whose vectors were copied from another build."
    )
    promotion = serializers.ChoiceField(choices=IndexBuild.Promotion.values)
    comparison = serializers.JSONField(allow_null=True, help_text="Comparison with the live build.")
    max_calls = serializers.IntegerField(allow_null=True)
    deadline_at = serializers.DateTimeField(allow_null=True)
    paused_at = serializers.DateTimeField(allow_null=True)
    pause_reason = serializers.CharField(allow_null=True)
    problem = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    promoted_at = serializers.DateTimeField(allow_null=True)


@with_example(make_list_example(BUILD_EXAMPLE))
class BuildListSerializer(ListSerializer):
    results = BuildSerializer(many=True)


@with_example({"promote": True, "max_calls": 500, "max_minutes": 60})
class ApplySerializer(StrictSerializer):
    promote = FlagField(
        default=False, help_text="Promote it when complete, unless it is significantly worse."
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


class PlanParametersSerializer(StrictSerializer):
    exact = FlagField(default=False, help_text="Examine every artifact, however long that takes.")


class KindEstimateSerializer(serializers.Serializer):
    kept = serializers.IntegerField(help_text="Nodes whose vectors are copied.")
    reembedded = serializers.IntegerField(help_text="Nodes with the same text but new vectors.")
    rebuilt = serializers.IntegerField(help_text="New nodes.")
    removed = serializers.IntegerField(help_text="Nodes that are no longer needed.")
    texts = serializers.IntegerField(help_text="Texts to embed.")
    tokens = serializers.IntegerField(help_text="Tokens to embed.")
    calls = serializers.IntegerField(help_text="LLM calls.")
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()


@with_example(
    {
        "index": "handbook",
        "live_build": 1,
        "changes": ["chunks.strategies: sentence of 500 characters -> sentence of 300 characters"],
        "search_settings": 1,
        "search_changes": ["search.sparse_weight: 1.0 -> 2.0"],
        "store_changes": ["store.quantization: none -> int8"],
        "is_free": False,
        "is_estimate": False,
        "artifact_count": 1,
        "sampled_count": 1,
        "kinds": {
            "chunk": {
                "kept": 3,
                "reembedded": 0,
                "rebuilt": 120,
                "removed": 84,
                "texts": 120,
                "tokens": 9600,
                "calls": 0,
                "prompt_tokens": 0,
                "completion_tokens": 0,
            }
        },
        "embedding_minutes": 0.2,
        "writing_minutes": None,
        "disk_bytes": 737280,
    }
)
class BuildEstimateSerializer(serializers.Serializer):
    """What applying the spec would do."""

    index = serializers.CharField()
    live_build = serializers.IntegerField(allow_null=True)
    changes = serializers.ListField(
        child=serializers.CharField(), help_text="Changes to the live build's recipe."
    )
    search_settings = serializers.IntegerField(
        allow_null=True,
        help_text="The number of the current search settings; each change increments it.",
    )
    search_changes = serializers.ListField(
        child=serializers.CharField(),
        help_text="Changes to the search settings; the live build uses them at once.",
    )
    store_changes = serializers.ListField(
        child=serializers.CharField(),
        help_text="Changes to the store settings; applied to the collections without a new build.",
    )
    is_free = serializers.BooleanField(help_text="No stored data changes: this costs nothing.")
    is_estimate = serializers.BooleanField(help_text="Extrapolated from a sample of the artifacts.")
    artifact_count = serializers.IntegerField()
    sampled_count = serializers.IntegerField()
    kinds = serializers.DictField(child=KindEstimateSerializer())
    embedding_minutes = serializers.FloatField(
        allow_null=True,
        help_text="At this installation's throughput; null if not measured yet.",
    )
    writing_minutes = serializers.FloatField(allow_null=True)
    disk_bytes = serializers.IntegerField()


def render_build(build: IndexBuild) -> dict[str, Any]:
    return render_builds([build])[0]


def render_builds(builds: Sequence[IndexBuild]) -> list[dict[str, Any]]:
    """As ``BuildSerializer`` describes them."""
    counted = Node.objects.filter(build__in=builds).values("build", "state")
    counts = {(row["build"], row["state"]): row["n"] for row in counted.annotate(n=Count("pk"))}
    return [
        {
            "index": build.index_id,
            "number": build.number,
            "state": build.state,
            "kinds": [] if build.reading_problem else list(build.spec.kinds),
            "nodes": {state: counts.get((build.pk, state), 0) for state in Node.State.values},
            "artifacts_missing": 0
            if build.state in {IndexBuild.State.LIVE, IndexBuild.State.RETIRED}
            else count_missing(build),
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
        child=IdField(),
        required=False,
        min_length=1,
        help_text="Only these artifacts.",
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


class RegenerationArtifactCountsSerializer(serializers.Serializer):
    total = serializers.IntegerField()
    done = serializers.IntegerField(help_text="Artifacts processed.")
    made_due = serializers.IntegerField(help_text="Artifacts with work made due.")
    failed = serializers.IntegerField(help_text="Artifacts that failed.")
    awaited = serializers.IntegerField(help_text="Artifacts with texts still to be written.")
    refused = serializers.IntegerField(help_text="Artifacts with texts that could not be written.")


class RegenerationTextCountsSerializer(serializers.Serializer):
    made_due = serializers.IntegerField()


class RegenerationNodeCountsSerializer(serializers.Serializer):
    made_due = serializers.IntegerField()
    pending = serializers.IntegerField(help_text="Pending nodes of the processed artifacts.")
    failed = serializers.IntegerField(help_text="Failed nodes of the processed artifacts.")


REGENERATION_EXAMPLE = {
    "id": "3f1d2f0a-7c67-4c0e-8b43-0e1f0b1f9d5c",
    "state": "running",
    "index": "handbook",
    "types": ["chunk"],
    "category": "",
    "only_missing": True,
    "stale": False,
    "limit": None,
    "offset": 0,
    "artifacts": {
        "total": 10, "done": 4, "made_due": 2, "failed": 0, "awaited": 0, "refused": 0,
    },
    "texts": {"made_due": 0},
    "nodes": {"made_due": 31, "pending": 12, "failed": 0},
    "is_synced": False,
    "artifacts_per_second": 1.6,
    "eta_seconds": 3.8,
    "problem": None,
    "last_error": None,
    "started_at": "2026-03-02T09:30:00Z",
    "finished_at": None,
}  # fmt: skip


@with_example(REGENERATION_EXAMPLE)
class RegenerationSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=Regeneration.State.choices)
    index = serializers.CharField(allow_null=True)
    types = serializers.ListField(child=serializers.CharField())
    category = serializers.CharField(help_text="Of relationship types; empty: all.")
    only_missing = serializers.BooleanField()
    stale = serializers.BooleanField()
    limit = serializers.IntegerField(allow_null=True)
    offset = serializers.IntegerField()
    artifacts = RegenerationArtifactCountsSerializer()
    texts = RegenerationTextCountsSerializer()
    nodes = RegenerationNodeCountsSerializer()
    is_synced = serializers.BooleanField(
        help_text="It has ended, and all work it made due is done."
    )
    artifacts_per_second = serializers.FloatField(allow_null=True)
    eta_seconds = serializers.FloatField(
        allow_null=True, help_text="Seconds until all its artifacts are processed."
    )
    problem = serializers.CharField(
        allow_null=True, help_text="What it is waiting for at the moment."
    )
    last_error = serializers.CharField(
        allow_null=True, help_text="Why it is waiting, or why the last artifact failed."
    )
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


@with_example(make_list_example(REGENERATION_EXAMPLE))
class RegenerationListSerializer(ListSerializer):
    results = RegenerationSerializer(many=True)

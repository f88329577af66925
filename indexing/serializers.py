"""Serializers of the index endpoints: they validate input and describe answers for OpenAPI."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count
from rest_framework import serializers

from core.serializers import (
    MAX_NAME_CHARS,
    MAX_OFFSET,
    StrictSerializer,
    StringField,
)
from indexing.lifecycle import find_incomplete_artifacts
from indexing.models import IndexBuild, Node, Regeneration
from indexing.regeneration import ALL_TYPES
from indexing.spec import COLLECTION_BY_KIND


class NodeCountsSerializer(serializers.Serializer):
    pending = serializers.IntegerField()
    synced = serializers.IntegerField()
    failed = serializers.IntegerField()
    deleting = serializers.IntegerField()


class IndexSerializer(serializers.Serializer):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    build = serializers.IntegerField()
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(COLLECTION_BY_KIND)),
        help_text="The kinds of node it holds.",
    )
    nodes = NodeCountsSerializer()
    artifacts = serializers.IntegerField()
    artifacts_waiting = serializers.IntegerField()
    artifacts_failed = serializers.IntegerField()
    oldest_pending_seconds = serializers.FloatField(allow_null=True)
    problem = serializers.CharField(
        allow_null=True, help_text="What keeps it from syncing just now."
    )


class IndexListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = IndexSerializer(many=True)


class IndexRemovalSerializer(serializers.Serializer):
    index = serializers.CharField()
    deleted = serializers.BooleanField()
    points = serializers.IntegerField(
        allow_null=True, help_text="Left in the store; null where it did not answer."
    )
    collections = serializers.DictField(child=serializers.IntegerField(), required=False)
    artifact_count = serializers.IntegerField(required=False, help_text="Still to be removed.")
    node_count = serializers.IntegerField(required=False)
    build_count = serializers.IntegerField(required=False)
    has_spec = serializers.BooleanField(required=False)
    detail = serializers.CharField(required=False)


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


class IndexVerificationSerializer(VerificationReportSerializer):
    beside = VerificationReportSerializer(many=True, help_text="Of the builds beside the live one.")


class VerifyResponseSerializer(serializers.Serializer):
    reports = VerificationReportSerializer(many=True)


class BuildSerializer(serializers.Serializer):
    """One index made by one version of its spec."""

    index = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=IndexBuild.State.values)
    kinds = serializers.ListField(child=serializers.CharField())
    nodes = NodeCountsSerializer()
    artifacts_missing = serializers.IntegerField(
        help_text="Those the live build shows whole and this one does not yet."
    )
    embedded = serializers.IntegerField(help_text="Nodes whose vectors were made for it.")
    copied = serializers.IntegerField(help_text="Nodes whose vectors another build had made.")
    promotion = serializers.ChoiceField(choices=IndexBuild.Promotion.values)
    comparison = serializers.JSONField(
        allow_null=True, help_text="What was measured against the live build."
    )
    max_calls = serializers.IntegerField(allow_null=True)
    deadline_at = serializers.DateTimeField(allow_null=True)
    paused_at = serializers.DateTimeField(allow_null=True)
    pause_reason = serializers.CharField(allow_null=True)
    problem = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    promoted_at = serializers.DateTimeField(allow_null=True)


class BuildListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = BuildSerializer(many=True)


class ApplySerializer(StrictSerializer):
    promote = serializers.BooleanField(
        default=False, help_text="As soon as it is whole, if nothing is significantly lost by it."
    )
    max_calls = serializers.IntegerField(
        required=False, min_value=1, help_text="Of a language model; then it is paused."
    )
    max_minutes = serializers.IntegerField(
        required=False, min_value=1, help_text="Until it is paused, if it is not whole by then."
    )


class PromoteSerializer(StrictSerializer):
    force = serializers.BooleanField(
        default=False, help_text="Whatever is lost by it, and whole or not."
    )


class PlanParametersSerializer(StrictSerializer):
    exact = serializers.BooleanField(
        default=False, help_text="Look at every artifact, however long that takes."
    )


class KindEstimateSerializer(serializers.Serializer):
    kept = serializers.IntegerField(help_text="Nodes whose vectors are copied.")
    reembedded = serializers.IntegerField(help_text="Nodes of the same text, embedded otherwise.")
    rebuilt = serializers.IntegerField(help_text="Nodes that are not there now.")
    removed = serializers.IntegerField(help_text="Nodes without a successor.")
    texts = serializers.IntegerField(help_text="To embed.")
    tokens = serializers.IntegerField(help_text="To embed.")
    calls = serializers.IntegerField(help_text="Of a language model.")
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()


class BuildEstimateSerializer(serializers.Serializer):
    """What applying the spec would do."""

    index = serializers.CharField()
    live_build = serializers.IntegerField(allow_null=True)
    changes = serializers.ListField(child=serializers.CharField())
    is_free = serializers.BooleanField(help_text="Nothing stored changes: it costs nothing.")
    is_estimate = serializers.BooleanField(help_text="Scaled up from the artifacts sampled.")
    artifact_count = serializers.IntegerField()
    sampled_count = serializers.IntegerField()
    kinds = serializers.DictField(child=KindEstimateSerializer())
    embedding_minutes = serializers.FloatField(
        allow_null=True,
        help_text="At this installation's throughput; null while that is not known.",
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
            "kinds": list(build.spec.kinds),
            "nodes": {state: counts.get((build.pk, state), 0) for state in Node.State.values},
            "artifacts_missing": 0
            if build.state in {IndexBuild.State.LIVE, IndexBuild.State.RETIRED}
            else find_incomplete_artifacts(build).count(),
            "embedded": build.embedded_count,
            "copied": build.copied_count,
            "promotion": build.promotion,
            "comparison": build.comparison,
            "max_calls": build.max_calls,
            "deadline_at": build.deadline_at,
            "paused_at": build.paused_at,
            "pause_reason": build.pause_reason or None,
            "problem": build.problem or build.writing_problem or None,
            "created_at": build.created_at,
            "promoted_at": build.promoted_at,
        }
        for build in builds
    ]


class RegenerateSerializer(StrictSerializer):
    type = StringField(
        default=ALL_TYPES,
        max_length=MAX_NAME_CHARS,
        help_text="What to make anew; of an unknown type, the error names those there are.",
    )
    index = StringField(
        required=False, allow_null=True, max_length=MAX_NAME_CHARS, help_text="Every one if none."
    )
    artifacts = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        min_length=1,
        help_text="The ids of the only artifacts meant.",
    )
    only_missing = serializers.BooleanField(
        default=False, help_text="Only what lacks nodes or points it should have."
    )
    stale = serializers.BooleanField(
        default=False, help_text="Only what changed since, or was never hashed."
    )
    limit = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_OFFSET,
        help_text="Artifacts, in the order of their ids.",
    )  # fmt: skip
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)


class RegenerationArtifactCountsSerializer(serializers.Serializer):
    total = serializers.IntegerField()
    done = serializers.IntegerField(help_text="Gone through.")
    made_due = serializers.IntegerField(help_text="Of which something was made due.")
    failed = serializers.IntegerField(help_text="Given up.")
    awaited = serializers.IntegerField(help_text="Of which texts are still to be written.")
    refused = serializers.IntegerField(help_text="Of which texts could not be written.")


class RegenerationTextCountsSerializer(serializers.Serializer):
    made_due = serializers.IntegerField()


class RegenerationNodeCountsSerializer(serializers.Serializer):
    made_due = serializers.IntegerField()
    pending = serializers.IntegerField(help_text="Of the artifacts gone through, now.")
    failed = serializers.IntegerField(help_text="Of the artifacts gone through, now.")


class RegenerationSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=Regeneration.State.choices)
    index = serializers.CharField(allow_null=True)
    types = serializers.ListField(child=serializers.CharField())
    only_missing = serializers.BooleanField()
    stale = serializers.BooleanField()
    limit = serializers.IntegerField(allow_null=True)
    offset = serializers.IntegerField()
    artifacts = RegenerationArtifactCountsSerializer()
    texts = RegenerationTextCountsSerializer()
    nodes = RegenerationNodeCountsSerializer()
    is_synced = serializers.BooleanField(
        help_text="It is over, and nothing it made due is left to do."
    )
    artifacts_per_second = serializers.FloatField(allow_null=True)
    eta_seconds = serializers.FloatField(
        allow_null=True, help_text="Until it has gone through its artifacts."
    )
    problem = serializers.CharField(allow_null=True, help_text="What holds it up just now.")
    last_error = serializers.CharField(
        allow_null=True, help_text="Why it waits, or why the last artifact was given up."
    )
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class RegenerationListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = RegenerationSerializer(many=True)

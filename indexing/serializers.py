"""Shapes of the index endpoints, for the OpenAPI document and for checking input."""

from rest_framework import serializers

from indexing.spec import COLLECTIONS


class NodeCountsSerializer(serializers.Serializer):
    pending = serializers.IntegerField()
    settled = serializers.IntegerField()
    failed = serializers.IntegerField()
    doomed = serializers.IntegerField()


class IndexSerializer(serializers.Serializer):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    build = serializers.IntegerField()
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(COLLECTIONS)),
        help_text="The kinds of node it holds.",
    )
    nodes = NodeCountsSerializer()
    artifacts = serializers.IntegerField()
    artifacts_waiting = serializers.IntegerField()
    artifacts_failed = serializers.IntegerField()
    oldest_pending_seconds = serializers.FloatField(allow_null=True)
    problem = serializers.CharField(
        allow_null=True, help_text="What keeps it from settling just now."
    )


class IndexListSerializer(serializers.Serializer):
    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = IndexSerializer(many=True)


class ReportSerializer(serializers.Serializer):
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


class VerifyAnswerSerializer(serializers.Serializer):
    reports = ReportSerializer(many=True)

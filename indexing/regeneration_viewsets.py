"""Regenerations over HTTP: asking for one, how far each is, calling one off."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from core.enqueueing import wake_on_commit
from core.paging import paged
from core.serializers import (
    MAX_NAME_CHARS,
    MAX_OFFSET,
    ErrorSerializer,
    PagingSerializer,
    StrictSerializer,
    StringField,
)
from indexing import tasks
from indexing.exceptions import UnknownRegeneration
from indexing.models import Regeneration
from indexing.regeneration import (
    ALL,
    begin_regeneration,
    cancel_regeneration,
    get_regeneration,
    regeneration_progress,
)


class RegenerateSerializer(StrictSerializer):
    type = StringField(
        default=ALL,
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


class ArtifactCountsSerializer(serializers.Serializer):
    total = serializers.IntegerField()
    done = serializers.IntegerField(help_text="Gone through.")
    made_due = serializers.IntegerField(help_text="Of which something was made due.")
    failed = serializers.IntegerField(help_text="Given up.")
    awaited = serializers.IntegerField(help_text="Of which texts are still to be written.")
    refused = serializers.IntegerField(help_text="Of which texts could not be written.")


class TextCountsSerializer(serializers.Serializer):
    made_due = serializers.IntegerField()


class DueNodeCountsSerializer(serializers.Serializer):
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
    artifacts = ArtifactCountsSerializer()
    texts = TextCountsSerializer()
    nodes = DueNodeCountsSerializer()
    is_settled = serializers.BooleanField(
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


FOUND = {200: RegenerationSerializer, 404: ErrorSerializer}


class RegenerationViewSet(viewsets.ViewSet):
    """Nodes made and embedded anew, on request."""

    @extend_schema(
        operation_id="list_regenerations",
        parameters=[PagingSerializer],
        responses=RegenerationListSerializer,
    )
    def list(self, request: Request) -> Response:
        """Every regeneration asked for, the newest first."""
        serializer = PagingSerializer(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        page, answer = paged(request, Regeneration.objects.all(), serializer.validated_data)
        return Response(answer | {"results": [_rendered(each) for each in page]})

    @extend_schema(
        operation_id="regenerate",
        request=RegenerateSerializer,
        responses={202: RegenerationSerializer, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def create(self, request: Request) -> Response:
        """Have nodes made and embedded anew, in every build that is kept up to date."""
        serializer = RegenerateSerializer(data=request.data or {})
        serializer.is_valid(raise_exception=True)
        given = serializer.validated_data
        regeneration = begin_regeneration(
            [given["type"]],
            index=given.get("index"),
            artifact_ids=given.get("artifacts"),
            is_for_missing=given["only_missing"],
            is_for_stale=given["stale"],
            limit=given.get("limit"),
            offset=given["offset"],
        )
        wake_on_commit(tasks.regenerate, regeneration_id=str(regeneration.pk))
        return Response(_rendered(regeneration), status=status.HTTP_202_ACCEPTED)

    @extend_schema(operation_id="read_regeneration", responses=FOUND)
    def retrieve(self, request: Request, regeneration_id: str) -> Response:
        """How far one is, and what of it is still to be settled."""
        return Response(_rendered(_found(regeneration_id)))

    @extend_schema(operation_id="cancel_regeneration", request=None, responses=FOUND)
    def cancel(self, request: Request, regeneration_id: str) -> Response:
        """Make nothing more due for it; what is due already is settled."""
        regeneration = _found(regeneration_id)
        cancel_regeneration(regeneration)
        return Response(_rendered(regeneration))


def _found(regeneration_id: str) -> Regeneration:
    try:
        return get_regeneration(UUID(regeneration_id))
    except ValueError:
        raise UnknownRegeneration(field="id") from None


def _rendered(regeneration: Regeneration) -> dict[str, Any]:
    return regeneration_progress(regeneration).as_json()

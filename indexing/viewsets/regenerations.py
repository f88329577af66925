"""Regenerations over HTTP: start, progress, cancel."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsAllDocuments
from access.authentication import get_grant
from access.grants import Grant, Scope
from access.request_throttle import get_holder
from core.enqueueing import enqueue_on_commit
from core.exceptions import InvalidInput
from core.openapi import ERROR, body_of
from core.paging import paginate
from core.serializers import PagingSerializer
from indexing import tasks
from indexing.exceptions import UnknownRegeneration
from indexing.models import Regeneration
from indexing.regeneration import (
    begin_regeneration,
    cancel_regeneration,
    get_regeneration,
    get_regeneration_progress,
)
from indexing.serializers import (
    RegenerateSerializer,
)


@extend_schema(tags=["Operation"])
class RegenerationViewSet(NeedsAllDocuments, viewsets.ViewSet):
    """Requests to make and embed nodes again."""

    scopes = Scope.MANAGE

    @extend_schema(
        operation_id="list_regenerations",
        parameters=[PagingSerializer],
        responses=body_of(strata_types.RegenerationList),
    )
    def list(self, request: Request) -> Response:
        """List regenerations, newest first."""
        parameters = PagingSerializer.read(request.query_params)
        regenerations = get_grant(request).limit(Regeneration.objects.all())
        page, answer = paginate(request, regenerations, parameters)
        return Response(answer | {"results": [_render(each) for each in page]})

    @extend_schema(
        operation_id="regenerate",
        request=RegenerateSerializer,
        responses={202: body_of(strata_types.Regeneration), 404: ERROR},
    )
    def create(self, request: Request) -> Response:
        """Make and embed nodes again, in every build that is not retired."""
        data = RegenerateSerializer.read(request.data)
        _check_index(data.get("index"), get_grant(request))
        regeneration = begin_regeneration(
            [data["type"]],
            index=data.get("index"),
            category=data["category"],
            artifact_ids=data.get("artifacts"),
            is_for_missing=data["only_missing"],
            is_for_stale=data["stale"],
            limit=data.get("limit"),
            offset=data["offset"],
            asked_by=get_holder(request),
        )
        enqueue_on_commit(tasks.regenerate, regeneration_id=str(regeneration.pk))
        return Response(_render(regeneration), status=status.HTTP_202_ACCEPTED)

    @extend_schema(operation_id="read_regeneration", responses=body_of(strata_types.Regeneration))
    def retrieve(self, request: Request, regeneration_id: str) -> Response:
        """Read a regeneration with its progress."""
        return Response(_render(_get_or_404(regeneration_id, get_grant(request))))

    @extend_schema(
        operation_id="cancel_regeneration",
        request=None,
        responses=body_of(strata_types.Regeneration),
    )
    def cancel(self, request: Request, regeneration_id: str) -> Response:
        """Cancel a regeneration.

        It makes no more nodes due; nodes that are already due are still synced.
        """
        regeneration = _get_or_404(regeneration_id, get_grant(request))
        cancel_regeneration(regeneration)
        return Response(_render(regeneration))


def _check_index(index: str | None, grant: Grant) -> None:
    if index is not None:
        grant.require(index)
    elif grant.indexes is not None:
        raise InvalidInput(
            "This key must name the index, because it does not see all indexes.",
            field="index",
            allowed=grant.indexes,
        )


def _get_or_404(regeneration_id: str, grant: Grant) -> Regeneration:
    """A regeneration of all indexes is visible only to those who see all indexes."""
    try:
        regeneration = get_regeneration(UUID(regeneration_id))
    except ValueError:
        raise UnknownRegeneration(field="id") from None
    if grant.indexes is not None and regeneration.index_id not in grant.indexes:
        raise UnknownRegeneration(field="id")
    return regeneration


def _render(regeneration: Regeneration) -> dict[str, Any]:
    return get_regeneration_progress(regeneration).as_json()

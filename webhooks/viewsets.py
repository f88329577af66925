"""REST endpoints of webhooks, for callers who may manage and see everything. Receivers are in the
settings."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status, viewsets
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsEverything
from access.grants import Scope
from core.openapi import operation
from core.paging import narrow, paginate, render_whole_list
from core.serializers import PagingSerializer
from webhooks import services, tasks
from webhooks.models import Delivery


class DeliveryFilterSerializer(PagingSerializer):
    state = serializers.ChoiceField(Delivery.State.values, required=False)


@extend_schema(tags=["Webhooks"])
class WebhookViewSet(NeedsEverything, viewsets.ViewSet):
    """Receivers of events, and what was sent to them."""

    scopes = Scope.MANAGE

    @operation("list_deliveries", strata_types.DeliveryList, query=DeliveryFilterSerializer)
    def list(self, request: Request) -> Response:
        """List the receivers of webhooks, and deliveries to them, newest first."""
        parameters = DeliveryFilterSerializer.read(request.query_params)
        rows = narrow(Delivery.objects.all(), parameters, "state")
        page, answer = paginate(request, rows, parameters)
        answer["receivers"] = [_hide_secrets(url) for url in settings.STRATA_WEBHOOK_URLS]
        return Response({**answer, "results": [_render_delivery(row) for row in page]})

    @operation("send_test_event", strata_types.EmittedDeliveries, status=201, errors=[409])
    def test(self, request: Request) -> Response:
        """Send the event `webhook.test` to each receiver."""
        rendered = [_render_delivery(row) for row in services.emit_test_event()]
        return Response(render_whole_list(rendered), status=status.HTTP_201_CREATED)

    @operation("retry_delivery", strata_types.Delivery)
    def retry(self, request: Request, delivery_id: UUID) -> Response:
        """Send a delivery again, whatever its state."""
        found = Delivery.objects.filter(pk=delivery_id)
        if not services.retry_deliveries(found):
            raise NotFound("There is no delivery with this id.", code="unknown_delivery")
        transaction.on_commit(tasks.send_due_deliveries.delay, robust=True)
        return Response(_render_delivery(found.get()))


def _hide_secrets(url: str) -> str:
    """The address without its user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _render_delivery(delivery: Delivery) -> dict[str, Any]:
    names = (
        "id", "event", "artifact_id", "state", "attempts", "last_status", "last_error",
        "next_attempt_at", "created_at", "delivered_at",
    )  # fmt: skip
    values = {name: getattr(delivery, name) for name in names}
    return {"receiver": _hide_secrets(delivery.url), **values}

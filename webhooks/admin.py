"""Admin for webhook deliveries: read-only list with a retry action."""

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from core.admin import ReadOnlyAdmin, select_rows
from webhooks import services, tasks
from webhooks.models import Delivery


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = [
        "event", "url", "state", "attempts", "last_status", "next_attempt_at", "created_at",
    ]  # fmt: skip
    list_filter = ["state", "event"]
    id_fields = ["id"]
    search_fields = ["url"]
    search_help_text = "The id sent as webhook-id, or a part of the address."
    actions = ["retry_deliveries"]

    @admin.action(description="Try again", permissions=["queue"])
    def retry_deliveries(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        count = services.retry_deliveries(select_rows(queryset))
        transaction.on_commit(tasks.send_due_deliveries.delay, robust=True)
        self.show_count(request, "%d delivery queued.", "%d deliveries queued.", count)

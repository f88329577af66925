"""Admin for webhook deliveries: read-only list with a retry action."""

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import ngettext

from webhooks import services, tasks
from webhooks.models import Delivery


@admin.register(Delivery)
class DeliveryAdmin(admin.ModelAdmin):
    list_display = [
        "event", "url", "state", "attempts", "last_status", "next_attempt_at", "created_at",
    ]  # fmt: skip
    list_filter = ["state", "event"]
    search_fields = ["=id", "url"]
    search_help_text = "The id sent as webhook-id, or a part of the address."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the whole table
    actions = ["retry_deliveries"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Delivery | None = None) -> bool:
        return False

    def has_queue_permission(self, request: HttpRequest) -> bool:
        """Allow the retry action to users who may change deliveries, though rows are read-only."""
        return super().has_change_permission(request)

    @admin.action(description="Try again", permissions=["queue"])
    def retry_deliveries(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        # A subquery: a user may select a whole long list, and its ids would be too many.
        chosen = Delivery.objects.filter(pk__in=queryset.order_by().values("pk"))
        count = services.retry_deliveries(chosen)
        transaction.on_commit(tasks.send_due_deliveries.delay, robust=True)
        message = ngettext("%d delivery queued.", "%d deliveries queued.", count) % count
        self.message_user(request, message, messages.SUCCESS)

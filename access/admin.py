"""Admin for API keys: list and revoke. ``manage.py key create`` makes them."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import ngettext

from access.models import ApiKey, ApiKeyQuerySet


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):
    list_display = ["name", "prefix", "created_at", "revoked_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter)]
    search_fields = ["name", "prefix"]
    fields = ["name", "prefix", "created_at", "revoked_at"]
    readonly_fields = ["prefix", "created_at", "revoked_at"]
    actions = ["revoke"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(description="Revoke selected API keys", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        assert isinstance(queryset, ApiKeyQuerySet)
        count = queryset.revoke()
        message = ngettext("%d key revoked.", "%d keys revoked.", count) % count
        self.message_user(request, message, messages.SUCCESS)

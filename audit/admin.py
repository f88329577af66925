"""Admin for the audit log: a read-only list."""

from django.contrib import admin

from audit.models import AuditRow
from core.admin import UndeletableRowAdmin

COLUMNS = ("at", "subject", "person_shown", "method", "route", "index", "document", "status")


@admin.register(AuditRow)
class AuditRowAdmin(UndeletableRowAdmin):
    list_display = COLUMNS
    list_select_related = ["subject"]
    search_fields = ["=index", "=document"]
    search_help_text = "The name of an index, or the id of a document."
    fields = (*COLUMNS, "position", "seal")

    @admin.display(description="name, address")
    def person_shown(self, row: AuditRow) -> str:
        return ", ".join(filter(None, row.name_and_address)) if row.subject.secret else "erased"

"""Reads filters of the audit log and renders its rows, as JSON and as CSV."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.utils import timezone
from rest_framework import serializers

import strata_types
from audit.models import AuditRow
from core.serializers import PagingSerializer, StrictSerializer, StringField

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # of a name that a spreadsheet would compute


class AuditFilterSerializer(StrictSerializer):
    since = serializers.DateTimeField(required=False, help_text="Rows from this time on.")
    until = serializers.DateTimeField(required=False, help_text="Rows before this time.")
    index = StringField(required=False, max_length=63)
    key = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class AuditPageSerializer(AuditFilterSerializer, PagingSerializer):
    """A page of these rows."""


def render_row(row: AuditRow) -> dict[str, Any]:
    name, address = row.name_and_address
    return {
        "id": row.pk,
        "at": row.at.astimezone(timezone.get_default_timezone()).isoformat(),
        "subject": row.subject_id,
        "caller": row.subject.kind,
        "caller_id": row.subject.number or None,
        "name": name,
        "address": address,
        "is_erased": not row.subject.secret,
        "method": row.method,
        "route": row.route,
        "index": row.index or None,
        "document": row.document or None,
        "status": row.status,
        "position": row.position,
        "seal": row.seal or None,
    }


def render_change(row: AuditRow, *, with_name: bool) -> dict[str, Any]:
    """What the history of a document shows of a row."""
    names = ("at", "caller", "name", "method", "route", "status")
    shown = {name: value for name, value in render_row(row).items() if name in names}
    shown["revision"] = row.revision
    return shown if with_name else {**shown, "name": None}


class _Lines:
    """The file of a ``csv.writer``, whose ``writerow`` returns what ``write`` returns."""

    def write(self, line: str) -> str:
        return line


def iter_csv(rows: Iterable[AuditRow]) -> Iterator[str]:
    writer = csv.writer(_Lines())
    yield writer.writerow(strata_types.AuditRow.__annotations__)
    for row in rows:
        content = render_row(row)
        if (content["name"] or "").startswith(FORMULA_SIGNS):
            content["name"] = f"'{content['name']}"
        yield writer.writerow(content.values())

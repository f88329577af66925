"""Paging of lists by limit and offset."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param

Row = TypeVar("Row", bound=Model)


def render_whole_list(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A list that has only one page."""
    return {"count": len(rows), "next": None, "previous": None, "results": rows}


def narrow(
    rows: QuerySet[Row], parameters: Mapping[str, Any], *names: str, **lookups: str
) -> QuerySet[Row]:
    """The rows that have the values of these parameters, as far as they are given. ``lookups``: for
    parameters that are not compared with the field of the same name."""
    lookups |= {name: name for name in names}
    return rows.filter(
        **{lookup: parameters[name] for name, lookup in lookups.items() if name in parameters}
    )


def paginate(
    request: Request, rows: QuerySet[Any], parameters: dict[str, Any]
) -> tuple[QuerySet[Any], dict[str, Any]]:
    """The rows of one page, and the fields ``count``, ``next`` and ``previous`` of the answer."""
    limit, offset = parameters["limit"], parameters["offset"]
    return rows[offset : offset + limit], render_page_head(request, rows.count(), parameters)


def render_page_head(request: Request, count: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """The fields ``count``, ``next`` and ``previous`` of a page of ``count`` rows."""
    limit, offset = parameters["limit"], parameters["offset"]
    url = request.build_absolute_uri()
    next_url = previous_url = None
    if offset + limit < count:
        next_url = replace_query_param(url, "offset", offset + limit)
    if offset > limit:
        previous_url = replace_query_param(url, "offset", offset - limit)
    elif offset:
        previous_url = remove_query_param(url, "offset")
    return {"count": count, "next": next_url, "previous": previous_url}

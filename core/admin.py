"""Bases of the admin's lists, which open fast however many rows there are."""

from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

COUNT_LIMIT = 10_000  # rows: a hundred pages, more than anyone turns

M = TypeVar("M", bound=Model)


class AtLeast(int):
    """A count that was not carried on; shown with a plus."""

    def __str__(self) -> str:
        return f"{int(self)}+"


class CappedPaginator(Paginator):
    """Counts no further than ``COUNT_LIMIT``: a list of a million rows opens as a short one."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        count = rows.order_by().values("pk")[: COUNT_LIMIT + 1].count()
        return count if count <= COUNT_LIMIT else AtLeast(COUNT_LIMIT)


class Listed(admin.ModelAdmin):
    """Rows the service adds and removes, in lists that cost the same however many there are."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the whole table
    long_fields: Sequence[str] = ()  # left in the database until a row is opened
    id_fields: Sequence[str] = ()  # what an id in the search box may be

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.long_fields)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            wanted = UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(self.has_id(wanted)), False

    def has_id(self, wanted: UUID) -> Q:
        """Compared as ids, not as text: so an index finds them."""
        condition = Q(pk__in=[])
        for name in self.id_fields:
            condition |= Q(**{name: wanted})
        return condition

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_queue_permission(self, request: HttpRequest) -> bool:
        """Who may change rows may have their work done again, even where no one edits them."""
        return super().has_change_permission(request)


class LookedAt(Listed):
    """Rows the service writes; people only read them."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def offer_actions(model: type[Model], *actions: Any) -> None:
    """Add actions to the list of a model that an app further down shows."""
    model_admin = admin.site.get_model_admin(model)
    model_admin.actions = [*(model_admin.actions or []), *actions]


def selected(queryset: QuerySet[M]) -> QuerySet[M]:
    """The rows an action is for, without the list's ordering, joins and annotations.

    They are named by a subquery: all of a long list may be meant, and ids would be too many.
    """
    return queryset.model._default_manager.filter(pk__in=queryset.order_by().values("pk"))

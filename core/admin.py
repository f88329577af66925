"""Base classes of admin lists that open equally fast with any number of rows."""

from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import ngettext

MAX_COUNTED_ROWS = 10_000  # rows: a hundred pages of the list

M = TypeVar("M", bound=Model)


class LowerBound(int):
    """A count that stopped at its limit; shown with a plus."""

    def __str__(self) -> str:
        return f"{int(self)}+"


class CappedPaginator(Paginator):
    """Stops counting at ``MAX_COUNTED_ROWS``, so that a long list opens as fast as a short one."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        count = rows.order_by().values("pk")[: MAX_COUNTED_ROWS + 1].count()
        return count if count <= MAX_COUNTED_ROWS else LowerBound(MAX_COUNTED_ROWS)


class ServiceRowAdmin(admin.ModelAdmin):
    """Base for rows that the service adds and removes; the cost of a list does not depend on its
    length."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the whole table
    long_fields: Sequence[str] = ()  # loaded only when a row is opened
    id_fields: Sequence[str] = ()  # fields that an id in the search box is compared with
    index_lookup = "index"  # the name of a row's index, for a filter

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.long_fields)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            searched_id = UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(self.id_condition(searched_id)), False

    def id_condition(self, searched_id: UUID) -> Q:
        """Compare the columns as ids, not as text, so that the database uses their indexes."""
        condition = Q(pk__in=[])
        for name in self.id_fields:
            condition |= Q(**{name: searched_id})
        return condition

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_queue_permission(self, request: HttpRequest) -> bool:
        """Allow queueing actions to users with the change permission, even if rows are
        read-only."""
        return super().has_change_permission(request)

    def show_count(self, request: HttpRequest, one: str, many: str, count: int) -> None:
        """Show how many rows an action has changed."""
        self.message_user(request, ngettext(one, many, count) % count, messages.SUCCESS)


class ReadOnlyAdmin(ServiceRowAdmin):
    """Base for rows that the service writes and people only read."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class UndeletableRowAdmin(ReadOnlyAdmin):
    """Base for rows that the service also removes."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def select_rows(queryset: QuerySet[M]) -> QuerySet[M]:
    """The selected rows, without the list's ordering, joins and annotations.

    A subquery selects them: a user may select a whole long list, and its ids would be too many.
    """
    return queryset.model._default_manager.filter(pk__in=queryset.order_by().values("pk"))

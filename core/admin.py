"""Base classes of admin lists that open equally fast with any number of rows, and actions that say
what they will do before they do it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.utils.translation import ngettext

from core.exceptions import StrataError
from core.index_paths import get_index_path
from core.text import normalise

# In META of a request: the indexes and documents that an action has changed.
AUDITED_TARGETS = "strata.audited_targets"
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.long_fields)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            searched_id = UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, normalise(search_term))
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


# --- Actions that are confirmed --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effect:
    """What an action would do to the selected rows. ``targets``: the indexes that it changes, and
    the document where there is one alone; each has a row in the audit log."""

    summary: str  # such as "3 documents: 57 nodes are embedded again."
    count: int  # of what it changes
    targets: Sequence[tuple[str, str]]
    carry_out: Callable[[], str]  # returns the message after it


MAX_NAMED_DOCUMENTS = 100  # with a row each in the audit log; of more, only the indexes


def name_targets(rows: QuerySet[Any], document: str | None = None) -> list[tuple[str, str]]:
    """The targets of an action on these rows. ``document``: the field that leads to their
    document."""
    rows, index = rows.order_by(), get_index_path(rows.model)
    if document is not None:
        named = rows.exclude(**{document: None}).values_list(index, document).distinct()
        if len(found := list(named[: MAX_NAMED_DOCUMENTS + 1])) <= MAX_NAMED_DOCUMENTS:
            return [(name, str(id)) for name, id in found]
    return [(name, "") for name in rows.values_list(index, flat=True).distinct()]


def confirmed_action(
    description: str,
) -> Callable[[Callable[[Any, HttpRequest, QuerySet[Any]], Effect]], Any]:
    """An action that shows its effect, with counts, and carries it out once that is confirmed."""

    def decorate(find_effect: Callable[[Any, HttpRequest, QuerySet[Any]], Effect]) -> Any:
        @admin.action(description=description, permissions=["queue"])
        @wraps(find_effect)
        def act(
            self: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Any]
        ) -> TemplateResponse | None:
            request.META[AUDITED_TARGETS] = []
            try:
                effect = find_effect(self, request, select_rows(queryset))
                if effect.count and "confirmed" not in request.POST:
                    return _ask(self, request, description, effect)
                message = effect.carry_out() if effect.count else effect.summary
            except StrataError as error:
                self.message_user(request, error.with_fix(), messages.ERROR)
                return None
            if effect.count:
                request.META[AUDITED_TARGETS] = [*effect.targets]
            self.message_user(
                request, message, messages.SUCCESS if effect.count else messages.WARNING
            )
            return None

        return act

    return decorate


def _ask(
    model_admin: ServiceRowAdmin, request: HttpRequest, title: str, effect: Effect
) -> TemplateResponse:
    hidden = [
        (name, value)
        for name in ("action", "select_across", "index", ACTION_CHECKBOX_NAME)
        for value in request.POST.getlist(name)
    ]
    context = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "summary": effect.summary,
        "hidden": hidden,
        "opts": model_admin.opts,
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)

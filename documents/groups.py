"""The groups of a document: who may see it, who may change it, and the database condition."""

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import JSONField, Lookup, Q

from access.grants import Grant, clean_group_names
from core.exceptions import Conflict, InvalidInput

MAX_GROUPS = 50  # of a document

ANY_IN_SQLITE = "EXISTS (SELECT 1 FROM json_each({}) WHERE json_each.value IN ({}))"


@JSONField.register_lookup
class ContainsAny(Lookup):
    """The stored list contains at least one of the given strings."""

    lookup_name = "contains_any"
    prepare_rhs = False

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, parameters = self.process_lhs(compiler, connection)
        marks = ", ".join(["%s"] * len(self.rhs))
        return ANY_IN_SQLITE.format(column, marks), [*parameters, *self.rhs]

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} ?| %s", [*parameters, list(self.rhs)]


def is_visible(grant: Grant, path: str = "") -> Q:
    """The condition that the grant includes a row's artifact. ``path`` leads from the row to its
    artifact, for example ``artifact__``."""
    if grant.groups is None:
        return Q()
    condition = Q(**{f"{path}groups": []})
    if grant.groups:
        condition |= Q(**{f"{path}groups__contains_any": sorted(grant.groups)})
    return condition


def covers_groups(groups: Collection[str], others: Collection[str]) -> bool:
    """Whether all who may see a document with ``others`` may see one with ``groups``, too."""
    return not groups or (bool(others) and set(others) <= set(groups))


def clean_groups(groups: Sequence[Any]) -> list[str]:
    """Sort the names and remove repeated ones. Raises ``InvalidInput``: there are too many, or a
    name is empty, too long or has forbidden characters."""
    names = clean_group_names(groups)
    if len(names) > MAX_GROUPS:
        raise InvalidInput(f"A document may have at most {MAX_GROUPS} groups.", field="groups")
    return names


def require_all_visible(rows: Any, grant: Grant, error: type[Conflict]) -> None:
    """Refuse what would change all of these rows with another one, unless the grant includes each.

    Raises:
        Conflict: ``error``; the grant does not include one of the rows.
    """
    if rows.visible_to(grant).count() < rows.count():
        raise error(
            field="id",
            fix="Someone who sees all documents of the index can do it.",
        )


def choose_groups_of_new_document(grant: Grant, groups: Sequence[str] | None) -> list[str]:
    """The groups of a new document: those given, else all of the grant's.

    Raises:
        InvalidInput: the grant does not have one of them, or the document would be visible to
            everyone who reads the index, although the grant has groups.
    """
    if groups is None:
        return sorted(grant.groups or ())
    chosen = clean_groups(groups)
    _check_chosen(grant, chosen)
    return chosen


def choose_changed_groups(grant: Grant, before: Sequence[str], groups: Sequence[str]) -> list[str]:
    """The groups of a document that had the groups ``before``: those given, and those that the
    grant does not have, which are hidden and stay.

    Raises:
        InvalidInput: a group is given that the grant does not have, or the document keeps none of
            the grant's groups.
    """
    chosen = clean_groups(groups)
    if chosen != [group for group in before if grant.shows_group(group)]:
        _check_chosen(grant, chosen)
    hidden = [group for group in before if not grant.shows_group(group)]
    return clean_groups([*chosen, *hidden])


def _check_chosen(grant: Grant, chosen: Collection[str]) -> None:
    if grant.groups is None:
        return
    if not grant.groups.issuperset(chosen):
        raise InvalidInput(
            "You can give a document only your own groups.",
            field="groups",
            allowed=grant.groups,
        )
    if grant.groups and grant.groups.isdisjoint(chosen):
        raise InvalidInput(
            "The document must have at least one of your own groups.",
            field="groups",
            allowed=grant.groups,
        )

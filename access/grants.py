"""What a request may do and see. Made once for each request; the grant is passed to searches and
look-ups by id. Also the names of all indexes,
and of those that may be searched without a key: the indexing app registers how to list them."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from core.exceptions import InvalidInput, UnknownIndex
from core.index_paths import get_index_path
from core.text import normalise

MAX_GROUP_CHARS = 100
EVERYONE = "*"  # stands in payloads for a document without groups; no group has this name

Rows = TypeVar("Rows", bound=Any)


class Scope(StrEnum):
    """What a request may do: each scope includes those before it."""

    SEARCH = "search"  # search and read
    WRITE = "write"  # add, change and remove what an index holds
    MANAGE = "manage"  # remove, build and verify indexes; hold documents; make and revoke keys

    def includes(self, other: "Scope") -> bool:
        scopes = list(Scope)
        return scopes.index(other) <= scopes.index(self)


@dataclass(frozen=True, slots=True)
class Grant:
    """``indexes``: the names of the visible indexes; None for all. ``groups``: documents of these
    groups are visible, and documents without groups; None for all documents.

    The API answers as if everything else did not exist.
    """

    indexes: frozenset[str] | None = None
    groups: frozenset[str] | None = None

    def includes(self, index: str) -> bool:
        return self.indexes is None or index in self.indexes

    def require(self, index: str) -> None:
        """Check that the grant includes an index.

        Raises:
            UnknownIndex: the index is not visible; its text is that for a missing index.
        """
        if self.indexes is not None and index not in self.indexes:
            raise UnknownIndex.named(index, self.indexes)

    def limit(self, rows: Rows) -> Rows:
        """The rows of a query set that belong to visible indexes."""
        if self.indexes is None:
            return rows
        return rows.filter(**{f"{get_index_path(rows.model)}__in": self.indexes})

    def covers(self, other: "Grant") -> bool:
        """Whether everything that ``other`` shows is visible."""
        return _covers(self.indexes, other.indexes) and _covers(self.groups, other.groups)

    @property
    def sees_all_documents(self) -> bool:
        """Whether it sees every document of the visible indexes."""
        return self.groups is None

    def shows_group(self, group: str) -> bool:
        """Whether the name may be shown; of a visible document, other groups are hidden."""
        return self.groups is None or group in self.groups

    def includes_groups(self, groups: Collection[str]) -> bool:
        """Whether a document of these groups is visible."""
        return self.groups is None or not groups or not self.groups.isdisjoint(groups)


@dataclass(frozen=True, slots=True)
class UserRights:
    """The rights of a user: for each of their groups its scope and its grant."""

    groups: tuple[tuple[Scope, Grant], ...]

    @property
    def scope(self) -> Scope | None:
        """The largest; None without any rights."""
        scopes = [scope for scope, _ in self.groups]
        return max(scopes, key=list(Scope).index, default=None)

    def grant_for(self, needed: Scope) -> Grant:
        """What an operation that needs this scope may see: what the groups with this scope or a
        larger one show together."""
        return unite(grant for scope, grant in self.groups if scope.includes(needed))

    def limited_to(self, most: Scope) -> "UserRights":
        """The same grants, with no larger scope than ``most``."""
        return UserRights(
            tuple((min(scope, most, key=list(Scope).index), grant) for scope, grant in self.groups)
        )


EVERYTHING = Grant()
NOTHING = Grant(indexes=frozenset(), groups=frozenset())


def unite(grants: Iterable[Grant]) -> Grant:
    """All of their indexes, and documents of all of their groups.

    A limit to groups of documents stays: all documents are visible only if each grant shows all
    documents. A grant that another one covers does not count.
    """
    widest: list[Grant] = []
    for grant in grants:
        if not any(other.covers(grant) for other in widest):
            widest = [*(other for other in widest if not grant.covers(other)), grant]
    if not widest:
        return NOTHING
    groups = [grant.groups for grant in widest if grant.groups is not None]
    return Grant(
        indexes=_join(grant.indexes for grant in widest),
        groups=frozenset().union(*groups) if groups else None,
    )


def clean_group_names(names: Iterable[object]) -> list[str]:
    """Sort names of groups of documents, in NFC, and remove repeated ones.

    Raises:
        InvalidInput: a name is no text, is empty or too long, or has forbidden characters.
    """
    cleaned = set()
    for name in names:
        if (
            not isinstance(name, str)
            or not 0 < len(name) <= MAX_GROUP_CHARS
            or not name.isprintable()
            or name != name.strip()
            or name == EVERYONE
        ):
            raise InvalidInput(
                f"A group must be a text of 1 to {MAX_GROUP_CHARS} printable characters, without "
                "white space at its ends.",
                field="groups",
            )
        cleaned.add(normalise(name))
    return sorted(cleaned)


def _covers(names: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    return names is None or (others is not None and others <= names)


def _join(names: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """The union of the sets of names; None, which means all names, if one of them is None."""
    joined: frozenset[str] = frozenset()
    for each in names:
        if each is None:
            return None
        joined |= each
    return joined


ListNames = Callable[[], Iterable[str]]

_list_all: ListNames | None = None
_list_public: ListNames | None = None


def register_index_names(list_all: ListNames, list_public: ListNames) -> None:
    global _list_all, _list_public
    _list_all, _list_public = list_all, list_public


def list_index_names() -> list[str]:
    if _list_all is None:
        raise RuntimeError("No app has registered the names of indexes.")
    return sorted(_list_all())


def list_public_indexes() -> frozenset[str]:
    if _list_public is None:
        raise RuntimeError("No app has registered the public indexes.")
    return frozenset(_list_public())

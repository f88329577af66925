"""Lists and errors."""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

HitVerdict: TypeAlias = Literal["exact", "stale"]
"""Whether the text is that of its document now."""


class ListOptions(TypedDict, total=False):
    """Which rows of a list, or hits, are returned."""

    limit: int | None
    offset: int | None


class AnyList(TypedDict):
    """One page of a list; `count` counts the whole list."""

    count: int
    next: str | None
    previous: str | None


class Problem(TypedDict):
    """What is wrong, as a code and a sentence."""

    code: str
    detail: str


class ErrorContent(Problem):
    """The body of every error."""

    field: NotRequired[str]
    """The part of the request that is wrong."""
    allowed: NotRequired[list[str]]
    fix: NotRequired[str]
    """How to fix it."""


class ConceptLabel(TypedDict):
    id: str
    label: str


class Deletion(TypedDict):
    id: str
    deleted: bool
    revision: int
    """A search with this min_revision no longer finds it."""

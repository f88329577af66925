"""The answer of a knowledge search."""

from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer(Generic[Found]):
    """The result of a search. ``builds``: index name -> number of the build that was searched."""

    builds: dict[str, int | None]
    found: Found
    stale_ids: list[UUID]  # the caller enqueues planning for these
    took_ms: dict[str, float]  # by stage

"""The answer of a knowledge search."""

from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer(Generic[Found]):
    """What a search found. ``builds``: index name -> number of the build that answered."""

    builds: dict[str, int | None]
    found: Found
    stale_ids: list[UUID]  # the caller enqueues planning for them
    took_ms: dict[str, float]  # by stage

"""What a request may see. Made once for each request and passed to searches and look-ups by id."""

from collections.abc import Collection
from dataclasses import dataclass


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

    @property
    def sees_all_documents(self) -> bool:
        """Whether it sees every document of the visible indexes."""
        return self.groups is None

    def includes_groups(self, groups: Collection[str]) -> bool:
        """Whether a document of these groups is visible."""
        return self.groups is None or not groups or not self.groups.isdisjoint(groups)


EVERYTHING = Grant()

"""What a request may see. Made once for each request; searches and look-ups by id take it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grant:
    """``indexes``: the names of those that may be seen; None for all.

    What a grant leaves out is answered as what is not there.
    """

    indexes: frozenset[str] | None = None

    def includes(self, index: str) -> bool:
        return self.indexes is None or index in self.indexes


EVERYTHING = Grant()

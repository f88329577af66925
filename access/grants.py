"""What a request may see. Made once for each request and passed to searches and look-ups by id."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grant:
    """``indexes``: the names of the visible indexes; None for all.

    The API answers as if everything else did not exist.
    """

    indexes: frozenset[str] | None = None

    def includes(self, index: str) -> bool:
        return self.indexes is None or index in self.indexes


EVERYTHING = Grant()

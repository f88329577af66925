"""Whether passages are about the query of a search: an app tests it (``retrieval.hooks``)."""

from dataclasses import dataclass
from typing import Final

MAX_WORDS_NAMED: Final = 5  # of those that no passage has


@dataclass(frozen=True, slots=True)
class Relevance:
    """``is_relevant``: whether an index has passages about a query; None if it cannot be told, and
    then ``untested`` says why, if anything can be done about it. ``missing``: the words of an
    irrelevant query that no passage has."""

    is_relevant: bool | None
    missing: tuple[str, ...] = ()
    untested: str = ""

    @property
    def reason(self) -> str:
        """Why it is not relevant, as a clause."""
        if not self.missing:
            return "no passage is similar to it, and none has all of its words"
        quoted = [f"“{word}”" for word in self.missing[:MAX_WORDS_NAMED]]
        *others, last = quoted
        listed = f"{', '.join(others)} or {last}" if others else last
        return f"no passage is similar to it, and none mentions {listed}"

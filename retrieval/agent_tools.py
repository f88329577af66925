"""How apps offer operations of the API to agents, as tools of MCP."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from access.grants import Scope
from retrieval.hit_text import Content


class JoinedEvents(Protocol):
    """The events of an operation that streams its answer, as one answer."""

    def add(self, kind: str, data: Content) -> str | None:
        """Add an event. Returns what to tell whoever waits."""

    def break_off(self, error: Exception) -> None:
        """End with an error: keep what came before, or raise it."""

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with the arguments and the answer of a REST operation.

    ``operations``: the id of the one that it calls, and of others whose rights it needs.
    ``to_text`` writes the answer for a language model; without it, it is written as YAML.
    ``join_events``: for an operation that answers with events. ``is_public``: it answers without a
    key about public indexes.
    """

    name: str
    operations: tuple[str, ...]
    description: str
    scope: Scope = Scope.SEARCH
    to_text: Callable[[Content], str] | None = None
    join_events: Callable[[], JoinedEvents] | None = None
    is_public: bool = False

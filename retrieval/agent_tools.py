"""How apps offer operations of the API to agents, as tools of MCP."""

from collections.abc import Callable
from dataclasses import dataclass

from access.grants import Scope
from retrieval.hit_text import Content


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with the arguments and the answer of a REST operation.

    ``operations``: the id of the one that it calls, and of others whose rights it needs.
    ``to_text`` writes the answer for a language model; without it, it is written as YAML.
    ``is_public``: it answers without a key about public indexes.
    """

    name: str
    operations: tuple[str, ...]
    description: str
    scope: Scope = Scope.SEARCH
    to_text: Callable[[Content], str] | None = None
    is_public: bool = False

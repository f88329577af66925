"""How hits of each kind of node are checked and rendered."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.utils.module_loading import import_string

from indexing.kinds import KINDS

# Of a kind that is made of its document alone, and whose nodes have no position in a text.
CHECK = "retrieval.search.hit_checks.check_drafts"
RENDER = "retrieval.serializers.answers.render_node_without_position"


def get_hit_check(kind: str) -> Callable[..., Any]:
    """A ``CheckFunction``; kinds that share it are checked together."""
    return _import(KINDS[kind].check or CHECK)


def get_hit_renderer(kind: str) -> Callable[..., dict[str, Any]]:
    """A ``HitRenderer``."""
    return _import(KINDS[kind].render or RENDER)


@cache
def _import(path: str) -> Callable[..., Any]:
    function: Callable[..., Any] = import_string(path)
    return function

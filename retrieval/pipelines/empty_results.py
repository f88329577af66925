"""Say which condition of a filter left nothing to search."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from indexing.stores import AllOf, Filter
from retrieval.filters import parse_filter
from retrieval.search.targets import Target
from retrieval.visible_points import VisiblePoints

MAX_CONDITION_CHARS: Final = 120  # of a condition, in a note


def split_conditions(filter: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Split a filter into the conditions that must all hold."""
    for key, value in filter.items():
        if key == "all_of":
            for part in value:
                yield from split_conditions(part)
        else:
            yield {key: value}


def describe_empty_result(target: Target, filter: Mapping[str, Any] | None) -> list[str]:
    """A note that names the condition which leaves nothing: the first that no passage matches, or
    else the first that none matches together with those before it. No note if passages match the
    whole filter.

    Raises:
        StoreUnavailable: retry helps.
    """
    points = VisiblePoints(target.grant)

    def count(*filters: Filter) -> int:
        return points.count(target.collection, AllOf(filters))

    parsed = [
        (condition, parsed)
        for condition in split_conditions(filter or {})
        if (parsed := parse_filter(condition, target.spec)) is not None
    ]
    for condition, each in parsed:
        if not count(each):
            return [f"No passage of this index matches the filter {_format(condition)}."]
    for number in range(1, len(parsed)):
        condition, each = parsed[number]
        earlier = parsed[:number]
        if not count(*(other for _, other in earlier), each):
            others = " and ".join(_format(other) for other, _ in earlier)
            return [
                f"No passage matches the filter {_format(condition)} together with {others}: "
                f"alone it matches {count(each)}."
            ]
    return []


def _format(condition: Mapping[str, Any]) -> str:
    text = json.dumps(condition, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CONDITION_CHARS else f"{text[: MAX_CONDITION_CHARS - 1]}…"

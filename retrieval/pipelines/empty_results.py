"""Say which condition of a filter left nothing to search."""

import json
from collections.abc import Iterator, Mapping, Sequence
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
    conditions: list[Mapping[str, Any]] = []
    parsed: list[Filter] = [] if target.filter is None else [target.filter]
    first = len(parsed)
    for condition in split_conditions(filter or {}):
        if (read := parse_filter(condition, target.spec, target.grant)) is not None:
            conditions.append(condition)
            parsed.append(read)
    for number, single in enumerate(conditions):
        if not _has_match(target, [*parsed[:first], parsed[first + number]]):
            return [f"No passage of this index matches the filter {_format(single)}."]
    for number in range(2, len(conditions) + 1):
        if not _has_match(target, parsed[: first + number]):
            *others, last = conditions[:number]
            together = " and ".join(_format(other) for other in others)
            return [f"No passage matches the filter {_format(last)} together with {together}."]
    return []


def _has_match(target: Target, filters: Sequence[Filter]) -> bool:
    return VisiblePoints(target.grant).count(target.collection, AllOf(filters)) > 0


def _format(condition: Mapping[str, Any]) -> str:
    text = json.dumps(condition, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CONDITION_CHARS else f"{text[: MAX_CONDITION_CHARS - 1]}…"

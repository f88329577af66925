"""Say which condition of a filter left nothing to search."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from access.grants import Grant
from indexing.stores import Filter
from retrieval.filters import all_of, parse_filter
from retrieval.search.multi_query import choose_passage_kind
from retrieval.search.targets import Target, find_builds, make_targets
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


def describe_empty_result(index: str, filter: Mapping[str, Any] | None, grant: Grant) -> list[str]:
    """A note that names the condition which leaves nothing: the first that no passage matches, or
    else the first that none matches together with those before it. No note if passages match the
    whole filter."""
    build = find_builds([index], grant)[index]
    if build is None or not filter:
        return []
    [target] = make_targets([build], [choose_passage_kind(build)])
    conditions = [
        (condition, parsed)
        for condition in split_conditions(filter)
        if (parsed := parse_filter(condition, target.spec, grant)) is not None
    ]
    for condition, parsed in conditions:
        if not _has_match(target, parsed):
            return [f"No passage of this index matches the filter {_format(condition)}."]
    for number in range(2, len(conditions) + 1):
        if not _has_match(target, *(parsed for _, parsed in conditions[:number])):
            *others, last = (_format(condition) for condition, _ in conditions[:number])
            together = " and ".join(others)
            return [f"No passage matches the filter {last} together with {together}."]
    return []


def _has_match(target: Target, *filters: Filter) -> bool:
    condition = all_of(target.filter, *filters)
    return VisiblePoints(target.grant).count(target.collection, condition) > 0


def _format(condition: Mapping[str, Any]) -> str:
    text = json.dumps(condition, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_CONDITION_CHARS else f"{text[: MAX_CONDITION_CHARS - 1]}…"

"""Filters of OpenAI and conditions of Dify as filters of the API (``retrieval.filters``)."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field

from core.exceptions import InvalidInput
from guests.errors import as_list
from indexing.spec import IndexSpec
from retrieval.filters import MAX_DEPTH

Filter = dict[str, Any]

RANGES: Final = ("gt", "gte", "lt", "lte")
COMPARISONS: Final = ("eq", "ne", *RANGES, "in", "nin")
COMPOUNDS: Final = {"and": "all_of", "or": "any_of"}


def read_openai_filter(content: Any, path: str = "filters", depth: int = 1) -> Filter | None:
    """Convert a comparison or a compound filter.

    Raises:
        InvalidInput: it is neither; names its place.
    """
    if content is None and depth == 1:
        return None
    if not isinstance(content, Mapping) or depth > MAX_DEPTH:
        raise InvalidInput(
            f"A filter must be an object, nested at most {MAX_DEPTH} deep.", field=path
        )
    kind = content.get("type")
    if isinstance(kind, str) and kind in COMPOUNDS:
        filters = content.get("filters")
        if not isinstance(filters, list) or not filters:
            raise InvalidInput("filters must be a list of filters.", field=f"{path}.filters")
        parts = [
            read_openai_filter(each, f"{path}.filters.{number}", depth + 1)
            for number, each in enumerate(filters)
        ]
        return {COMPOUNDS[kind]: parts}
    if kind not in COMPARISONS:
        raise InvalidInput(
            "There is no such type of filter.",
            field=f"{path}.type",
            allowed=[*COMPARISONS, *COMPOUNDS],
        )
    key = content.get("key")
    if not isinstance(key, str) or key in {"all_of", "any_of", "not"}:
        raise InvalidInput("key must be the name of a field.", field=f"{path}.key")
    if "value" not in content:
        raise InvalidInput("The value is missing.", field=f"{path}.value")
    value = content["value"]
    if isinstance(value, list) != (kind in {"in", "nin"}) or isinstance(value, Mapping):
        what = "a list" if kind in {"in", "nin"} else "a string, a number or a boolean"
        raise InvalidInput(f"The value of {kind} must be {what}.", field=f"{path}.value")
    condition = {key: {kind: value} if kind in RANGES else value}
    return {"not": condition} if kind in {"ne", "nin"} else condition


# --- Dify ------------------------------------------------------------------------------------


class Condition(BaseModel):
    name: Annotated[list[str], Field(min_length=1), BeforeValidator(as_list)]
    comparison_operator: str
    value: Any = None


class Conditions(BaseModel):
    logical_operator: Literal["and", "or"] | None = "and"
    conditions: list[Condition] | None = None


def _compare(operator: str) -> Callable[[str, Any], Filter]:
    return lambda name, value: {name: {operator: value}}


def _equal(name: str, value: Any) -> Filter:
    return {name: value}


def _differ(name: str, value: Any) -> Filter:
    return {"not": {name: value}}


OPERATORS: Final[Mapping[str, Callable[[str, Any], Filter]]] = {
    **dict.fromkeys(("is", "=", "contains", "in"), _equal),
    **dict.fromkeys(("is not", "≠", "not contains", "not in"), _differ),
    **dict.fromkeys((">", "after"), _compare("gt")),
    **dict.fromkeys(("<", "before"), _compare("lt")),
    "≥": _compare("gte"),
    "≤": _compare("lte"),
    "empty": lambda name, value: {name: None},
    "not empty": lambda name, value: {name: {"exists": True}},
}


def read_dify_conditions(content: Conditions | None, spec: IndexSpec | None) -> Filter | None:
    """Convert the conditions on metadata. ``spec``: of the index, None if nothing is live.

    Raises:
        InvalidInput: there is no such operator, or the field cannot be compared by it.
    """
    if content is None or not content.conditions:
        return None
    parts = [
        _read_condition(each, spec, f"metadata_condition.conditions.{number}")
        for number, each in enumerate(content.conditions)
    ]
    return {COMPOUNDS[content.logical_operator or "and"]: parts}


def _read_condition(condition: Condition, spec: IndexSpec | None, path: str) -> Filter:
    operator = condition.comparison_operator
    if operator not in OPERATORS:
        raise InvalidInput(
            f"There is no operator {operator[:50]!r} for conditions.",
            field=f"{path}.comparison_operator",
            allowed=OPERATORS,
        )
    filters = []
    for name in condition.name:
        field = spec.metadata.get(name) if spec else None
        if "contains" in operator and field and field.type != "text" and not field.many:
            raise InvalidInput(
                f"{name} has one value, which is compared as a whole, so {operator} does not apply "
                "to it.",
                field=f"{path}.comparison_operator",
                fix="Use is, is not or in.",
            )
        value = _read_value(condition.value, field.type if field else "")
        filters.append(OPERATORS[operator](name, value))
    return filters[0] if len(filters) == 1 else {"any_of": filters}


def _read_value(value: Any, type: str) -> Any:
    if isinstance(value, list):
        return [_read_single(each, type) for each in value]  # the search refuses lists in it
    return _read_single(value, type)


def _read_single(value: Any, type: str) -> Any:
    """Dify writes numbers as text, too."""
    if isinstance(value, str) and type in {"integer", "float"}:
        try:
            return int(value) if type == "integer" else float(value)
        except ValueError:
            return value  # the search says what the field takes
    if isinstance(value, float) and type == "integer" and value.is_integer():
        return int(value)
    if isinstance(value, str) and type == "bool" and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    return value

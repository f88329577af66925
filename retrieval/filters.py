"""Parses filters: checks a caller's filter against the spec and converts it to the store's filter.

``{"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}`` matches if every key matches; ``all_of``,
``any_of`` and ``not`` nest. ``null``, also in a list, and ``{"exists": false}`` match what has no
value. A date without a time is a whole day, a month or a year likewise. A filter that cannot be
parsed is an error; no part is ignored.
"""

import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from access.grants import EVERYONE, EVERYTHING, Grant
from core.exceptions import InvalidInput
from core.text import clean_text, is_text
from indexing.spec import FieldSpec, IndexSpec
from indexing.spec.dates import get_period, read_date
from indexing.stores import AllOf, AnyOf, Empty, Filter, Match, MatchText, Not, Range

MAX_DEPTH = 8  # nested objects
MAX_CONDITIONS = 200  # compared values in the whole filter
MAX_VALUE_CHARS = 2_000

COMBINATORS = ("all_of", "any_of", "not")
RANGE_OPERATORS = ("gte", "gt", "lte", "lt")
EXISTS = "exists"
RANGE_FIELD_TYPES = frozenset({"integer", "float", "datetime"})
ID_FIELDS = frozenset({"artifact_id", "page_id", "source_id", "chunk_id", "entity_id"})


def parse_filter(content: object, spec: IndexSpec, grant: Grant = EVERYTHING) -> Filter | None:
    """Parse a caller's filter into the store's; None where it is empty. Groups that the grant does
    not have match nothing, because a document's other groups are hidden.

    Raises:
        InvalidInput: with the path in the filter (``filter.year.gte``) and the allowed values.
    """
    if content is None:
        return None
    return _FilterParser(spec, grant).parse_object(content, "filter", depth=1)


def parse_value(
    value: object, field_type: str, path: str, field_spec: FieldSpec | None = None
) -> Any:
    """Check a value of a field type (``text``, ``integer`` …) and convert it to the stored form.
    Raises ``InvalidInput``: with ``path`` and the allowed values."""
    read = _READER_BY_FIELD_TYPE[field_type](value, path)
    if field_spec is None:
        return read
    normalised = field_spec.normalise(read)
    if field_spec.closed_values is not None and normalised not in field_spec.closed_values:
        raise InvalidInput(
            f"{read[:100]!r} is not an allowed value of this field.",
            field=path,
            allowed=field_spec.closed_values,
        )
    return normalised


@dataclass(slots=True)
class _FilterParser:
    spec: IndexSpec
    grant: Grant
    condition_count: int = 0

    def parse_object(self, content: object, path: str, *, depth: int) -> Filter | None:
        if not isinstance(content, Mapping):
            raise InvalidInput(
                f"A filter must be a JSON object of fields and values, not {_json_type(content)}.",
                field=path,
            )
        if depth > MAX_DEPTH:
            raise InvalidInput(f"The filter is nested deeper than {MAX_DEPTH} levels.", field=path)
        parts = [
            self._parse_key(key, value, f"{path}.{key}", depth) for key, value in content.items()
        ]
        return all_of(*parts)

    def _parse_key(self, key: str, value: object, path: str, depth: int) -> Filter | None:
        if key in {"all_of", "any_of"}:
            if not isinstance(value, list) or not value:
                raise InvalidInput(f"{key} must be a list of at least one filter.", field=path)
            parts = [
                self.parse_object(part, f"{path}.{number}", depth=depth + 1)
                for number, part in enumerate(value)
            ]
            if None in parts:  # an empty object matches everything
                number = parts.index(None)
                raise InvalidInput("The filter is empty.", field=f"{path}.{number}")
            filters = [part for part in parts if part is not None]
            return all_of(*filters) if key == "all_of" else _any_of(filters)
        if key == "not":
            negated = self.parse_object(value, path, depth=depth + 1)
            if negated is None:
                raise InvalidInput("The filter is empty.", field=path)
            return Not(negated)
        return self._parse_field(key, value, path)

    def _parse_field(self, name: str, value: object, path: str) -> Filter:
        fields = self.spec.filter_fields
        if name not in fields:
            raise InvalidInput(
                f"The index {self.spec.name} has no field {name[:100]!r} to filter by.",
                field=path[:200],
                allowed=[*fields, *COMBINATORS],
            )
        field_type = fields[name]
        if isinstance(value, Mapping) and EXISTS in value:
            bounds = {key: each for key, each in value.items() if key != EXISTS}
            self._count_condition()
            is_missing = self._match_missing(name, field_type)
            exists = _read_bool(value[EXISTS], f"{path}.{EXISTS}")
            condition = Not(is_missing) if exists else is_missing
            return (
                AllOf([condition, self._parse_field(name, bounds, path)]) if bounds else condition
            )
        if isinstance(value, Mapping):
            if field_type not in RANGE_FIELD_TYPES:
                raise InvalidInput(
                    f"{name} is a {field_type} field: it takes a value, a list of values or "
                    f"{EXISTS}, not a range.",
                    field=path,
                )
            return self._parse_range(name, field_type, value, path)
        if value == []:
            raise InvalidInput(f"{name} must have at least one value.", field=path)
        values = {path: value}
        if isinstance(value, list):
            values = {f"{path}.{number}": each for number, each in enumerate(value)}
        read = [
            form
            for at, each in values.items()
            if each is not None
            for form in self._read_forms(name, field_type, each, at)
        ]
        matches = [self._make_match(name, field_type, read)] if read else []
        if None in values.values():
            self._count_condition()
            matches.append(self._match_missing(name, field_type))
        return _any_of(matches)

    def _parse_range(
        self, name: str, field_type: str, bounds: Mapping[str, object], path: str
    ) -> Filter:
        for operator in bounds:
            if operator not in RANGE_OPERATORS:
                raise InvalidInput(
                    f"{operator[:100]!r} is not a comparison.",
                    field=f"{path}.{operator}"[:200],
                    allowed=[*RANGE_OPERATORS, EXISTS],
                )
        if not bounds:
            raise InvalidInput(
                "A range must have at least one bound.", field=path, allowed=RANGE_OPERATORS
            )
        values = {
            bound: self._read_value(name, field_type, value, f"{path}.{bound}")
            for bound, value in bounds.items()
        }
        if field_type == "datetime":  # from the first or the last moment of a day
            is_last = {"gt": True, "lte": True}
            values = {
                bound: get_period(value, self.spec.zone)[is_last.get(bound, False)]
                for bound, value in values.items()
            }
        return Range(name, **values)

    def _make_match(self, name: str, field_type: str, values: Sequence[Any]) -> Filter:
        if field_type == "text":
            return _any_of([MatchText(name, value) for value in values])
        if field_type in {"float", "datetime"}:  # the store cannot match these by equality
            periods = [(value, value) for value in values]
            if field_type == "datetime":
                periods = [get_period(value, self.spec.zone) for value in values]
            return _any_of([Range(name, gte=first, lte=last) for first, last in periods])
        if name == "groups":
            values = [value for value in values if self.grant.shows_group(value)]
        return Match(name, values)

    def _match_missing(self, name: str, field_type: str) -> Filter:
        if name == "groups":
            return Match(name, [EVERYONE])
        is_text = field_type in {"keyword", "text"}
        return AnyOf([Empty(name), Match(name, [""])]) if is_text else Empty(name)

    def _read_forms(self, name: str, field_type: str, value: Any, path: str) -> list[Any]:
        """Check a value of the field, and list the forms in which documents may hold it."""
        read = self._read_value(name, field_type, value, path)
        field = self.spec.metadata.get(name)
        return [read] if field is None or not field.holds_texts else field.list_stored_forms(value)

    def _read_value(self, name: str, field_type: str, value: object, path: str) -> Any:
        """Check a value of the field and convert it to the stored form."""
        self._count_condition()
        if name in ID_FIELDS:
            return _read_id(value, path)
        return parse_value(value, field_type, path, self.spec.metadata.get(name))

    def _count_condition(self) -> None:
        self.condition_count += 1
        if self.condition_count > MAX_CONDITIONS:
            raise InvalidInput(
                f"The filter compares more than {MAX_CONDITIONS} values.", field="filter"
            )


def _read_string(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"The value must be a string, not {_json_type(value)}.", field=path)
    if len(value) > MAX_VALUE_CHARS:
        raise InvalidInput(f"The value is longer than {MAX_VALUE_CHARS} characters.", field=path)
    if not is_text(value):
        raise InvalidInput(
            "The value contains an unpaired surrogate, which is not valid Unicode.", field=path
        )
    return clean_text(value)  # as values are stored


def _read_nonblank_string(value: object, path: str) -> str:
    text = _read_string(value, path)
    if not text.strip():
        raise InvalidInput("The value must hold at least one word.", field=path)
    return text


def _read_id(value: object, path: str) -> str:
    text = _read_string(value, path)
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise InvalidInput("The value must be an id (a UUID).", field=path) from None


def _read_integer(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(
            f"The value must be a whole number, not {_json_type(value)}.", field=path
        )
    if not -(2**63) <= value < 2**63:
        raise InvalidInput("The value must fit in 64 bits.", field=path)
    return value


def _read_float(value: object, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"The value must be a number, not {_json_type(value)}.", field=path)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput("The value must be a finite number.", field=path)
    return number


def _read_bool(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"The value must be true or false, not {_json_type(value)}.", field=path)
    return value


_READER_BY_FIELD_TYPE: dict[str, Callable[[object, str], Any]] = {
    "keyword": _read_string,
    "text": _read_nonblank_string,
    "integer": _read_integer,
    "float": _read_float,
    "bool": _read_bool,
    "datetime": read_date,
}


def all_of(*filters: Filter | None) -> Filter | None:
    """A filter that matches what all of these match; None if there are none."""
    given = [each for each in filters if each is not None]
    return AllOf(given) if len(given) > 1 else next(iter(given), None)


def _any_of(filters: Sequence[Filter]) -> Filter:
    return filters[0] if len(filters) == 1 else AnyOf(filters)


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a string", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")

"""Reads arguments as language models and their clients write them.

They write JSON as text, numbers and words for true and false as text, null or nothing for what they
leave out, one value for a list, and arguments that the tool does not have. What cannot be read is
passed on as it is, so that REST refuses it and names the field.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final

from core.exceptions import InvalidInput
from core.serializers import MAX_NAME_CHARS

LEFT_OUT: Final = object()
WORDS_FOR_NOTHING: Final = {"null", "none", "undefined"}
WORDS_FOR_FLAGS: Final = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip
# Around all arguments, where a model repeats a part of the request or of the schema.
WRAPPERS: Final = {"arguments", "args", "input", "kwargs", "parameters", "params", "properties"}
QUOTES: Final = "\"'`<>"  # around names
CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
TEXT_OF_ARGUMENTS: Final = re.compile(rb'"arguments"\s*:\s*"')
MAX_LITERAL_CHARS: Final = 20_000  # of what Python's parser reads, which nests

Schema = Mapping[str, Any]


def read_arguments(
    schema: Schema, given: Mapping[str, Any], aliases: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments by their names in the schema, and the names of those that it does not have.

    Args:
        aliases: other names of some arguments.
    """
    properties = schema.get("properties", {})
    if len(given) == 1:
        [(name, only)] = given.items()
        inner = _parse(only, dict)
        if name in WRAPPERS and name not in properties and isinstance(inner, Mapping):
            given = inner
    names = {name: _find_name(name, properties, aliases) for name in given}
    ignored = [name[:MAX_NAME_CHARS] for name, found in names.items() if found is None]
    # An argument's own name goes before another name of it.
    ordered = sorted(given, key=lambda name: names[name] != name)
    values: dict[str, Any] = {}
    for name in ordered:
        found = names[name]
        if found is None or found in values:
            continue
        value = _read_value(given[name], properties[found], found, ignored)
        if value is not LEFT_OUT:
            values[found] = value
    return values, ignored


def require_no_misspelt(ignored: list[str], schema: Schema) -> None:
    """Refuse arguments whose names resemble one of the tool, or have it as a word: a call that
    writes might otherwise do more than was meant, such as show a document to everyone."""
    properties = schema.get("properties", {})
    for name in ignored:
        written = _to_snake_case(name)
        words = {word.rstrip("s") for word in written.split("_")}
        similar = get_close_matches(written, properties, 1, cutoff=0.75)
        if similar := similar or [each for each in properties if each.rstrip("s") in words]:
            raise InvalidInput(
                f"There is no argument {name!r}. Did you mean {similar[0]}? Nothing was changed.",
                field=name,
                allowed=properties,
            )


def list_forms(schema: Schema) -> list[Schema]:
    """The schema as several, each of one type; null is left out."""
    forms = schema.get("oneOf") or schema.get("anyOf")
    if forms:
        return [each for form in forms for each in list_forms(form)]
    types = schema.get("type", [])
    named = [types] if isinstance(types, str) else types
    return [{**schema, "type": each} for each in named if each != "null"]


def read_text_of_arguments(body: bytes) -> bytes:
    """The request with its arguments as an object, where a client sent them as JSON text."""
    if not TEXT_OF_ARGUMENTS.search(body):
        return body
    try:
        message = json.loads(body)
        arguments = json.loads(message["params"]["arguments"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return body
    if not isinstance(arguments, dict):
        return body
    message["params"]["arguments"] = arguments
    return json.dumps(message).encode()


def read_value(value: Any, schema: Schema) -> Any:
    """One value by its schema; ``LEFT_OUT`` if it says nothing."""
    return _read_value(value, schema, "", [])


def _find_name(name: str, properties: Schema, aliases: Mapping[str, str]) -> str | None:
    for each in (name, _to_snake_case(name)):
        if each in properties:
            return each
        if (named := aliases.get(each)) in properties:
            return named
    return None


def _to_snake_case(name: str) -> str:
    return CAMEL_CASE.sub("_", name).replace("-", "_").lower()


def _read_value(value: Any, schema: Schema, field: str, ignored: list[str]) -> Any:
    forms = {form["type"]: form for form in reversed(list_forms(schema))}
    if value is None or value == {} or value == []:
        return LEFT_OUT
    text = forms.get("string")
    is_prose = set(forms) == {"string"} and not _is_name(forms["string"], field)
    if isinstance(value, str):
        word = value.strip()
        if not word or (not is_prose and word.lower() in WORDS_FOR_NOTHING):
            return LEFT_OUT
        if _is_name(text or {}, field):
            value = word = word.strip(QUOTES)
        if not is_prose and word[:1] in {"[", "{"}:
            value = _parse(word, dict if "object" in forms else list)
    if "array" in forms and not (text is not None and isinstance(value, str)):
        return _read_list(value, forms["array"], field, ignored)
    if isinstance(value, list) and len(value) == 1:  # one value is meant
        value = value[0]
    for kind, read in _READERS.items():
        if kind in forms:
            return read(value, forms[kind])
    if "object" in forms and isinstance(value, Mapping):
        return _read_object(value, forms["object"], field, ignored)
    return value


def _is_name(schema: Schema, field: str) -> bool:
    """Whether a text is one of known names, in which brackets and quotes are never meant."""
    return "enum" in schema or schema.get("format") == "uuid" or field in {"index", "group_by"}


def _read_list(value: Any, schema: Schema, field: str, ignored: list[str]) -> Any:
    items = schema.get("items", {})
    if isinstance(value, str) and items.get("type") in {"number", "integer"}:
        value = value.split(",")
    if not isinstance(value, list):
        value = [value]
    read = [
        _read_value(each, items, f"{field}.{position}", ignored) if items else each
        for position, each in enumerate(value)
    ]
    # [""] says as little as []: for groups, an empty list would show a document to everyone.
    return [each for each in read if each is not LEFT_OUT] or LEFT_OUT


def _read_object(value: Mapping[str, Any], schema: Schema, field: str, ignored: list[str]) -> Any:
    if "properties" not in schema:  # any fields, such as those of a filter, null among them
        return value
    values, unknown = read_arguments(schema, value, {})
    ignored += [f"{field}.{name}" for name in unknown]
    return values


def _read_integer(value: Any, schema: Schema) -> Any:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,30}\s*", value):
        value = int(value)
    number = _read_number(value, schema)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    # Where every argument has to be sent, a model sends 0 for what it leaves out.
    is_nothing = number == 0 and number is not False and schema.get("minimum", 0) > 0
    return LEFT_OUT if is_nothing else number


def _read_number(value: Any, schema: Schema) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return number if isfinite(number) else value


def _read_flag(value: Any, schema: Schema) -> Any:
    if isinstance(value, (str, int, float)):
        return WORDS_FOR_FLAGS.get(str(value).strip().lower(), value)
    return value


def _read_text(value: Any, schema: Schema) -> Any:
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if isinstance(value, str) and ("enum" in schema or schema.get("format") == "uuid"):
        word = value.strip().strip(QUOTES)
        same = [each for each in schema.get("enum", ()) if str(each).lower() == word.lower()]
        return same[0] if same else word
    return value


# The first type that a schema has decides.
_READERS: Final = {
    "boolean": _read_flag,
    "integer": _read_integer,
    "number": _read_number,
    "string": _read_text,
}


def _parse(value: Any, expected: type) -> Any:
    """What JSON, or a literal of Python, says, if it is of the expected type or a list."""
    if not isinstance(value, str):
        return value
    for parsed in _list_readings(value):
        if isinstance(parsed, (expected, list)):
            return parsed
    return value


def _list_readings(text: str) -> Iterator[Any]:
    for parse in (json.loads, literal_eval):
        try:
            if parse is json.loads or len(text) <= MAX_LITERAL_CHARS:
                yield parse(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue

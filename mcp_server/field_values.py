"""Values of metadata fields as language models write them: ``"2026"`` or ``2026.0`` for 2026.

REST takes a value only as its field has it. What types the fields have is asked once REST has
refused a value, so other calls cost nothing.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx

from core.exceptions import StrataError
from mcp_server.arguments import LEFT_OUT, read_value
from mcp_server.operations import get_operation

ARGUMENTS: Final = ("filter", "metadata")  # hold values of fields
COMBINATORS: Final = {"all_of", "any_of", "not"}
EXISTS: Final = "exists"
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "keyword": {"type": "string"},
    "text": {"type": "string"},
    "datetime": {"type": "string"},
}


async def convert_refused(
    api: httpx.AsyncClient, arguments: Mapping[str, Any], field: str | None
) -> dict[str, Any] | None:
    """The arguments with values of the types that the fields have, where REST has refused one of
    them; None if that changes nothing."""
    name = (field or "").partition(".")[0]
    if name not in ARGUMENTS or not isinstance(arguments.get(name), Mapping):
        return None
    try:
        listed = await get_operation("v1_indexes_list").send(api, {})
    except StrataError:  # without a key
        return None
    named = arguments.get("index") or [each["name"] for each in listed["results"]]
    names = [each.strip() for each in named.split(",")] if isinstance(named, str) else named
    types = {
        declared["name"]: declared["type"]
        for index in listed["results"]
        if index["name"] in names
        for declared in index["metadata"]
    }
    converted = _convert(arguments[name], types)
    # As JSON, because 2026.0 is equal to 2026.
    is_same = json.dumps(converted) == json.dumps(arguments[name])
    return None if is_same else {**arguments, name: converted}


def _convert(content: Any, types: Mapping[str, str]) -> Any:
    if isinstance(content, list):
        return [_convert(each, types) for each in content]
    if not isinstance(content, Mapping):
        return content
    return {
        key: _convert(value, types)
        if key in COMBINATORS
        else _convert_values(value, SCHEMAS.get(types.get(key, ""), {}))
        for key, value in content.items()
    }


def _convert_values(value: Any, schema: Mapping[str, str]) -> Any:
    if not schema or value is None:
        return value
    if isinstance(value, list):
        return [_convert_values(each, schema) for each in value]
    if isinstance(value, Mapping):  # a range
        return {
            bound: _convert_values(each, {"type": "boolean"} if bound == EXISTS else schema)
            for bound, each in value.items()
        }
    read = read_value(value, schema)
    return value if read is LEFT_OUT else read

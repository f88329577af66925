"""Finds differences between the client's types and the server's OpenAPI document."""

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

PARAMETERS = {"index", "collection", "query", "q", "structure"}  # arguments, not options
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def resolve(schema: dict[str, Any], schemas: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Resolve the references of a schema; return it and whether it is nullable."""
    may_be_null = schema.get("nullable", False)
    while "$ref" in schema or len(schema.get("allOf", [])) == 1:
        schema = schema["allOf"][0] if "allOf" in schema else schema
        schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        may_be_null = may_be_null or schema.get("nullable", False)
    return schema, may_be_null


def differences(kind: Any, schema: dict[str, Any], schemas: dict[str, Any], at: str) -> list[str]:
    schema, may_be_null = resolve(schema, schemas)
    kinds = set(get_args(kind)) if get_origin(kind) in {Union, UnionType} else {kind}
    if NoneType in kinds and not may_be_null and not at.endswith("?"):
        return [f"{at} is never null in the API"]
    if may_be_null and NoneType not in kinds:
        return [f"{at} may be null in the API"]
    kinds -= {NoneType}
    if len(kinds) != 1 or not schema.get("type"):
        return []  # one of several shapes
    [only] = kinds
    if is_typeddict(only):
        return _of_an_object(only, schema, schemas, at)
    if get_origin(only) in {list, Sequence}:
        if schema["type"] != "array":
            return [f"{at} is not a list in the API"]
        return differences(get_args(only)[0], schema["items"], schemas, f"{at}[]")
    if get_origin(only) is Literal:
        allowed = set(schema.get("enum", get_args(only)))
        return [] if set(get_args(only)) == allowed else [f"{at} is one of {sorted(allowed)}"]
    if only in PLAIN and schema["type"] != PLAIN[only]:
        return [f"{at} is of type {schema['type']} in the API"]
    return []


def _of_an_object(kind: Any, schema: dict[str, Any], schemas: dict[str, Any], at: str) -> list[str]:
    properties = schema.get("properties", {})
    is_asked = at.endswith("?")
    hints = get_type_hints(kind)
    arguments = PARAMETERS - set(hints) if is_asked else set()
    known = set(properties) - arguments
    wrong = [f"{at}.{name} is missing in the client" for name in sorted(known - set(hints))]
    wrong += [f"{at}.{name} is unknown to the API" for name in sorted(set(hints) - known)]
    for name in sorted(known & set(hints)):
        if not is_asked and (name in kind.__required_keys__) != (
            name in schema.get("required", [])
        ):
            wrong.append(f"{at}.{name} is required in only one of client and API")
        place = f"{at}.{name}{'?' if is_asked else ''}"
        wrong += differences(hints[name], properties[name], schemas, place)
    return wrong

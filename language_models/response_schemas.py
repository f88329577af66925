"""Make response schemas for the model, and describe how a response violates one."""

import re
from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError

MAX_REPORTED_ERRORS: Final = 8  # of an invalid response, reported back to the model


def max_chars(count: int) -> Any:
    """A bound of a string for the model. A longer one is accepted, and the caller cuts it."""
    return Field(json_schema_extra={"maxLength": count})


def max_items(count: int) -> Any:
    """Like ``max_chars``, for a list."""
    return Field(json_schema_extra={"maxItems": count})


def item_count(at_least: int, at_most: int) -> Any:
    """Like ``max_items``, with the least too: the caller accepts fewer."""
    return Field(json_schema_extra={"minItems": at_least, "maxItems": at_most})


def make_response_format(schema: type[BaseModel]) -> dict[str, Any]:
    """Make OpenAI's ``response_format``. A schema name has at most 64 of these characters."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.__name__)[:64]
    json_schema = _to_strict_schema(schema.model_json_schema())
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": json_schema, "strict": True},
    }


def _to_strict_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert a schema to what OpenAI's strict mode requires: every property required, no other
    properties, no other keys next to a ``$ref``, no defaults. Other servers accept it as well.

    Source: the section on supported schemas in OpenAI's guide to structured outputs.
    """
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    closed = {key: value for key, value in schema.items() if key != "default"}
    for key in closed.keys() & {"properties", "$defs"}:
        closed[key] = {name: _to_strict_schema(each) for name, each in closed[key].items()}
    for key in closed.keys() & {"anyOf", "oneOf", "allOf", "prefixItems"}:
        closed[key] = [_to_strict_schema(each) for each in closed[key]]
    if isinstance(closed.get("items"), dict):
        closed["items"] = _to_strict_schema(closed["items"])
    if "properties" in closed:
        closed |= {"required": list(closed["properties"]), "additionalProperties": False}
    return closed


def list_validation_errors(error: ValidationError) -> list[str]:
    """List where and how a response is invalid, without its values, which may be long."""
    return [
        f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)[:MAX_REPORTED_ERRORS]
    ]


def make_correction_prompt(error: ValidationError) -> str:
    problems = "\n".join(f"- {problem}" for problem in list_validation_errors(error))
    return (
        f"That answer does not fit the JSON schema:\n{problems}\n"
        "Answer once more, with nothing but JSON that fits it."
    )

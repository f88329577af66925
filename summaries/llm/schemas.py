"""What an answer has to look like, told to the model; and what is wrong with one."""

import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    pass

MAX_PROBLEMS: Final = 8  # of a broken answer that are told to the model


def response_format(schema: type[BaseModel]) -> dict[str, Any]:
    """The name has to be one that OpenAI takes: 64 of these characters."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.__name__)[:64]
    json_schema = _close_objects(schema.model_json_schema())
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": json_schema, "strict": True},
    }


def _close_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as OpenAI's strict mode wants it: every property required, no others, nothing
    beside a reference, no defaults. Other servers take it as well.

    Source: the section on supported schemas in OpenAI's guide to structured outputs.
    """
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    closed = {key: value for key, value in schema.items() if key != "default"}
    for key in closed.keys() & {"properties", "$defs"}:
        closed[key] = {name: _close_objects(each) for name, each in closed[key].items()}
    for key in closed.keys() & {"anyOf", "oneOf", "allOf", "prefixItems"}:
        closed[key] = [_close_objects(each) for each in closed[key]]
    if isinstance(closed.get("items"), dict):
        closed["items"] = _close_objects(closed["items"])
    if "properties" in closed:
        closed |= {"required": list(closed["properties"]), "additionalProperties": False}
    return closed


def list_problems(error: ValidationError) -> list[str]:
    """Where the answer is wrong and how, without what stands there: that may be long."""
    return [
        f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
    ]


def describe_problems(error: ValidationError) -> str:
    problems = "\n".join(f"- {problem}" for problem in list_problems(error))
    return (
        f"That answer does not fit the JSON schema:\n{problems}\n"
        "Answer once more, with nothing but JSON that fits it."
    )

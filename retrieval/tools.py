"""The tools that a spec declares: named searches with typed arguments.

Arguments are data. They are checked as filters are, stand in the query once, and nothing
rewrites or expands what they say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.exceptions import InvalidInput
from indexing.spec import FieldSpec, IndexSpec, ToolSpec
from retrieval.exceptions import UnknownTool
from retrieval.filters import MAX_VALUE_CHARS, parse_value
from retrieval.search import (
    MAX_LIMIT,
    SearchAnswer,
    SearchRequest,
    search_chunks,
    search_questions,
)
from retrieval.search.targets import find_builds, parse_recipe

DEFAULT_LIMIT = 10
LIMIT_SCHEMA = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_LIMIT,
    "default": DEFAULT_LIMIT,
    "description": "How many hits to give at most.",
}
FREE_TEXT_TYPES: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARS}
JSON_TYPES: dict[str, dict[str, Any]] = {
    "keyword": FREE_TEXT_TYPES,
    "text": FREE_TEXT_TYPES,
    "integer": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}


@dataclass(frozen=True, slots=True)
class Tool:
    """``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool with its arguments, checked: ready to be searched."""

    request: SearchRequest
    is_of_questions: bool

    def search(self) -> SearchAnswer:
        """
        Raises:
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        return (search_questions if self.is_of_questions else search_chunks)(self.request)


def list_tools(index: str) -> list[Tool]:
    """
    Raises:
        UnknownIndex: with the names there are.
    """
    spec = _get_spec(index)
    if spec is None:
        return []
    return [
        Tool(name, tool.description, describe_parameters(tool, spec))
        for name, tool in sorted(spec.tools.items())  # databases do not keep the spec's order
    ]


def call_tool(index: str, name: str, arguments: object) -> ToolCall:
    """
    Raises:
        UnknownIndex, UnknownTool: with the names there are.
        InvalidInput: naming the argument and what is allowed.
    """
    spec = _get_spec(index)
    tools = {} if spec is None else spec.tools
    if spec is None or name not in tools:
        raise UnknownTool(f"{index} declares no tool {name[:100]!r}.", field="name", allowed=tools)
    tool = tools[name]
    given = _check_names(tool, arguments)
    limit = _read_limit(given.pop("limit", DEFAULT_LIMIT))
    conditions, said = [], {}
    for parameter, about in tool.parameters.items():
        if about.field is None:
            said[parameter] = parse_value(given[parameter], "text", parameter)
            continue
        field = spec.metadata[about.field]
        value = parse_value(given[parameter], field.type, parameter, field)
        conditions.append({about.field: value})
        said[parameter] = _format_value(value, field)
    # Formatted once: braces within an argument are only text.
    request = SearchRequest(indexes=[index], query=tool.query.format(**said), limit=limit)
    if conditions:
        request = replace(request, filter={"all_of": conditions})
    return ToolCall(request, tool.search == "questions" or _searches_questions(tool, spec))


def describe_parameters(tool: ToolSpec, spec: IndexSpec) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties: dict[str, Any] = {}
    for name, about in tool.parameters.items():
        field = None if about.field is None else spec.metadata[about.field]
        described = dict(FREE_TEXT_TYPES if field is None else JSON_TYPES[field.type])
        if field is not None and field.closed_values is not None:
            described = {"type": "string", "enum": list(field.closed_values)}
        if description := about.description or (field.description if field else ""):
            described["description"] = description
        properties[name] = described
    return {
        "type": "object",
        "properties": {**properties, "limit": LIMIT_SCHEMA},
        "required": list(tool.parameters),
        "additionalProperties": False,
    }


def _get_spec(index: str) -> IndexSpec | None:
    build = find_builds([index])[index]
    return None if build is None else parse_recipe(build.recipe)


def _searches_questions(tool: ToolSpec, spec: IndexSpec) -> bool:
    return tool.search is None and spec.questions is not None


def _check_names(tool: ToolSpec, arguments: object) -> dict[str, Any]:
    allowed = [*tool.parameters, "limit"]
    if not isinstance(arguments, Mapping):
        raise InvalidInput("A tool's arguments are a JSON object.", allowed=allowed)
    for name in arguments:
        if name not in allowed:
            shown = str(name)[:100]
            raise InvalidInput(f"There is no argument {shown!r}.", field=shown, allowed=allowed)
    for name in tool.parameters:
        if name not in arguments:
            raise InvalidInput(f"The argument {name} is missing.", field=name, allowed=allowed)
    return dict(arguments)


def _read_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit is a number between 1 and {MAX_LIMIT}.", field="limit")
    return limit


def _format_value(value: Any, field: FieldSpec) -> str:
    """The value in words: names of closed values stand for words with underscores between."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.replace("_", " ") if field.closed_values is not None else str(value)

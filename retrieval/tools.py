"""The tools that a spec declares: named searches with typed arguments.

Arguments are data: they are checked like filter values, inserted into the query template once, and
never interpreted as template text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from access.grants import Grant
from core.exceptions import InvalidInput
from indexing.spec import FieldSpec, IndexSpec, ToolSpec
from retrieval.exceptions import UnavailableTool, UnknownTool
from retrieval.filters import MAX_VALUE_CHARS, parse_value
from retrieval.search import MAX_LIMIT, SearchAnswer
from retrieval.search.targets import find_builds, parse_recipe

DEFAULT_LIMIT = 10
LIMIT_SCHEMA = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_LIMIT,
    "default": DEFAULT_LIMIT,
    "description": "How many hits to give at most.",
}
FREE_TEXT_SCHEMA: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARS}
SCHEMA_BY_FIELD_TYPE: dict[str, dict[str, Any]] = {
    "keyword": FREE_TEXT_SCHEMA,
    "text": FREE_TEXT_SCHEMA,
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
    """A tool with checked arguments, ready to search."""

    index: str
    query: str
    limit: int
    filter: dict[str, Any] | None
    is_question_search: bool
    grant: Grant

    def search(self) -> SearchAnswer:
        """
        Raises:
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        from retrieval.retrievers import ChunkRetriever, QuestionRetriever  # imports LlamaIndex

        retriever = QuestionRetriever if self.is_question_search else ChunkRetriever
        options: dict[str, Any] = {"top_k": self.limit, "filter": self.filter}
        return retriever(self.index, grant=self.grant, **options).search(self.query)


def list_tools(index: str, grant: Grant) -> list[Tool]:
    """The tools that the live build can answer.

    Raises:
        UnknownIndex: lists the known names.
    """
    spec = _get_spec(index, grant)
    if spec is None:
        return []
    return [
        Tool(name, tool.description, make_arguments_schema(tool, spec))
        for name, tool in sorted(spec.tools.items())  # databases do not keep the order of the spec
        if not spec.find_tool_problem(name)
    ]


def prepare_tool_call(index: str, name: str, arguments: object, grant: Grant) -> ToolCall:
    """
    Raises:
        UnknownIndex, UnknownTool: lists the known names.
        UnavailableTool: the live build holds no field or kind that the tool needs.
        InvalidInput: names the argument and the allowed values.
    """
    spec = _get_spec(index, grant)
    tools = {} if spec is None else spec.tools
    if spec is None or name not in tools:
        raise UnknownTool(
            f"The index {index} declares no tool {name[:100]!r}.", field="name", allowed=tools
        )
    if problem := spec.find_tool_problem(name):
        raise UnavailableTool(
            f"The live build of {index} cannot answer the tool {name}: {problem}.",
            fix="Apply the spec and promote the build.",
        )
    tool = tools[name]
    values = _check_argument_names(tool, arguments)
    limit = _read_limit(values.pop("limit", DEFAULT_LIMIT))
    conditions, text_by_parameter = [], {}
    for parameter, parameter_spec in tool.parameters.items():
        if parameter_spec.field is None:
            text_by_parameter[parameter] = parse_value(values[parameter], "text", parameter)
            continue
        field = spec.metadata[parameter_spec.field]
        value = parse_value(values[parameter], field.type, parameter, field)
        conditions.append({parameter_spec.field: value})
        text_by_parameter[parameter] = _format_value(value, field)
    return ToolCall(
        index=index,
        # Formatted only once, so braces in an argument stay text.
        query=tool.query.format(**text_by_parameter),
        limit=limit,
        filter={"all_of": conditions} if conditions else None,
        is_question_search=tool.search == "questions" or _searches_questions(tool, spec),
        grant=grant,
    )


def make_arguments_schema(tool: ToolSpec, spec: IndexSpec) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties: dict[str, Any] = {}
    for name, parameter_spec in tool.parameters.items():
        field = None if parameter_spec.field is None else spec.metadata[parameter_spec.field]
        schema = dict(FREE_TEXT_SCHEMA if field is None else SCHEMA_BY_FIELD_TYPE[field.type])
        if field is not None and field.closed_values is not None:
            schema = {"type": "string", "enum": list(field.closed_values)}
        if description := parameter_spec.description or (field.description if field else ""):
            schema["description"] = description
        properties[name] = schema
    return {
        "type": "object",
        "properties": {**properties, "limit": LIMIT_SCHEMA},
        "required": list(tool.parameters),
        "additionalProperties": False,
    }


def _get_spec(index: str, grant: Grant) -> IndexSpec | None:
    build = find_builds([index], grant)[index]
    return None if build is None else parse_recipe(build.recipe)


def _searches_questions(tool: ToolSpec, spec: IndexSpec) -> bool:
    return tool.search is None and spec.questions is not None


def _check_argument_names(tool: ToolSpec, arguments: object) -> dict[str, Any]:
    allowed = [*tool.parameters, "limit"]
    if not isinstance(arguments, Mapping):
        raise InvalidInput("A tool's arguments must be a JSON object.", allowed=allowed)
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
        raise InvalidInput(
            f"limit must be a whole number between 1 and {MAX_LIMIT}.", field="limit"
        )
    return limit


def _format_value(value: Any, field: FieldSpec) -> str:
    """The value as text; underscores in closed values become spaces."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.replace("_", " ") if field.closed_values is not None else str(value)

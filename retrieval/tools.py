"""The tools that a spec declares: named searches with typed arguments.

Arguments are data: they are checked like filter values, inserted into the query template once, and
never interpreted as template text.

A tool that finds nothing with its filter searches without it, and ranks the hits that mention the
value higher. The answer says which of the two found its hits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from access.grants import Grant
from core.exceptions import InvalidInput
from indexing.spec import FieldSpec, IndexSpec, ToolSpec
from retrieval.exceptions import UnavailableTool, UnknownTool
from retrieval.filters import MAX_VALUE_CHARS, parse_value
from retrieval.search import MAX_LIMIT, Hit, SearchAnswer
from retrieval.search.targets import find_builds
from summaries.extractive import match_field_values

DEFAULT_LIMIT = 10
BOOST_CANDIDATES = 50  # hits that a boost reorders, if the limit is not higher
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
class DeclaredTool:
    """``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class FilterStep(StrEnum):
    """How a tool's filter was applied."""

    EXACT = "exact"  # the hits have the value, however it is written
    BOOST = "boost"  # no filter: hits that mention the value are ranked higher


@dataclass(frozen=True, slots=True)
class Condition:
    """What an argument demands of a field. ``forms``: how documents may hold the value.
    ``wordings`` say the same in a text."""

    field: str
    value: Any
    forms: tuple[Any, ...]
    wordings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool with checked arguments, ready to search."""

    index: str
    query: str
    limit: int
    conditions: tuple[Condition, ...]
    is_question_search: bool
    grant: Grant

    def search(self) -> tuple[SearchAnswer, FilterStep | None]:
        """The answer, and the step that found its hits."""
        answer = self._search(self.limit, self.filter)
        if answer.hits or not self.conditions:
            return answer, FilterStep.EXACT if self.conditions else None
        answer = self._search(max(self.limit, BOOST_CANDIDATES), None)
        hits = _rank_mentions_higher(answer.hits, self.conditions)[: self.limit]
        return replace(answer, hits=hits), FilterStep.BOOST

    @property
    def filter(self) -> dict[str, Any] | None:
        if not self.conditions:
            return None
        return {"all_of": [{condition.field: condition.value} for condition in self.conditions]}

    def _search(self, limit: int, filter: Mapping[str, Any] | None) -> SearchAnswer:
        from retrieval.retrievers import ChunkRetriever, QuestionRetriever  # imports LlamaIndex

        retriever = QuestionRetriever if self.is_question_search else ChunkRetriever
        options: dict[str, Any] = {"limit": limit, "filter": filter, "with_similarity": True}
        return retriever(self.index, grant=self.grant, **options).search(self.query)


def _rank_mentions_higher(hits: Sequence[Hit], conditions: Sequence[Condition]) -> list[Hit]:
    """Add to the score of a hit, for each condition that it mentions, what the first rank in one
    more ranking would add: a reciprocal rank, or half of the best sum of two standard scores."""
    best = max((hit.score for hit in hits), default=0.0)
    boosted = []
    for hit in hits:
        search = hit.spec.search
        weight = best / 2 if search.fusion == "scores" else 1 / (search.rrf_k + 1)
        count = sum(_mentions(hit, condition) for condition in conditions)
        boosted.append(replace(hit, score=hit.score + count * weight))
    return sorted(boosted, key=lambda hit: -hit.score)


def _mentions(hit: Hit, condition: Condition) -> bool:
    """Whether the hit's field holds the value, or its title or text says it."""
    content = hit.payload.get(condition.field)
    values = content if isinstance(content, list) else [content]
    if any(each in values for each in condition.forms):
        return True
    if not condition.wordings:
        return False
    names = ("artifact_title", "text", "chunk_text")
    text = "\n\n".join(str(hit.payload[name]) for name in names if hit.payload.get(name))
    wordings = FieldSpec.model_validate({"type": "keyword", "values": list(condition.wordings)})
    return bool(match_field_values(text, {condition.field: wordings}))


def list_tools(index: str, grant: Grant) -> list[DeclaredTool]:
    """The tools that the live build can answer. Raises ``UnknownIndex``: lists the known names."""
    spec = _get_spec(index, grant)
    if spec is None:
        return []
    return [
        DeclaredTool(name, tool.description, make_arguments_schema(tool, spec))
        for name, tool in sorted(spec.tools.items())  # databases do not keep the order of the spec
        if not spec.find_tool_problem(name)
    ]


def prepare_tool_call(index: str, name: str, arguments: object, grant: Grant) -> ToolCall:
    """Check the arguments of a tool, and make the search that it runs.

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
        condition = _make_condition(parameter_spec.field, field, values[parameter], parameter)
        conditions.append(condition)
        text_by_parameter[parameter] = _format_value(condition.value, field)
    return ToolCall(
        index=index,
        query=tool.fill_query(text_by_parameter),
        limit=limit,
        conditions=tuple(conditions),
        is_question_search=tool.search == "questions"
        or (tool.search is None and spec.questions is not None),
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
    return None if build is None else build.spec


def _make_condition(name: str, field: FieldSpec, value: object, parameter: str) -> Condition:
    """Make the condition that a parameter's value sets on a field. Raises ``InvalidInput``: the
    field takes no such value, and it is no synonym of one."""
    read = parse_value(value, field.type, parameter, field)
    if not (isinstance(value, str) and field.holds_texts):
        return Condition(name, read, (read,))
    wordings = [each for named in field.find_values(value) for each in field.list_wordings(named)]
    if field.closed_values is None:  # the query keeps the caller's word
        read = value.lower() if field.lowercase else value
    return Condition(
        name, read, tuple(field.list_stored_forms(value)), tuple(dict.fromkeys([read, *wordings]))
    )


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

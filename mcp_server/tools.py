"""The table of MCP tools: the name, description, scope and REST operations of each. Apps add theirs
(``tools`` of ``StrataApp``), and specs declare some of each index.

A tool sends requests to REST; schemas of arguments come from REST's serializers
(``mcp_server.operations``) and from the specs.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import httpx
from django.utils.module_loading import import_string
from httpx_sse import ServerSentEvent

from access.grants import Grant, Scope
from core.apps import list_apps
from core.exceptions import InvalidInput, StrataError
from core.serializers import MAX_NAME_CHARS
from indexing.models import Index
from mcp_server import rendering
from mcp_server.operations import get_operation
from retrieval.agent_tools import JoinedEvents, Tool
from retrieval.all_searches import SEARCHES, describe_queries
from retrieval.hit_text import render_hits
from retrieval.tools import list_tools as list_declared_tools

Arguments = Mapping[str, Any]
# A number that increases, the last one if it is known, what has just been done. Without effect if
# the client did not ask for progress.
ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]
# The client of the API, the arguments, how to report progress -> the answer.
ToolFunction = Callable[[httpx.AsyncClient, Arguments, ReportProgress], Awaitable[dict[str, Any]]]

DEFAULT_KIND: Final = "pages"
# Between the name of an index and that of a tool its spec declares. No index has it in its name,
# so a name is split at its first occurrence.
SEPARATOR: Final = "__"
DECLARED_SCOPE: Final = Scope.SEARCH
DECLARED_OPERATIONS: Final = ("list_tools", "call_tool")


@dataclass(frozen=True, slots=True)
class AgentTool:
    """``operations``: ids of the REST operations that it calls. ``render`` writes the answer to
    arguments as text. ``is_public``: it answers without a key about public indexes."""

    name: str
    function: ToolFunction
    scope: Scope
    operations: tuple[str, ...]
    description: str
    make_schema: Callable[[], dict[str, Any]]
    render: Callable[[Mapping[str, Any], Arguments], str]
    is_public: bool = False


# --- Functions -------------------------------------------------------------------------------


async def search(
    api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
) -> dict[str, Any]:
    """One of ``SEARCHES``. As on the command line, the query is the parameter that each names."""
    parameters = dict(arguments)
    kind = parameters.pop("kind", DEFAULT_KIND)
    if not isinstance(kind, str) or kind not in SEARCHES:
        raise InvalidInput(
            f"There is no kind {str(kind)[:MAX_NAME_CHARS]!r} of search.",
            field="kind",
            allowed=SEARCHES,
        )
    operation = get_operation(_name_search(kind))
    if "query" in parameters:
        parameters[SEARCHES[kind].query_parameter] = parameters.pop("query")
    if "explain" in operation.schema["properties"]:
        parameters.setdefault("explain", True)
    return await operation.send(api, parameters)


def _render_search(answer: Mapping[str, Any], arguments: Arguments) -> str:
    return SEARCHES[arguments.get("kind", DEFAULT_KIND)].to_text(answer)


async def call_declared_tool(
    index: str, name: str, api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
) -> dict[str, Any]:
    return await get_operation("call_tool").send_to(api, {"index": index, "name": name}, arguments)


# --- Schemas ---------------------------------------------------------------------------------


@cache
def make_search_schema() -> dict[str, Any]:
    """The arguments of all kinds of search; those of some kinds only name these kinds."""
    schemas = {kind: get_operation(_name_search(kind)).schema["properties"] for kind in SEARCHES}
    as_query = {search.query_parameter for search in SEARCHES.values()} - {"query"}
    names = [name for properties in schemas.values() for name in properties]
    names = [name for name in dict.fromkeys(names) if name not in as_query]
    kinds = "; ".join(f"{kind}: {search.summary}" for kind, search in SEARCHES.items())
    properties: dict[str, dict[str, Any]] = {
        "kind": {
            "type": "string",
            "enum": list(SEARCHES),
            "default": DEFAULT_KIND,
            "description": f"What to search. {kinds}.",
        }
    }
    for name in names:
        having = {kind: schema[name] for kind, schema in schemas.items() if name in schema}
        properties[name] = _merge_schemas(list(having.values()))
        if len(having) < len(SEARCHES):
            described = properties[name].get("description", "")
            properties[name]["description"] = f"{described} For kinds: {', '.join(having)}.".strip()
    properties["query"]["description"] = (
        f"What to look for{describe_queries('kind')}. Words are searched by meaning too; "
        '"exact phrase", -word, +word, OR and field:value are read.'
    )
    properties["explain"]["default"] = True  # agents read the parts of a score
    return {
        "type": "object",
        "properties": properties,
        "required": ["query"],
        "additionalProperties": False,
    }


def _merge_schemas(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """The keywords that are equal in all of them, and the first description."""
    first, *others = schemas
    merged = {
        key: value
        for key, value in first.items()
        if all(key in other and other[key] == value for other in others)
    }
    described = [schema["description"] for schema in schemas if schema.get("description")]
    return merged | ({"description": described[0]} if described else {})


def _name_search(kind: str) -> str:
    return f"{SEARCHES[kind].operation_id}_by_body"


# --- The table -------------------------------------------------------------------------------


async def _join(
    joined: JoinedEvents, events: AsyncIterator[ServerSentEvent], report: ReportProgress
) -> dict[str, Any]:
    """Report each event of an answer. An error is the last."""
    count = 0
    async for event in events:
        if event.event == "error":
            joined.break_off(StrataError.from_json(event.json()))
            continue
        count += 1
        await report(count, None, joined.add(event.event, event.json()))
    return joined.as_json()


def _make_tool(declared: Tool) -> AgentTool:
    """A tool that is the first of the operations, with the same arguments."""
    operation_id = declared.operations[0]
    to_text = declared.to_text or rendering.render_as_yaml

    async def call(
        api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
    ) -> dict[str, Any]:
        operation = get_operation(operation_id)
        if declared.join_events is None:
            return await operation.send(api, arguments)
        return await _join(declared.join_events(), operation.stream(api, arguments), report)

    return AgentTool(
        name=declared.name,
        function=call,
        scope=declared.scope,
        operations=declared.operations,
        description=declared.description,
        make_schema=lambda: get_operation(operation_id).schema,
        render=lambda answer, arguments: to_text(answer),
        is_public=declared.is_public,
    )


CORE_TOOLS: Final = (
    Tool(
        "get_source",
        ("read_source",),
        "Read the whole source around a hit, and its neighbours in the document.",
        to_text=rendering.render_source,
    ),
    Tool(
        "list_indexes",
        ("v1_indexes_list",),
        "List the indexes that can be searched, and what each holds.",
        to_text=rendering.render_indexes,
    ),
    Tool(
        "add_document",
        ("add_artifact",),
        "Add a text to an index. Adding the same external_id again replaces it; the answer says "
        "what it replaced.",
        scope=Scope.WRITE,
    ),
    Tool(
        "embed",
        ("embed_texts",),
        "Return the vectors of texts by the model of an index, to compare texts yourself or to "
        "search with.",
    ),
)

TOOLS: Final[Mapping[str, AgentTool]] = {
    tool.name: tool
    for tool in (
        AgentTool(
            "search",
            search,
            Scope.SEARCH,
            tuple(
                operation_id
                for kind, search in SEARCHES.items()
                for operation_id in (search.operation_id, _name_search(kind))
            ),
            "Search the passages of one or several indexes, their summaries or questions, or "
            "another kind of what they hold. Each hit names its document, page and characters, and "
            "says whether it is exact or the document has changed since (stale).",
            make_search_schema,
            _render_search,
            is_public=True,
        ),
        *map(_make_tool, CORE_TOOLS),
        *(
            _make_tool(declared)
            for app in list_apps()
            if app.tools
            for declared in import_string(app.tools)
        ),
    )
}


def list_tools(scope: Scope | None, grant: Grant) -> Iterator[AgentTool]:
    """The tools that a caller may use. ``scope`` is None without a key: then public indexes can be
    searched."""
    for tool in TOOLS.values():
        if tool.is_public if scope is None else scope.includes(tool.scope):
            yield tool
    for index in grant.limit(Index.objects.not_being_removed()):
        try:
            declared = list_declared_tools(index.name, grant)
        except StrataError:  # such as lost points, which every search of the index reports
            continue
        for each in declared:
            description = f"{each.description} Searches the index {index.name}."
            yield _make_declared_tool(index.name, each.name, description, each.parameters)


def find_tool(name: str) -> AgentTool | None:
    """The tool of this name. Whether an index declares it is only known when it is called."""
    if name in TOOLS:
        return TOOLS[name]
    index, separator, declared_name = name.partition(SEPARATOR)
    return _make_declared_tool(index, declared_name) if separator else None


def _make_declared_tool(
    index: str, name: str, description: str = "", schema: dict[str, Any] | None = None
) -> AgentTool:
    return AgentTool(
        name=f"{index}{SEPARATOR}{name}",
        function=partial(call_declared_tool, index, name),
        scope=DECLARED_SCOPE,
        operations=DECLARED_OPERATIONS,
        description=description,
        make_schema=lambda: schema or {"type": "object"},
        render=lambda answer, arguments: render_hits(answer),
        is_public=True,
    )

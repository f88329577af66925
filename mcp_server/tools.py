"""The table of MCP tools: the name, description, scope and REST operations of each. Apps add theirs
(``tools`` of ``StrataApp``), and specs declare some of each index.

A tool sends requests to REST; schemas of arguments come from REST's serializers
(``mcp_server.operations``) and from the specs. Agents see a part of each
(``mcp_server.agent_schemas``), and may send all of it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import httpx
from django.db.models import Exists, OuterRef
from django.utils.module_loading import import_string
from httpx_sse import ServerSentEvent

from access.grants import Grant, Scope
from core.apps import list_apps
from core.exceptions import InvalidInput, StrataError
from core.serializers import MAX_NAME_CHARS
from documents.models import Artifact
from indexing.models import Index
from mcp_server import documents, rendering
from mcp_server.agent_schemas import SELDOM, make_agent_schema
from mcp_server.arguments import read_arguments
from mcp_server.bounds import skip_items
from mcp_server.operations import get_operation
from mcp_server.tool_names import MAX_CHARS, SEPARATOR, name_declared_tool
from retrieval.agent_tools import JoinedEvents, Tool
from retrieval.all_searches import SEARCHES, describe_queries
from retrieval.hit_text import render_hits
from retrieval.tools import DeclaredTool
from retrieval.tools import list_tools as list_declared_tools

Arguments = Mapping[str, Any]
# A number that increases, the last one if it is known, what has just been done. Without effect if
# the client did not ask for progress.
ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]
# The client of the API, the arguments, how to report progress -> the answer.
ToolFunction = Callable[[httpx.AsyncClient, Arguments, ReportProgress], Awaitable[dict[str, Any]]]

DEFAULT_KIND: Final = "pages"
# A search that ignored them would find more than was meant.
NARROWING: Final = {"filter", "must", "must_not", "phrases", "min_score", "min_similarity"}
DECLARED_SCOPE: Final = Scope.SEARCH
DECLARED_OPERATIONS: Final = ("list_tools", "call_tool")
OFFSET: Final = {"type": "integer", "minimum": 0, "default": 0}


@dataclass(frozen=True, slots=True)
class AgentTool:
    """``operations``: ids of the REST operations that it calls. ``make_schema``: of all arguments
    that it takes; ``unlisted`` are not shown to agents. ``render`` writes the answer to arguments
    as text. ``is_public``: it answers without a key about public indexes."""

    name: str
    function: ToolFunction
    scope: Scope
    operations: tuple[str, ...]
    description: str
    make_schema: Callable[[], Mapping[str, Any]]
    render: Callable[[Mapping[str, Any], Arguments], str]
    is_public: bool = False
    is_destructive: bool = False
    unlisted: Collection[str] = SELDOM

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of arguments, each with its own."""
        known = {"artifact_id": "document_id", "offset": "start"}
        if self.name == "search":
            known |= {search.query_parameter: "query" for search in SEARCHES.values()}
        for operation_id in self.operations:
            known |= get_operation(operation_id).aliases
        return known

    def make_listed_schema(self) -> dict[str, Any]:
        is_declared = self.operations == DECLARED_OPERATIONS and self.name != INDEX_TOOL.name
        return make_agent_schema(self.make_schema(), self.unlisted, is_declared=is_declared)


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
    known = operation.schema["properties"]
    query_parameter = SEARCHES[kind].query_parameter
    if "query" in parameters:
        parameters[query_parameter] = parameters.pop("query")
    if "explain" in known:
        parameters.setdefault("explain", True)
    skipped = 0
    if "offset" not in known:
        skipped = documents.read_position(parameters.pop("offset", 0), "offset", least=0)
        limit: Any = parameters.get("limit")
        if _is_count(limit):
            most = known["limit"].get("maximum", limit + skipped)
            parameters["limit"] = min(limit + skipped, max(most, limit))
    ignored = [name for name in parameters if name not in known and name != query_parameter]
    for name in ignored:
        if name in NARROWING:
            raise InvalidInput(
                f"Searches of the kind {kind} have no {name}.",
                field="kind",
                allowed=[each for each in SEARCHES if name in _get_parameters(each)],
            )
        del parameters[name]
    answer = await operation.send(api, parameters)
    if ignored:
        note = f"Searches of the kind {kind} have no {', '.join(ignored)}, which was ignored."
        answer["notes"] = [note, *answer.get("notes", ())]
    return skip_items(answer, skipped) if skipped else answer


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _render_search(answer: Mapping[str, Any], arguments: Arguments) -> str:
    text = SEARCHES[arguments.get("kind", DEFAULT_KIND)].to_text(answer)
    if answer.get("relevant") is False:
        return f"Note: what was found seems to be about something else.\n\n{text}"
    return text


async def list_indexes(
    api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
) -> dict[str, Any]:
    offset = documents.read_position(arguments.get("offset", 0), "offset", least=0)
    return skip_items(await get_operation("v1_indexes_list").send(api, {}), offset)


async def call_declared_tool(
    index: str, name: str, api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
) -> dict[str, Any]:
    return await get_operation("call_tool").send_to(api, {"index": index, "name": name}, arguments)


async def call_index_tool(
    api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
) -> dict[str, Any]:
    """Call a tool that a spec declares, or list those of an index."""
    index, name = arguments.get("index"), arguments.get("tool")
    listed = await get_operation("list_tools").send(api, {"index": index})
    if name is None:
        return {"results": [_describe_briefly(each) for each in listed["results"]]}
    schemas = {each["name"]: each["parameters"] for each in listed["results"]}
    if not isinstance(name, str):
        raise InvalidInput("tool must be a name.", field="tool", allowed=schemas)
    if not isinstance(sent := arguments.get("arguments", {}), Mapping):
        raise InvalidInput("arguments must be a JSON object.", field="arguments")
    given, _ = read_arguments(schemas.get(name, {}), sent, {})
    return await get_operation("call_tool").send_to(api, {"index": index, "name": name}, given)


def _describe_briefly(declared: Mapping[str, Any]) -> dict[str, Any]:
    schema = make_agent_schema(declared["parameters"], (), is_declared=True)
    return {**declared, "parameters": schema["properties"]}


def _render_index_tool(answer: Mapping[str, Any], arguments: Arguments) -> str:
    return rendering.render_as_yaml(answer) if "results" in answer else render_hits(answer)


# --- Schemas ---------------------------------------------------------------------------------


@cache
def make_search_schema() -> dict[str, Any]:
    """The arguments of all kinds of search; those of some kinds only name these kinds."""
    schemas = {kind: _get_parameters(kind) for kind in SEARCHES}
    as_query = {search.query_parameter for search in SEARCHES.values()} - {"query"}
    names = [name for properties in schemas.values() for name in properties]
    names = [name for name in dict.fromkeys(names) if name not in as_query]
    kinds = "; ".join(
        f"{kind}: {search.summary.removeprefix('Search ')}" for kind, search in SEARCHES.items()
    )
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


def _get_parameters(kind: str) -> dict[str, Any]:
    parameters: dict[str, Any] = get_operation(_name_search(kind)).schema["properties"]
    return parameters


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
        to_text=rendering.render_vectors,
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
            unlisted=SELDOM | {"window"},
        ),
        AgentTool(
            "list_indexes",
            list_indexes,
            Scope.SEARCH,
            ("v1_indexes_list",),
            "List the indexes that can be searched, and what each holds.",
            lambda: {"type": "object", "properties": {"offset": OFFSET}, "required": []},
            lambda answer, arguments: rendering.render_indexes(answer),
        ),
        AgentTool(
            "list_documents",
            lambda api, arguments, report: get_operation("list_artifacts").send(api, arguments),
            Scope.SEARCH,
            ("list_artifacts",),
            "List the documents of an index.",
            lambda: get_operation("list_artifacts").schema,
            lambda answer, arguments: documents.render_documents(
                answer, arguments.get("offset", 0)
            ),
            unlisted=SELDOM | {"external_id", "folder", "words"},
        ),
        AgentTool(
            "open_document",
            documents.open_document,
            Scope.SEARCH,
            ("read_artifact", "read_page"),
            "Read a document from a page on. The answer says how to read on.",
            lambda: documents.OPEN_SCHEMA,
            lambda answer, arguments: documents.render_document(answer),
            unlisted=(),
        ),
        AgentTool(
            "list_values",
            documents.list_values,
            Scope.SEARCH,
            ("count_field_values",),
            "List the values that a metadata field has, to filter by.",
            documents.make_values_schema,
            lambda answer, arguments: documents.render_values(answer),
            is_public=True,
        ),
        *map(_make_tool, CORE_TOOLS),
        AgentTool(
            "delete_document",
            documents.delete_document,
            Scope.WRITE,
            ("remove_artifact",),
            "Delete a document for good.",
            lambda: documents.DELETE_SCHEMA,
            lambda answer, arguments: rendering.render_as_yaml(answer),
            is_destructive=True,
        ),
        *(
            _make_tool(declared)
            for app in list_apps()
            if app.tools
            for declared in import_string(app.tools)
        ),
    )
}


# Listed where the tools that specs declare are too many for a list.
INDEX_TOOL: Final = AgentTool(
    "call_index_tool",
    call_index_tool,
    DECLARED_SCOPE,
    DECLARED_OPERATIONS,
    "Call another tool of an index; without a tool, list them with their arguments.",
    lambda: {
        "type": "object",
        "properties": {
            "index": {"type": "string"},
            "tool": {"type": "string"},
            "arguments": {"type": "object", "description": "JSON text of the tool's arguments."},
        },
        "required": ["index"],
    },
    _render_index_tool,
    is_public=True,
)


def list_tools(scope: Scope | None, grant: Grant) -> Iterator[AgentTool]:
    """The tools that a caller may use, those that a spec declares only where the index holds
    documents. ``scope`` is None without a key: then public indexes can be searched."""
    for tool in TOOLS.values():
        if tool.is_public if scope is None else scope.includes(tool.scope):
            yield tool
    of_index = Artifact.objects.visible_to(grant).filter(index=OuterRef("pk"))
    filled = grant.limit(Index.objects.not_being_removed()).filter(Exists(of_index))
    for index in filled.values_list("pk", flat=True):
        for declared in _list_declared(index, grant):
            yield _make_declared_tool(index, declared)


def find_tool(name: str, grant: Grant) -> AgentTool | None:
    """The tool of this name. Whether an index declares it may only be known when it is called."""
    if name in TOOLS or name == INDEX_TOOL.name:
        return TOOLS.get(name, INDEX_TOOL)
    index, separator, whole = name.partition(SEPARATOR)
    if not separator:
        return None
    indexes = [index]
    if len(name) == MAX_CHARS:  # shortened
        visible = grant.limit(Index.objects.not_being_removed())
        indexes = list(visible.values_list("pk", flat=True))
    for each in indexes:
        for declared in _list_declared(each, grant):
            if name == name_declared_tool(each, declared.name):
                return _make_declared_tool(each, declared)
    return _make_declared_tool(index, DeclaredTool(whole, "", {}))


def _list_declared(index: str, grant: Grant) -> list[DeclaredTool]:
    """None where a search of the index reports a problem, such as lost points."""
    try:
        return list_declared_tools(index, grant)
    except StrataError:
        return []


def _make_declared_tool(index: str, declared: DeclaredTool) -> AgentTool:
    return AgentTool(
        name=name_declared_tool(index, declared.name),
        function=partial(call_declared_tool, index, declared.name),
        scope=DECLARED_SCOPE,
        operations=DECLARED_OPERATIONS,
        description=f"{declared.description} Searches the index {index}.",
        make_schema=lambda: declared.parameters,
        render=lambda answer, arguments: render_hits(answer),
        is_public=True,
        unlisted=(),
    )

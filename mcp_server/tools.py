"""The table of MCP tools: the name, description, scope and REST operations of each. The tools that
specs declare are added for each index.

A tool sends requests to REST; schemas of arguments come from REST's serializers
(``mcp_server.operations``) and from the specs.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import httpx

from access.grants import Grant, Scope
from core.exceptions import InvalidInput, StrataError
from core.serializers import MAX_NAME_CHARS
from indexing.models import Index
from mcp_server import rendering
from mcp_server.operations import get_operation
from retrieval.answer_stream import JoinedAnswer
from retrieval.hit_text import render_hits
from retrieval.search_table import SEARCHES, describe_queries
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
    """``operations``: ids of the REST operations that it calls. ``render`` writes the answer as
    text. ``is_public``: it answers without a key about public indexes."""

    name: str
    function: ToolFunction
    scope: Scope
    operations: tuple[str, ...]
    description: str
    make_schema: Callable[[], dict[str, Any]]
    render: Callable[[Mapping[str, Any]], str] = rendering.render_as_yaml
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


async def ask(
    api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
) -> dict[str, Any]:
    """Report each event of the answer. After an error, which is the last, keep what was found."""
    answer = JoinedAnswer()
    count = 0
    async for event in get_operation("ask_by_body").stream(api, arguments):
        data = event.json()
        if event.event == "error":
            error = StrataError.from_json(data)
            if not answer.content:
                raise error
            answer.break_off(error)
            continue
        answer.add(event.event, data)
        count += 1
        found = f"Found {len(data['hits'])} passages." if event.event == "metadata" else None
        await report(count, None, data.get("text", found))
    return answer.as_json()


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
    properties["query"]["description"] = f"What to look for{describe_queries('kind')}."
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


def _make_tool(
    name: str,
    operation_id: str,
    *others: str,
    scope: Scope = Scope.SEARCH,
    function: ToolFunction | None = None,
    **facts: Any,
) -> AgentTool:
    """A tool that is the first operation, with the same arguments, and needs the rights of all of
    them."""

    async def call(
        api: httpx.AsyncClient, arguments: Arguments, report: ReportProgress
    ) -> dict[str, Any]:
        return await get_operation(operation_id).send(api, arguments)

    return AgentTool(
        name=name,
        function=function or call,
        scope=scope,
        operations=(operation_id, *others),
        make_schema=lambda: get_operation(operation_id).schema,
        **facts,
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
            "Search the passages of one or several indexes, or their summaries, questions, "
            "sources or concepts. Each hit names its document, page and characters, and says "
            "whether it is exact or the document has changed since (stale).",
            make_search_schema,
            render_hits,
            is_public=True,
        ),
        _make_tool(
            "ask",
            "ask_by_body",
            "ask",
            description="Ask a question in a whole sentence. The answer cites the passages below "
            "it by their numbers. Filters such as years and names are read from the question.",
            render=rendering.render_ask,
            function=ask,
        ),
        _make_tool(
            "get_source",
            "read_source",
            description="Read the whole source around a hit, and its neighbours in the document.",
            render=rendering.render_source,
        ),
        _make_tool(
            "list_indexes",
            "v1_indexes_list",
            description="List the indexes that can be searched, and what each holds.",
            render=rendering.render_indexes,
        ),
        _make_tool(
            "add_document",
            "add_artifact",
            scope=Scope.WRITE,
            description="Add a text to an index. Adding the same external_id again replaces it; "
            "the answer says what it replaced.",
        ),
        _make_tool(
            "add_evidence",
            "add_evidence",
            scope=Scope.WRITE,
            description="Keep findings of your research, each with its URL. A finding that says "
            "what a stored one says is kept only as a reference of the stored one, which its "
            "verdict names.",
        ),
        _make_tool(
            "find_similar_evidence",
            "find_related_evidence",
            "find_similar_evidence",
            description="Find stored findings that are similar to a claim or a question, with "
            "their URLs and what repeats them. Near-repeats of a better finding come only if there "
            "are too few others.",
            render=render_hits,
        ),
        _make_tool(
            "embed",
            "embed_texts",
            description="Return the vectors of texts by the model of an index, to compare texts "
            "yourself or to search with.",
        ),
        _make_tool(
            "search_concepts",
            "search_concepts_by_body",
            "search_concepts",
            description="Search concepts by their meaning, with the quotes that support them.",
            render=render_hits,
            is_public=True,
        ),
        _make_tool(
            "get_concept_context",
            "read_concept_context",
            description="Read the sources that a concept quotes, and their neighbours.",
            render=rendering.render_concept_context,
        ),
        _make_tool(
            "find_paths",
            "find_paths",
            description="Find chains of relationships that begin at a concept and whose types are "
            "similar to given words, such as supports or contradicts.",
            render=rendering.render_paths,
        ),
        _make_tool(
            "find_shared",
            "find_shared",
            description="Find what several concepts share: the relationships between them, the "
            "concepts that two or more of them are related to, and the sources that quote two or "
            "more of them, with the quotes.",
            render=rendering.render_shared,
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
        render=render_hits,
        is_public=True,
    )

"""The table of operations: how each operation of the API is done at the command line, with the
Python client and by agents over MCP.

``python -m config.operations`` writes it to docs/reference/operations.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from config.environment import load_environment

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "reference" / "operations.md"
BODY_SUFFIX: Final = "_by_body"  # of the operation that takes the parameters in the body

HEADER: Final = """\
# Operations

How each operation of the [HTTP API](api.md) is done at the [command line](commands.md), with the
[Python client](../how-to/use-the-client.md) and by agents over MCP. `strata api` and the
client's `request` send any request; they are named where an operation has no command or method of
its own. `python -m config.operations` writes this page."""
TABLE_HEAD: Final = """
## {}

| operation | REST | command | client | MCP tool, or why none |
|---|---|---|---|---|"""


@dataclass(frozen=True, slots=True)
class Usage:
    """``command``: after ``strata``; "" where ``api`` does it. ``client``: the method of both
    clients; "" where ``request`` does it. ``no_tool``: why no MCP tool does it, where the reason is
    not that of its tag."""

    command: str = ""
    client: str = ""
    no_tool: str = ""


# Why an operation has no tool, by its tag.
NO_TOOL: Final[Mapping[str, str]] = {
    "Search": "`search` finds the same",
    "Answers": "people choose pipelines",
    "Documents": "people change documents; agents add and read them",
    "Indexes and builds": "people build and remove indexes",
    "Summaries": "people edit summaries",
    "Concepts": "people edit concepts; agents read them",
    "Evidence": "`find_similar_evidence` finds the same",
    "Evaluation": "people judge and measure searches",
    "Operation": "people operate the service",
    "Keys": "people give rights",
    "Webhooks": "people watch the service",
    "Audit": "people watch the service",
}
DECLARED_TOOLS: Final = "each tool that a spec declares is a tool of its own"

OPERATIONS: Final[Mapping[str, Usage]] = {
    # Search: the searches that have a method of the client, or are another command
    "search_pages": Usage("search --kind pages", "search"),
    "search_summaries": Usage("search --kind summaries", "search"),
    "search_questions": Usage("search --kind questions", "search"),
    "search_hierarchical": Usage("search --kind hierarchical", "search_hierarchical"),
    "search_recursive": Usage("search --kind recursive", "search_recursive"),
    "search_structures": Usage("search --kind structures", "search_structures"),
    "search_images": Usage("search --kind images", "search_images"),
    "search_concepts": Usage("concepts search", "search_concepts"),
    "search_relationships": Usage("search --kind relationships", "search_relationships"),
    "search_sources": Usage("search --kind sources", "search_sources"),
    "route_query": Usage("search --kind route", "route"),
    "blend_concepts": Usage("search --kind blend", "blend"),
    "search_subgraph": Usage("search --kind subgraph", "subgraph"),
    "find_similar_sources": Usage(client="similar_sources"),
    "count_field_values": Usage(no_tool="`search` filters by the values that it shows"),
    "list_tools": Usage("tools", "tools", DECLARED_TOOLS),
    "call_tool": Usage("tools", "call_tool", DECLARED_TOOLS),
    # Answers
    "ask": Usage("ask", "ask"),
    "list_pipelines": Usage(),
    # Documents
    "list_artifacts": Usage(client="artifacts"),
    "add_artifact": Usage("add", "add"),
    "add_artifacts": Usage("add", "add_batch"),
    "read_artifact": Usage(client="artifact"),
    "update_artifact": Usage(client="update"),
    "replace_content": Usage(client="replace"),
    "remove_artifact": Usage(client="delete"),
    "read_original": Usage(client="original"),
    "list_changes": Usage(no_tool="people watch the service"),
    "list_pages": Usage(client="pages"),
    "draw_page": Usage(client="picture"),
    "find_passage_boxes": Usage(client="boxes"),
    "read_page": Usage(client="page"),
    "read_source": Usage(client="source"),
    "list_page_passages": Usage(no_tool="`get_source` shows the offsets of chunks"),
    # Indexes and builds
    "v1_indexes_list": Usage("status", "indexes"),
    "v1_indexes_retrieve": Usage("status --index", "index", "`list_indexes` shows it"),
    "v1_indexes_destroy": Usage(client="delete_index"),
    "read_spec": Usage(),
    "write_spec": Usage(),
    "plan_index": Usage("plan"),
    "list_builds": Usage("builds"),
    "apply_spec": Usage("apply"),
    "read_build": Usage(),
    "promote_build": Usage("promote"),
    "pause_build": Usage("builds --pause"),
    "resume_build": Usage("builds --resume"),
    "cancel_build": Usage("builds --cancel"),
    "roll_back_index": Usage("rollback"),
    "prune_index": Usage("prune"),
    "read_vectors": Usage("backup"),
    # Summaries
    "read_page_summary": Usage(client="page_summary", no_tool="`search` finds and shows summaries"),
    "write_page_summary": Usage(client="write_page_summary"),
    "read_artifact_summary": Usage(client="summary", no_tool="`search` finds and shows summaries"),
    "write_artifact_summary": Usage(client="write_summary"),
    "read_chunk_questions": Usage(no_tool="`search` finds and shows questions"),
    "write_chunk_questions": Usage("process"),
    # Concepts
    "list_concepts": Usage("concepts list", "concepts.list", "`search_concepts` finds them"),
    "create_concept": Usage(client="concepts.create"),
    "read_concept": Usage(client="concepts.get", no_tool="`get_concept_context` shows it"),
    "edit_concept": Usage(client="concepts.update"),
    "remove_concept": Usage(client="concepts.delete"),
    "merge_concepts": Usage(client="concepts.merge"),
    "list_instances": Usage(client="concepts.quotes", no_tool="`get_concept_context` shows them"),
    "add_instance": Usage(client="concepts.add_quote"),
    "remove_instance": Usage(client="concepts.delete_quote"),
    "read_evidence": Usage(
        "concepts evidence", "concepts.evidence", "`get_concept_context` shows it"
    ),
    "read_concept_context": Usage("concepts context", "concepts.context"),
    "find_paths": Usage("concepts paths", "concepts.paths"),
    "list_relationship_types": Usage(
        client="relationships.types", no_tool="`search` finds relationship types"
    ),
    "create_relationship_type": Usage(client="relationships.create_type"),
    "read_relationship_type": Usage(
        client="relationships.type", no_tool="`search` finds relationship types"
    ),
    "edit_relationship_type": Usage(client="relationships.update_type"),
    "remove_relationship_type": Usage(client="relationships.delete_type"),
    "list_relationships": Usage(
        client="relationships.list", no_tool="`find_paths` and `search` show relationships"
    ),
    "relate_concepts": Usage(client="relationships.create"),
    "read_relationship": Usage(
        client="relationships.get", no_tool="`find_paths` and `search` show relationships"
    ),
    "remove_relationship": Usage(client="relationships.delete"),
    "list_emergent": Usage(
        client="relationships.emergent", no_tool="people decide which concepts are related"
    ),
    "accept_emergent": Usage(client="relationships.accept"),
    "dismiss_emergent": Usage(client="relationships.dismiss"),
    # Evidence
    "add_evidence": Usage("evidence add", "evidence.add"),
    "find_similar_evidence": Usage("evidence similar", "evidence.similar"),
    "find_related_evidence": Usage("evidence related", "evidence.related"),
    # Evaluation
    "list_evaluations": Usage(client="evaluations.list"),
    "evaluate": Usage("evaluate", "evaluations.start"),
    "read_evaluation": Usage(client="evaluations.get"),
    "read_evaluation_report": Usage("evaluate --report", "evaluations.report"),
    "delete_evaluation": Usage(client="evaluations.delete"),
    "list_judgements": Usage(),
    "judge": Usage(),
    "take_back_judgement": Usage(),
    # Operation
    "read_work": Usage(),
    "retry_failed": Usage(),
    "v1_verify_create": Usage("verify", "verify"),
    "v1_indexes_verify_create": Usage("verify --index", "verify"),
    "v1_reconcile_create": Usage(),
    "regenerate": Usage("regenerate", "regenerate"),
    # Keys
    "list_keys": Usage("key list", "keys"),
    "create_key": Usage("key create", "create_key"),
    "revoke_key": Usage("key revoke", "revoke_key"),
    "list_people": Usage(),
    "add_person": Usage(),
    "change_person": Usage(),
    "make_password_link": Usage(),
    # Webhooks
    "list_deliveries": Usage(),
    "send_test_event": Usage(),
    "retry_delivery": Usage(),
    # Audit
    "list_audit": Usage(),
    "export_audit": Usage(),
    "verify_audit": Usage(),
    "erase_subject": Usage(),
}


def list_usages() -> dict[str, Usage]:
    """``OPERATIONS``, and each search that has no row there: it is a kind of ``strata search``."""
    from retrieval.search_table import SEARCHES  # needs the apps, which ``main`` loads

    searches = {
        search.operation_id: Usage(f"search --kind {kind}") for kind, search in SEARCHES.items()
    }
    return {**searches, **OPERATIONS}


def render_operations(document: Mapping[str, Any]) -> str:
    """The page of all operations of an OpenAPI document, in Markdown, a table for each tag."""
    from mcp_server.tools import TOOLS  # needs the apps, too

    tools = {tool.name: {*tool.operations} for tool in TOOLS.values()}
    usages = list_usages()
    parts = [HEADER]
    for tag in document["tags"]:
        rows = _render_rows(document, tag["name"], usages, tools)
        parts += [TABLE_HEAD.format(tag["name"]), *rows]
    return "\n".join(parts) + "\n"


def _render_rows(
    document: Mapping[str, Any],
    tag: str,
    usages: Mapping[str, Usage],
    operations_by_tool: Mapping[str, set[str]],
) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = operation["operationId"]
            if operation["tags"] != [tag] or name.endswith(BODY_SUFFIX):
                continue
            usage = usages[name]
            shown_path = path.removeprefix("/api/v1/")
            shown_method = method.upper()
            if "post" in methods and methods["post"]["operationId"] == name + BODY_SUFFIX:
                shown_method = "GET, POST"
            command = usage.command or f"api {method.upper()} {shown_path}"
            ids = {name, name + BODY_SUFFIX}
            tools = [
                f"`{tool}`" for tool, operations in operations_by_tool.items() if ids & operations
            ]
            cells = [
                operation["summary"],
                f"`{shown_method} {shown_path}`",
                f"`{command}`",
                f"`{usage.client or 'request'}`",
                ", ".join(tools) or (usage.no_tool or NO_TOOL[tag]),
            ]
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    load_environment()
    import django

    django.setup()
    from drf_spectacular.generators import SchemaGenerator

    document = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    DOCUMENT.write_text(render_operations(document), encoding="utf-8")


if __name__ == "__main__":
    main()

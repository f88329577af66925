"""The table of operations: how each operation of the API is done at the command line, with the
Python client and by agents over MCP.

``python -m config.operations`` writes it to docs/reference/operations.md.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "reference" / "operations.md"
BODY_SUFFIX: Final = "_by_body"  # of the operation that takes the parameters in the body

HEADER: Final = """\
# Operations

How each operation of the [HTTP API](api.md) is done at the [command line](commands.md), with the
[Python client](../how-to/use-the-client.md) and by agents over MCP. `manage.py api` and the
client's `request` send any request; they are named where an operation has no command or method of
its own. `python -m config.operations` writes this page."""
TABLE_HEAD: Final = """
## {}

| operation | REST | command | client | MCP tool, or why none |
|---|---|---|---|---|"""


@dataclass(frozen=True, slots=True)
class Faces:
    """``command``: after ``manage.py``; "" where ``api`` does it. ``client``: the method of both
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
}
DECLARED_TOOLS: Final = "each tool that a spec declares is a tool of its own"

OPERATIONS: Final[Mapping[str, Faces]] = {
    # Search
    "search_pages": Faces("search --kind pages", "search"),
    "search_summaries": Faces("search --kind summaries", "search"),
    "search_questions": Faces("search --kind questions", "search"),
    "search_hierarchical": Faces("search --kind hierarchical", "search_hierarchical"),
    "search_structures": Faces("search --kind structures", "search_structures"),
    "search_images": Faces("search --kind images", "search_images"),
    "search_concepts": Faces("concepts search", "search_concepts"),
    "search_relationships": Faces("search --kind relationships", "search_relationships"),
    "search_sources": Faces("search --kind sources", "search_sources"),
    "route_query": Faces("search --kind route", "route"),
    "blend_concepts": Faces("search --kind blend", "blend"),
    "search_subgraph": Faces("search --kind subgraph", "subgraph"),
    "find_similar_sources": Faces(client="similar_sources"),
    "list_tools": Faces("tools", "tools", DECLARED_TOOLS),
    "call_tool": Faces("tools", "call_tool", DECLARED_TOOLS),
    # Answers
    "ask": Faces("ask", "ask"),
    "list_pipelines": Faces(),
    # Documents
    "list_artifacts": Faces(client="artifacts"),
    "add_artifact": Faces("add", "add"),
    "add_artifacts": Faces("add", "add_batch"),
    "read_artifact": Faces(client="artifact"),
    "update_artifact": Faces(client="update"),
    "replace_content": Faces(client="replace"),
    "remove_artifact": Faces(client="delete"),
    "read_original": Faces(client="original"),
    "list_pages": Faces(client="pages"),
    "read_page": Faces(client="page"),
    "read_source": Faces(client="source"),
    # Indexes and builds
    "v1_indexes_list": Faces("status", "indexes"),
    "v1_indexes_retrieve": Faces("status --index", "index", "`list_indexes` shows it"),
    "v1_indexes_destroy": Faces(client="delete_index"),
    "plan_index": Faces("plan"),
    "list_builds": Faces("builds"),
    "apply_spec": Faces("apply"),
    "read_build": Faces(),
    "promote_build": Faces("promote"),
    "pause_build": Faces("builds --pause"),
    "resume_build": Faces("builds --resume"),
    "cancel_build": Faces("builds --cancel"),
    "roll_back_index": Faces("rollback"),
    "prune_index": Faces("prune"),
    # Summaries
    "read_page_summary": Faces(client="page_summary", no_tool="`search` finds and shows summaries"),
    "write_page_summary": Faces(client="write_page_summary"),
    "read_artifact_summary": Faces(client="summary", no_tool="`search` finds and shows summaries"),
    "write_artifact_summary": Faces(client="write_summary"),
    # Concepts
    "list_concepts": Faces("concepts list", "concepts.list", "`search_concepts` finds them"),
    "create_concept": Faces(client="concepts.create"),
    "read_concept": Faces(client="concepts.get", no_tool="`get_concept_context` shows it"),
    "edit_concept": Faces(client="concepts.update"),
    "remove_concept": Faces(client="concepts.delete"),
    "merge_concepts": Faces(client="concepts.merge"),
    "list_instances": Faces(client="concepts.quotes", no_tool="`get_concept_context` shows them"),
    "add_instance": Faces(client="concepts.add_quote"),
    "remove_instance": Faces(client="concepts.delete_quote"),
    "read_evidence": Faces(
        "concepts evidence", "concepts.evidence", "`get_concept_context` shows it"
    ),
    "read_concept_context": Faces("concepts context", "concepts.context"),
    "find_paths": Faces("concepts paths", "concepts.paths"),
    "list_relationship_types": Faces(
        client="relationships.types", no_tool="`search` finds relationship types"
    ),
    "create_relationship_type": Faces(client="relationships.create_type"),
    "read_relationship_type": Faces(
        client="relationships.type", no_tool="`search` finds relationship types"
    ),
    "edit_relationship_type": Faces(client="relationships.update_type"),
    "remove_relationship_type": Faces(client="relationships.delete_type"),
    "list_relationships": Faces(
        client="relationships.list", no_tool="`find_paths` and `search` show relationships"
    ),
    "relate_concepts": Faces(client="relationships.create"),
    "read_relationship": Faces(
        client="relationships.get", no_tool="`find_paths` and `search` show relationships"
    ),
    "remove_relationship": Faces(client="relationships.delete"),
    "list_emergent": Faces(
        client="relationships.emergent", no_tool="people decide which concepts are related"
    ),
    "accept_emergent": Faces(client="relationships.accept"),
    "dismiss_emergent": Faces(client="relationships.dismiss"),
    # Evidence
    "add_evidence": Faces("evidence add", "evidence.add"),
    "find_similar_evidence": Faces("evidence similar", "evidence.similar"),
    "find_related_evidence": Faces("evidence related", "evidence.related"),
    # Evaluation
    "list_evaluations": Faces(client="evaluations.list"),
    "evaluate": Faces("evaluate", "evaluations.start"),
    "read_evaluation": Faces(client="evaluations.get"),
    "read_evaluation_report": Faces("evaluate --report", "evaluations.report"),
    "delete_evaluation": Faces(client="evaluations.delete"),
    "list_judgements": Faces(),
    "judge": Faces(),
    "take_back_judgement": Faces(),
    # Operation
    "v1_verify_create": Faces("verify", "verify"),
    "v1_indexes_verify_create": Faces("verify --index", "verify"),
    "v1_reconcile_create": Faces(),
    "list_regenerations": Faces(client="regenerations.list"),
    "regenerate": Faces("regenerate", "regenerations.start"),
    "read_regeneration": Faces(client="regenerations.follow"),
    "cancel_regeneration": Faces("regenerate --cancel", "regenerations.cancel"),
    # Keys
    "list_keys": Faces("key list", "keys"),
    "create_key": Faces("key create", "create_key"),
    "revoke_key": Faces("key revoke", "revoke_key"),
}


def render_operations(document: Mapping[str, Any]) -> str:
    """The page of all operations of an OpenAPI document, in Markdown, a table for each tag."""
    from mcp_server.tools import TOOLS  # needs the apps, which ``main`` loads

    tools = {tool.name: {*tool.operations} for tool in TOOLS.values()}
    parts = [HEADER]
    for tag in document["tags"]:
        parts += [TABLE_HEAD.format(tag["name"]), *_render_rows(document, tag["name"], tools)]
    return "\n".join(parts) + "\n"


def _render_rows(
    document: Mapping[str, Any], tag: str, operations_by_tool: Mapping[str, set[str]]
) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = operation["operationId"]
            if operation["tags"] != [tag] or name.endswith(BODY_SUFFIX):
                continue
            faces = OPERATIONS[name]
            shown_path = path.removeprefix("/api/v1/")
            shown_method = method.upper()
            if "post" in methods and methods["post"]["operationId"] == name + BODY_SUFFIX:
                shown_method = "GET, POST"
            command = faces.command or f"api {method.upper()} {shown_path}"
            ids = {name, name + BODY_SUFFIX}
            tools = [
                f"`{tool}`" for tool, operations in operations_by_tool.items() if ids & operations
            ]
            cells = [
                operation["summary"],
                f"`{shown_method} {shown_path}`",
                f"`{command}`",
                f"`{faces.client or 'request'}`",
                ", ".join(tools) or (faces.no_tool or NO_TOOL[tag]),
            ]
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
    import django

    django.setup()
    from drf_spectacular.generators import SchemaGenerator

    document = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    DOCUMENT.write_text(render_operations(document), encoding="utf-8")


if __name__ == "__main__":
    main()

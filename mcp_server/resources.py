"""MCP resources: documents, their pages and their sources, by URI.

strata://documents/ID           title, metadata and the text of the first pages; listed
strata://documents/ID/pages/N   the text of one page, counted from 0
strata://sources/ID             the text of a source, as hits name it

Each text stands between two fence lines that it cannot contain: see ``retrieval.hit_text``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx

from core.exceptions import InvalidInput
from mcp_server.operations import get_operation
from mcp_server.rendering import render_as_yaml
from retrieval.hit_text import fence

MAX_PAGES: Final = 20  # of a document that is read at once; more are read one by one
PAGE_SIZE: Final = 50  # documents listed at once
OPERATIONS: Final = ("list_artifacts", "read_artifact", "list_pages", "read_page", "read_source")

URI: Final = re.compile(
    r"strata://(?:documents/(?P<artifact_id>[^/]+)(?:/pages/(?P<page_index>\d+))?"
    r"|sources/(?P<source_id>[^/]+))"
)
TEMPLATES: Final[Mapping[str, tuple[str, str]]] = {
    "strata://documents/{artifact_id}": (
        "document",
        f"A document: title, metadata, and the text of its first {MAX_PAGES} pages.",
    ),
    "strata://documents/{artifact_id}/pages/{page_index}": (
        "page",
        "The text of one page of a document; pages are counted from 0.",
    ),
    "strata://sources/{source_id}": ("source", "The text of a source, by the id that hits name."),
}


async def list_documents(
    api: httpx.AsyncClient, cursor: str | None
) -> tuple[dict[str, Any], str | None]:
    """Some documents of the visible indexes by their URIs, as REST lists them, and the cursor of
    those that follow.

    Raises:
        StrataError: REST refused a request.
        InvalidInput: the cursor is not one that was given.
    """
    indexes = [each["name"] for each in (await _send(api, "v1_indexes_list"))["results"]]
    if cursor is None:
        position, offset = 0, 0
    else:
        name, _, number = cursor.partition(":")
        if name not in indexes or not number.isdecimal():
            raise InvalidInput("The cursor is not valid any more.", field="cursor")
        position, offset = indexes.index(name), int(number)
    documents: dict[str, Any] = {}
    while position < len(indexes) and not documents:
        index = indexes[position]
        page = await _send(api, "list_artifacts", index=index, limit=PAGE_SIZE, offset=offset)
        documents = {_make_uri(each): each for each in page["results"]}
        if page["next"] is None:
            position, offset = position + 1, 0
        else:
            offset += PAGE_SIZE
    return documents, f"{indexes[position]}:{offset}" if position < len(indexes) else None


async def read_resource(api: httpx.AsyncClient, uri: str) -> dict[str, str]:
    """The texts of a resource, each by its own URI.

    Raises:
        StrataError: REST refused a request.
        InvalidInput: no resource has such a URI.
    """
    match = URI.fullmatch(uri)
    if match is None:
        raise InvalidInput("There is no such resource.", field="uri", allowed=TEMPLATES)
    named = match.groupdict()
    if named["source_id"]:
        source = await _send(api, "read_source", source_id=named["source_id"])
        return {uri: fence(source["text"])}
    if named["page_index"]:
        page = await _send(
            api, "read_page", artifact_id=named["artifact_id"], page_index=named["page_index"]
        )
        return {uri: fence(page["text"])}
    return await _read_document(api, named["artifact_id"])


async def _read_document(api: httpx.AsyncClient, artifact_id: str) -> dict[str, str]:
    artifact = await _send(api, "read_artifact", artifact_id=artifact_id)
    pages = await _send(api, "list_pages", artifact_id=artifact_id, limit=MAX_PAGES)
    root = _make_uri(artifact)
    facts = {
        name: artifact[name] for name in ("title", "index", "url", "metadata", "status", "pages")
    }
    texts = {root: fence(render_as_yaml(facts))}
    for each in pages["results"]:
        page = await _send(api, "read_page", artifact_id=artifact_id, page_index=each["index"])
        texts[f"{root}/pages/{each['index']}"] = fence(page["text"])
    return texts


def _make_uri(artifact: Mapping[str, Any]) -> str:
    return f"strata://documents/{artifact['id']}"


async def _send(api: httpx.AsyncClient, operation_id: str, **arguments: Any) -> dict[str, Any]:
    return await get_operation(operation_id).send(api, arguments)

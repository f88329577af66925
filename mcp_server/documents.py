"""Tools with which agents list, read and delete documents, and see which values a field has.

What REST calls an artifact is a document here, as in the text of hits, and pages are counted from
1, as hits name them.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import httpx

from core.exceptions import InvalidInput, StrataError
from mcp_server.bounds import MAX_TOKENS, count_fitting, estimate_tokens
from mcp_server.operations import get_operation
from mcp_server.rendering import render_as_yaml
from retrieval.hit_text import Content, fence, join, one_line

MAX_PAGES: Final = 50  # read at once; each is a request to REST
SHOWN_FACTS: Final = (
    "id", "title", "file_name", "index", "external_id", "url", "metadata", "status", "pages",
)  # fmt: skip
DOCUMENT_ID: Final = {"type": "string", "format": "uuid"}
OPEN_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "document_id": DOCUMENT_ID,
        "page": {
            "type": "integer", "minimum": 1, "default": 1,
            "description": "The page to begin with, as hits name it.",
        },
        "start": {
            "type": "integer", "minimum": 0, "default": 0,
            "description": "The character of that page to begin with, to read on in a long one.",
        },
    },
    "required": ["document_id"],
}  # fmt: skip
DELETE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"document_id": DOCUMENT_ID},
    "required": ["document_id"],
}


def make_values_schema() -> dict[str, Any]:
    schema = get_operation("count_field_values").schema
    field = {"type": "string", "description": "Only this field; without it, each declared one."}
    return {**schema, "properties": {**schema["properties"], "field": field}}


async def open_document(
    api: httpx.AsyncClient, arguments: Mapping[str, Any], report: Any
) -> dict[str, Any]:
    """The document and its text from a page on, as much as one answer holds."""
    first = read_position(arguments.get("page", 1), "page", least=1)
    start = read_position(arguments.get("start", 0), "start", least=0)
    named = _name_document(arguments)
    artifact = await get_operation("read_artifact").send(api, named)
    facts = {name: artifact[name] for name in SHOWN_FACTS}
    if artifact["pages"] and first > artifact["pages"]:
        raise InvalidInput(
            f"The document has {artifact['pages']} pages, so there is no page {first}.",
            field="page",
        )
    room = MAX_TOKENS - estimate_tokens(render_as_yaml(facts)) - 300
    number, pages = first, list[dict[str, Any]]()
    while number <= artifact["pages"] and room > 0 and len(pages) < MAX_PAGES:
        read = {**named, "page_index": number - 1}
        try:
            page = await get_operation("read_page").send(api, read)
        except StrataError:  # such as the limit of requests: what has been read is an answer, too
            if pages:
                break
            raise
        text = page["text"][start:]
        count = count_fitting(text, room)
        pages.append(
            {"page": number, "label": page["label"], "start": start, "text": text[:count],
             "chars": len(page["text"])}
        )  # fmt: skip
        room -= estimate_tokens(text[:count]) + 50
        if count < len(text):
            start += count
            break
        number, start = number + 1, 0
    following = {"page": number, "start": start} if number <= artifact["pages"] else None
    return {"document": facts, "pages": pages, "next": following}


def render_document(content: Content) -> str:
    parts = [fence(render_as_yaml(content["document"]).rstrip())]
    for page in content["pages"]:
        end = page["start"] + len(page["text"])
        is_whole = page["start"] == 0 and end == page["chars"]
        place = None if is_whole else f"characters {page['start']} to {end} of {page['chars']}"
        heading = join(f"# Page {page['page']}", one_line(page["label"]) or None, place)
        parts.append(f"{heading}\n{fence(page['text'])}")
    if following := content["next"]:
        start = f" and start {following['start']}" if following["start"] else ""
        parts.append(f"There is more: call open_document for page {following['page']}{start}.")
    else:
        parts.append("This is the end of the document.")
    return "\n\n".join(parts)


def render_documents(content: Content, offset: int) -> str:
    found = content["results"]
    lines = [
        join(
            f"[{offset + number}] {one_line(each['title'] or each['file_name']) or '(untitled)'}",
            f"document {each['id']}",
            f"{each['pages']} pages",
            None if each["status"] == "ready" else each["status"],
            one_line(each["external_id"] or "") or None,
        )
        for number, each in enumerate(found, 1)
    ]
    counted = f"{content['count']} documents"
    if offset + len(found) < content["count"]:
        counted += f"; for the next page, offset {offset + len(found)}"
    return "\n".join([counted, *lines])


async def list_values(
    api: httpx.AsyncClient, arguments: Mapping[str, Any], report: Any
) -> dict[str, Any]:
    """The values of the declared fields, or of one."""
    sent = {name: value for name, value in arguments.items() if name != "field"}
    answer = await get_operation("count_field_values").send(api, sent)
    if (wanted := arguments.get("field")) is None:
        return answer
    names = [each["field"] for each in answer["facets"]]
    if wanted not in names:
        raise InvalidInput(
            f"The index declares no field {str(wanted)[:100]!r}.", field="field", allowed=names
        )
    return {**answer, "facets": [each for each in answer["facets"] if each["field"] == wanted]}


def render_values(content: Content) -> str:
    lines = []
    for facet in content["facets"]:
        values = ", ".join(
            f"{one_line(str(each['value']))} ({each['documents']})" for each in facet["values"]
        )
        without = f"; {facet['missing']} without" if facet["missing"] else ""
        lines.append(f"{facet['field']}: {values or 'no values'}{without}")
    heading = "Values of each field, with the number of documents:"
    return "\n".join([heading, *lines]) if lines else "The index declares no fields."


async def delete_document(
    api: httpx.AsyncClient, arguments: Mapping[str, Any], report: Any
) -> dict[str, Any]:
    return await get_operation("remove_artifact").send(api, _name_document(arguments))


def _name_document(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Its id under REST's name."""
    if (given := arguments.get("document_id")) is None:
        raise InvalidInput("The argument document_id is missing.", field="document_id")
    try:
        return {"artifact_id": str(UUID(str(given)))}
    except ValueError:
        raise InvalidInput("document_id must be a UUID.", field="document_id") from None


def read_position(value: Any, name: str, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"{name} must be a whole number from {least} on.", field=name)
    return value

"""The documents of docling, written as in other formats. It runs here, if it is installed, or its
answer comes from docling-serve.

Source of the format: the model DoclingDocument of docling-core 2."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from documents.exceptions import Unparsable
from documents.parsing.blocks import LIST_INDENT, Block, add_pages, format_table
from documents.parsing.document import DocumentDraft

Json = dict[str, Any]


def read(path: Path, draft: DocumentDraft) -> None:
    from docling.datamodel.base_models import DocumentStream  # loads torch
    from docling.document_converter import DocumentConverter

    stream = DocumentStream(name=f"file{draft.suffix}", stream=BytesIO(path.read_bytes()))
    _add_pages(DocumentConverter().convert(stream).document.export_to_dict(), draft)


def read_answer(path: Path, draft: DocumentDraft) -> None:
    """Read the answer of docling-serve that the file holds."""
    answer = json.loads(path.read_bytes())
    reason = "; ".join(each["error_message"] for each in answer["errors"])
    if answer["status"] == "partial_success":
        draft.warn("partly_read", f"docling-serve has read only a part of the file: {reason}")
    elif answer["status"] != "success":
        raise make_refusal(reason)
    _add_pages(answer["document"]["json_content"], draft)


def make_refusal(reason: str) -> Unparsable:
    return Unparsable(
        "reader_refused",
        f"docling-serve cannot read the file: {reason[:300].rstrip('.') or 'it gives no reason'}.",
        fix="Split it, save it again, or name another reader in STRATA_READERS.",
    )


def _add_pages(document: Json, draft: DocumentDraft) -> None:
    parts = (
        (item["prov"][0]["page_no"] if item.get("prov") else None, blocks)
        for item, blocks in _walk(document, document["body"]["children"])
    )
    add_pages(draft, parts, max(map(int, document["pages"]), default=0))


def _walk(
    document: Json, references: list[dict[str, str]], depth: int = 0
) -> Iterator[tuple[Json, list[Block]]]:
    """The items that are referred to, and those in them, with their text. Of pictures it is the
    captions. ``depth``: how many lists they are in."""
    for reference in references:
        _, kind, index = next(iter(reference.values())).split("/")  # such as "#/texts/3"
        item = document[kind][int(index)]
        if item.get("content_layer", "body") != "body":  # headers and footers
            continue
        if kind == "texts":
            yield item, _make_blocks(item, depth)
        elif kind == "tables":
            yield from _walk(document, item.get("captions", []))
            rows = item["data"]["grid"]  # has a cell of several columns in each of them
            yield (
                item,
                format_table(
                    [
                        cell["text"] * (cell["start_col_offset_idx"] == at)
                        for at, cell in enumerate(row)
                    ]
                    for row in rows
                ),
            )
        if kind == "pictures":
            yield from _walk(document, item.get("captions", []))
        elif item["label"] == "inline":  # the runs of a paragraph
            runs = [run for run, _ in _walk(document, item["children"])]
            yield from [(runs[0], [Block(" ".join(run["text"] for run in runs))])] if runs else []
        elif kind != "tables":
            yield from _walk(document, item["children"], depth + (item["label"] == "list"))


def _make_blocks(item: Json, depth: int) -> list[Block]:
    text = item["text"]
    if not text.strip():
        return []
    if item["label"] in {"title", "section_header"}:
        return [Block(" ".join(text.split()), level=min(item.get("level", 0) + 1, 6))]
    if item["label"] == "list_item":
        marker = item.get("marker") or "-"
        return [Block(f"{LIST_INDENT * (depth - 1)}{marker} {text}", run="list")]
    return [Block(f"```\n{text}\n```" if item["label"] == "code" else text)]

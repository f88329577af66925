"""What docling makes of a file: Markdown, and which of its pages have text. It runs here, if it is
installed, or its answer comes from docling-serve."""

import json
import re
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft
from documents.parsing.markdown import add_markdown

PAGE_BREAK = "<!-- strata: page break -->"
_PICTURE = "<!-- image -->"
_KINDS = ("texts", "tables", "pictures", "key_value_items", "form_items")
_TITLE = re.compile(r"^# (.+)$", re.M)


def read(path: Path, draft: DocumentDraft) -> None:
    from docling.datamodel.base_models import DocumentStream  # loads torch, if it is installed
    from docling.document_converter import DocumentConverter

    stream = DocumentStream(name=f"file{draft.suffix}", stream=BytesIO(path.read_bytes()))
    document = DocumentConverter().convert(stream).document
    options = {"escape_html": False, "escape_underscores": False}
    text = document.export_to_markdown(page_break_placeholder=PAGE_BREAK, **options)
    _add_pages(text, document.export_to_dict(), draft)


def read_answer(path: Path, draft: DocumentDraft) -> None:
    """Read the answer of docling-serve that the file holds."""
    answer = json.loads(path.read_bytes())
    reason = "; ".join(each["error_message"] for each in answer["errors"])
    if answer["status"] == "partial_success":
        draft.warn("partly_read", f"docling-serve has read only a part of the file: {reason}")
    elif answer["status"] != "success":
        raise make_refusal(reason)
    text = unescape(answer["document"]["md_content"].replace("\\_", "_"))
    _add_pages(text, answer["document"]["json_content"], draft)


def make_refusal(reason: str) -> Unparsable:
    return Unparsable(
        "reader_refused",
        f"docling-serve cannot read the file: {reason[:300].rstrip('.') or 'it gives no reason'}.",
        fix="Split it, save it again, or name another reader in STRATA_READERS.",
    )


def _add_pages(text: str, document: dict[str, Any], draft: DocumentDraft) -> None:
    """Add the pages between the page breaks of a text, which has none for a page without text: the
    items of the document say which pages have text."""
    if not document["pages"]:
        add_markdown(text.replace(_PICTURE, ""), draft)
        return
    items = [item for kind in _KINDS for item in document.get(kind, ()) if item["prov"]]
    shown = [item for item in items if item.get("content_layer", "body") == "body"]
    numbers = sorted({item["prov"][0]["page_no"] for item in shown})
    texts = [part for part in text.split(PAGE_BREAK) if part.strip()]
    if len(texts) != len(numbers):
        numbers = list(range(1, len(texts) + 1))
    pages = dict(zip(numbers, texts, strict=True))
    count = max(*map(int, document["pages"]), *numbers, 1)
    if len(titles := _TITLE.findall(text)) == 1:
        draft.propose_title(titles[0])
    for number in range(1, count + 1):
        draft.add_page(pages.get(number, "").replace(_PICTURE, "").strip())

"""The elements that the library unstructured finds in a file, written as in other formats."""

from pathlib import Path
from typing import Any

from unstructured.partition.auto import partition

from documents.parsing.blocks import Block, add_pages
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText


def read(path: Path, draft: DocumentDraft) -> None:
    with path.open("rb") as file:
        elements = partition(file=file, metadata_filename=f"file{draft.suffix}")
        add_pages(draft, ((each.metadata.page_number, _make_blocks(each)) for each in elements))


def _make_blocks(element: Any) -> list[Block]:
    if table := element.metadata.text_as_html:
        return HtmlText.from_html(table).blocks
    if element.category == "Title":
        level = min(element.metadata.category_depth or 0, 5) + 1
        return [Block(" ".join(element.text.split()), level=level)]
    if element.category == "ListItem":
        return [Block(f"- {element.text}", run="list")]
    return [Block(element.text)] if element.text.strip() else []

"""The elements that the library unstructured finds in a file, written as in other formats."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from unstructured.partition.auto import partition

from documents.parsing.blocks import Block, add_pages
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText


def read(path: Path, draft: DocumentDraft) -> None:
    pages: dict[int, list[Block]] = defaultdict(list)
    number = 0  # until an element has another; of most formats, none has
    with path.open("rb") as file:
        for element in partition(file=file, metadata_filename=f"file{draft.suffix}"):
            number = element.metadata.page_number or number
            pages[number] += _make_blocks(element)
    add_pages(draft, pages)


def _make_blocks(element: Any) -> list[Block]:
    if table := element.metadata.text_as_html:
        return HtmlText.from_html(table).blocks
    if element.category == "Title":
        level = min(element.metadata.category_depth or 0, 5) + 1
        return [Block(" ".join(element.text.split()), level=level)]
    if element.category == "ListItem":
        return [Block(f"- {element.text}", run="list")]
    return [Block(element.text)] if element.text.strip() else []

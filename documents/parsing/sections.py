"""Join text blocks (headings, paragraphs, list elements, table rows) into pages.

Headings are written in Markdown, so that sources and chunks of every format can find the heading
they are under.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from documents.parsing.document import DocumentDraft


@dataclass(frozen=True, slots=True)
class Block:
    """``level`` is a heading's (1–6), 0 for others; blocks with the same ``run`` are joined by one
    line break, and so is a table with the block before it, which is its caption."""

    text: str
    level: int = 0
    run: str = ""  # "list" or "table"


def join_blocks(blocks: Iterable[Block]) -> str:
    parts: list[str] = []
    run = ""
    for block in blocks:
        if parts:
            is_joined = block.run == "table" or (block.run and block.run == run)
            parts.append("\n" if is_joined else "\n\n")
        run = block.run
        parts.append(f"{'#' * block.level} {block.text}" if block.level else block.text)
    return "".join(parts)


def add_sections(draft: DocumentDraft, blocks: list[Block]) -> None:
    """Add a page for each heading of the highest level, and one for text before the first.

    The first such heading is the title if the document has none.
    """
    top = min((block.level for block in blocks if block.level), default=0)
    section: list[Block] = []
    for block in blocks:
        if block.level and block.level == top:
            if section:
                _add_section(draft, section, top)
            section = []
        section.append(block)
    if section:
        _add_section(draft, section, top)


def _add_section(draft: DocumentDraft, section: list[Block], top: int) -> None:
    label = section[0].text if section[0].level and section[0].level == top else ""
    draft.propose_title(label)
    draft.add_page(join_blocks(section), label)

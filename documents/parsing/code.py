"""Source code: a page for each function and class, where tree-sitter's grammars are installed."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from documents.parsing.document import DocumentDraft
from documents.parsing.formats import LANGUAGES
from documents.parsing.text import read_text

MAX_SECTION_BYTES = 2_000  # a longer class is cut into its methods
MAX_DEPTH = 4  # as a method of a class in a namespace of a namespace
_DEFINITION = re.compile(
    r"(function|method|constructor|subroutine|class|interface|struct|enum|trait|impl|record|object"
    r"|protocol|type|mod|module|namespace)_(definition|declaration|item|specifier)"
    r"|(method|class|module)$"  # in Ruby
)
_UNNAMED_FUNCTION = re.compile(r"(arrow_function|function_expression)$")  # in JavaScript


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    if find_spec("tree_sitter_language_pack") is None:
        draft.add_page(text)
        return
    from tree_sitter_language_pack import get_parser

    data = text.encode()
    root = get_parser(LANGUAGES[draft.suffix]).parse(data).root_node
    sections = [
        (section, label)
        for start, end, label in _cut(root, data, 0, len(data), "", 1)
        if re.search(r"\w", section := data[start:end].decode().strip("\n"))
    ]
    for section, label in sections if len(sections) <= draft.limits.max_pages else [(text, "")]:
        draft.add_page(section, label)


def _cut(
    parent: Any, data: bytes, start: int, end: int, label: str, depth: int
) -> Iterator[tuple[int, int, str]]:
    """Start, end and label of each section, in order; what stands between the definitions has the
    label of what surrounds it, and a comment belongs to what it stands above."""
    for node in parent.named_children:
        if (definition := _find_definition(node)) is None:
            continue
        first = node
        while (above := first.prev_named_sibling) is not None and "comment" in above.type:
            first = above
        begin = max(start, data.rfind(b"\n", 0, first.start_byte) + 1)
        yield start, begin, label
        name = definition.text.partition(b"\n")[0].decode().rstrip(" \r:{")
        name = f"{label} › {name}" if label else name
        body = definition.child_by_field_name("body")
        if body is None or node.end_byte - begin <= MAX_SECTION_BYTES or depth == MAX_DEPTH:
            yield begin, node.end_byte, name
        else:
            yield from _cut(body, data, begin, node.end_byte, name, depth + 1)
        start = node.end_byte
    yield start, end, label


def _find_definition(statement: Any) -> Any:
    """The function or class in a statement, such as one that is exported or decorated; the
    statement itself if it gives a name to a function without one."""
    node = statement
    while node is not None and "block" not in node.type:
        if _DEFINITION.match(node.type):
            return node
        if _UNNAMED_FUNCTION.match(node.type):
            return statement
        node = node.named_child(node.named_child_count - 1) if node.named_child_count else None
    return None

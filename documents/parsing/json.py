"""JSON: one page with a ``path: value`` line for each value; JSON Lines: a paragraph for each. Of
data in base64 only the path is kept."""

import json
from collections.abc import Iterator
from pathlib import Path

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft
from documents.parsing.embedded_data import is_base64, shorten_data_uris
from documents.parsing.text import read_text


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    if not text.strip():
        return
    try:
        document = _load_with_text_numbers(text)
    except ValueError as error:
        raise Unparsable("wrong_format", f"The file is not valid JSON: {error}.") from error
    if isinstance(document, dict) and isinstance(document.get("title"), str):
        draft.propose_title(document["title"])
    draft.add_page(_flatten_to_lines(document, draft))


def read_lines(path: Path, draft: DocumentDraft) -> None:
    paragraphs: list[str] = []
    for number, line in enumerate(read_text(path, draft).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            paragraphs.append(_flatten_to_lines(_load_with_text_numbers(line), draft))
        except ValueError:
            draft.warn("invalid_line", f"Line {number} is not valid JSON; it was kept as written.")
            paragraphs.append(line.strip())
    draft.add_page("\n\n".join(paragraph for paragraph in paragraphs if paragraph))


def _load_with_text_numbers(text: str) -> object:
    """Parse JSON; numbers become text, as written."""
    return json.loads(text, parse_int=str, parse_float=str)


def _flatten_to_lines(document: object, draft: DocumentDraft) -> str:
    """Lines such as ``authors[0].name: Ada``; raises ``Unparsable`` past the draft's limit."""
    lines: list[str] = []
    char_count = draft.char_count
    for path, value in _iter_leaves(document, ()):
        place = "".join(path).removeprefix(".")
        lines.append(f"{place}: {value}" if place else value)
        char_count += len(lines[-1])
        draft.check_char_count(char_count)  # inside the loop: long paths multiply the text
    return "\n".join(lines)


def _iter_leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each value that is not empty, with the parts of its path. They are not joined here: a long
    path would be copied for each empty value too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _iter_leaves(inner, (*path, f".{key}"))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _iter_leaves(inner, (*path, f"[{index}]"))
    elif isinstance(value, bool):
        yield path, "true" if value else "false"
    elif value is not None and value != "":
        text = str(value)
        yield path, "(data in base64)" if is_base64(text) else shorten_data_uris(text)

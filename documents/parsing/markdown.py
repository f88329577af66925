"""Markdown: the text as it is written, without what is struck out, a page for each top heading. A
Jupyter notebook is read as the Markdown of its text, its code, and what the code printed.

A CommonMark parser finds the headings, so ``#`` in a code fence is not one.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft, UnseenText
from documents.parsing.embedded_data import shorten_data_uris
from documents.parsing.text import read_text

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?:(?!---|\.\.\.)[^\n]*\n){0,500}?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)"
)
_FRONT_TITLE = re.compile(r"^title:(.*)$", re.M)
# Of a picture whose data is at the end of the file, as Google Docs exports it.
_DATA_DEFINITION = re.compile(
    r"^ {0,3}\[[^\]\n]{1,200}\]: *<?data:[^\s>]{0,200}>?[^\n]{0,200}\n?", re.M
)
# What is struck out, after code, in which nothing is. The bounds keep hostile files linear.
_STRUCK = re.compile(
    r"(?<!`)(`{1,9})(?!`)(?:(?!\n\s*\n).){1,2000}?(?<!`)\1(?!`)"
    r"|(?<![~\\])~~(?![~\s])(?P<text>(?:(?!\n\s*\n).){1,2000}?)(?<![~\s\\])~~(?!~)"
    r"|<(?P<tag>del|s|strike)(?:\s[^<>]{0,200})?>(?P<marked>.{0,2000}?)</(?P=tag)\s{0,9}>",
    re.S | re.IGNORECASE,
)
_MARKUP = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)|[*_`]{1,3}(\S(?:[^*_`]*\S)?)[*_`]{1,3}")


def read(path: Path, draft: DocumentDraft) -> None:
    _add_markdown(read_text(path, draft), draft)


def read_notebook(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    try:
        cells = json.loads(text)["cells"]
        parts = [part for cell in cells for part in _read_cell(cell)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unparsable(
            "wrong_format",
            "The file is not a valid notebook of version 4.",
            fix="Open it in Jupyter and save it again.",
        ) from error
    _add_markdown("\n\n".join(part for part in parts if part.strip()), draft)


def _add_markdown(text: str, draft: DocumentDraft) -> None:
    """Add the text's pages, and propose its title. Pictures that are written into the text are left
    out, but what is written in their place."""
    if "data:" in text:
        text = _DATA_DEFINITION.sub("", shorten_data_uris(text))
    front_matter = _FRONT_MATTER.match(text)
    if front_matter and (found := _FRONT_TITLE.search(front_matter.group())):
        draft.propose_title(found.group(1).strip().strip("\"'"))
    offsets = [match.start() for match in _LINE.finditer(text)]
    headings = _find_headings(text, front_matter.end() if front_matter else 0)
    top = min((level for _, level, _ in headings), default=0)
    starts = [(offsets[line], label) for line, level, label in headings if level == top]
    if len(starts) == 1:  # of several, the first is a chapter's name; the file's name is better
        draft.propose_title(starts[0][1])
    if not starts or text[: starts[0][0]].strip():
        starts.insert(0, (0, ""))
    else:
        starts[0] = (0, starts[0][1])
    for (start, label), (end, _) in pairwise([*starts, (len(text), "")]):
        unseen: list[UnseenText] = []
        draft.add_page(_cut_struck(text[start:end], unseen), label, unseen=unseen)


def _cut_struck(text: str, unseen: list[UnseenText]) -> str:
    """The text without what is struck out, which is added to ``unseen``."""
    if "~~" not in text and "</" not in text:
        return text
    offsets = [match.start() for match in _LINE.finditer(text)] + [len(text)]
    code = [
        (offsets[token.map[0]], offsets[min(token.map[1], len(offsets) - 1)])
        for token in _parse_blocks(text)
        if token.type in {"fence", "code_block"} and token.map
    ]

    def cut(match: re.Match[str]) -> str:
        struck = match["text"] or match["marked"]
        if not struck or any(match.start() < end and start < match.end() for start, end in code):
            return match[0]
        unseen.append(UnseenText(struck, "deleted"))
        return ""

    return _STRUCK.sub(cut, text)


def _parse_blocks(text: str) -> list[Token]:
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])  # inline markup costs most of the time
    return parser.parse(text)


def _find_headings(text: str, skip_chars: int) -> list[tuple[int, int, str]]:
    """Line, level and text of each heading outside quotes and lists."""
    front_matter = "\n" * len(_LINE.findall(text[:skip_chars])[:-1]) if skip_chars else ""
    tokens = _parse_blocks(front_matter + text[skip_chars:])
    return [
        (token.map[0], int(token.tag[1]), _MARKUP.sub(r"\1\2", _cut_struck(inline.content, [])))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _read_cell(cell: dict[str, Any]) -> Iterator[str]:
    source = _join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    yield f"```\n{source}\n```"
    for output in cell.get("outputs", []):
        printed = output.get("text") or output.get("data", {}).get("text/plain", "")
        if output.get("output_type") == "error":
            error = f"{output.get('ename', '')}: {output.get('evalue', '')}"
            printed = "\n".join(output.get("traceback", ()))
            printed = printed if output.get("ename", "") in printed else f"{printed}\n{error}"
        if shown := _join(printed).strip():
            yield f"```\n{shown}\n```"


def _join(lines: str | list[str]) -> str:
    """Notebooks store a text as one string or as its lines."""
    return lines if isinstance(lines, str) else "".join(lines)

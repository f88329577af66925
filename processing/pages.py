r"""Write and read ``parsed.md``: the pages of a document as Markdown, without loss.

    # Page 1: its label
                                   a blank line
    the unchanged text of the page
                                   a blank line, and the next page

A page begins with a line ``# Page N``, N counted from 1, followed by a colon and its label if it
has one. A line of the text that begins like that, with or without backslashes before it, is escaped
by a backslash; reading removes one backslash. Lines end with ``\n``; every other character is
unchanged.
"""

import re
from collections.abc import Sequence

from core.exceptions import InvalidInput
from core.text import clean_name, clean_text
from documents.parsing import ParsedPage

PARSED_FILE_NAME = "parsed.md"

_HEADING = re.compile(r"^# Page (?P<number>[0-9]{1,9})(?::(?P<label>[^\n]*))?[ \t\r]*$", re.M)
_TO_ESCAPE = re.compile(r"^(?=\\*# Page [0-9])", re.M)
_ESCAPED = re.compile(r"^\\(?=\\*# Page [0-9])", re.M)


def format_pages(pages: Sequence[ParsedPage]) -> str:
    parts = []
    for number, page in enumerate(pages, start=1):
        label = f": {page.label}" if page.label else ""
        text = _TO_ESCAPE.sub(r"\\", page.text)
        parts.append(f"# Page {number}{label}\n\n{text}\n")
    return "\n".join(parts)


def read_pages(text: str) -> list[ParsedPage]:
    """Parse the pages that ``format_pages`` wrote and people may have edited. Raises
    ``InvalidInput``: the text does not begin with a page, or pages are not numbered in order."""
    if text.count("\n") == text.count("\r\n"):  # an editor converted all line ends
        text = text.replace("\r\n", "\n")
    headings = list(_HEADING.finditer(text))
    before = text[: headings[0].start()] if headings else text
    if before.strip():
        line = before[: len(before) - len(before.lstrip())].count("\n") + 1
        raise InvalidInput(
            f"{PARSED_FILE_NAME}, line {line}: the text comes before the first page heading.",
            fix="Begin with a line '# Page 1', or delete the file to have it made again.",
        )
    pages = []
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for number, (heading, end) in enumerate(zip(headings, ends, strict=False), start=1):
        if int(heading["number"]) != number:
            line = text.count("\n", 0, heading.start()) + 1
            raise InvalidInput(
                f"{PARSED_FILE_NAME}, line {line}: the heading says page {heading['number']} "
                f"instead of page {number}.",
                fix="Number the pages from 1; an empty one keeps its heading, and a line of the "
                "text that begins like one has a backslash in front.",
            )
        is_last = end == len(text)
        body = _strip_blank_lines(text[heading.end() : end], "\n" if is_last else "\n\n")
        label = clean_name(" ".join((heading["label"] or "").split()))
        pages.append(ParsedPage(clean_text(_ESCAPED.sub("", body)), label))
    return pages


def _strip_blank_lines(body: str, end: str) -> str:
    """Remove the blank lines that ``format_pages`` adds, or what an editor left of them."""
    for start in ("\n\n", "\n"):
        if body.startswith(start):
            body = body[len(start) :]
            break
    return body[: -len(end)] if body.endswith(end) else body.removesuffix("\n")

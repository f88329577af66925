"""Find the running headers and footers of a document: lines that open or close several pages."""

from collections import Counter
from collections.abc import Sequence

MIN_PAGES = 3
MAX_LINES = 3  # of a header, and of a footer


def find_bodies(page_texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where the text of each page begins and ends without running headers and footers. The first
    page that has such a line keeps it, so that searches find it once; so does a page that has
    nothing else. Headings and rows of tables are no such lines."""
    bodies = [(0, len(text)) for text in page_texts]
    for is_footer in (False, True):
        for _ in range(MAX_LINES):
            lines = [
                _cut_line(text, body, is_footer)
                for text, body in zip(page_texts, bodies, strict=True)
            ]
            counts = Counter(line for line, _ in lines)
            known: set[str] = set()
            for index, (line, rest) in enumerate(lines):
                if counts[line] < MIN_PAGES or not line or line.startswith(("|", "#")):
                    continue
                if line in known and page_texts[index][slice(*rest)].strip():
                    bodies[index] = rest
                known.add(line)
    return bodies


def _cut_line(text: str, body: tuple[int, int], is_footer: bool) -> tuple[str, tuple[int, int]]:
    """The first or last line of this part of a text, and the part without it."""
    start, end = body
    stripped = text[start:end].rstrip() if is_footer else text[start:end].lstrip()
    if is_footer:
        rest, _, line = stripped.rpartition("\n")
        return line.strip(), (start, start + len(rest))
    line, _, rest = stripped.partition("\n")
    return line.strip(), (end - len(rest), end)

"""Find the running headers and footers of a document: lines that open or close several pages."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

MIN_PAGES = 3
MIN_NUMBERED_PAGES = (
    5  # of lines with a page number: "Step 1", "Step 2", … may be texts of their own
)
MAX_NUMBERED_CHARS = 200
MAX_LINES = 3  # of a header, and of a footer

# A line and None; or one without its page number, and that number minus the page's index.
Name = tuple[str, int | None]


def find_bodies(page_texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where the text of each page begins and ends without running headers and footers. The first
    page that has such a line keeps it, so that searches find it once; so does a page that has
    nothing else. Headings and rows of tables are no such lines."""
    bodies = [(0, len(text)) for text in page_texts]
    offsets: dict[int, int] = {}  # index of a page -> its number minus the index
    for is_footer in (True, False):
        for _ in range(MAX_LINES):
            cuts = [
                _cut_line(text, body, is_footer)
                for text, body in zip(page_texts, bodies, strict=True)
            ]
            found = find_running_lines([(index, line) for index, (line, _) in enumerate(cuts)])
            known: set[Name] = set()
            for index, ((line, rest), names) in enumerate(zip(cuts, found, strict=True)):
                if not line or line.startswith(("|", "#")):
                    continue
                # Another number of the page, such as that of its chapter, is no page number.
                if found_offsets := {offset for _, offset in names if offset is not None}:
                    offsets.setdefault(index, min(found_offsets))
                names = {name for name in names if name[1] in {None, offsets.get(index)}}
                if names & known and page_texts[index][slice(*rest)].strip():
                    bodies[index] = rest
                known |= names
    return bodies


def find_running_lines(lines: Sequence[tuple[int, str]]) -> list[set[Name]]:
    """What each of these lines has in common with lines of other pages: its text, or its text
    around the page number; an empty set if it is no running line. Each comes with the index of its
    page, and is there once."""
    names = [set(_name_line(index, line)) for index, line in lines]
    counts = Counter(name for each in names for name in each)
    running = {
        name
        for name, count in counts.items()
        if count >= (MIN_PAGES if name[1] is None else MIN_NUMBERED_PAGES)
    }
    return [each & running for each in names]


def _name_line(index: int, line: str) -> Iterator[Name]:
    yield line, None
    if len(line) <= MAX_NUMBERED_CHARS:
        for number in re.finditer(r"\d+", line):
            around = f"{line[: number.start()]}#{line[number.end() :]}"
            yield around, int(number[0]) - index


def _cut_line(text: str, body: tuple[int, int], is_footer: bool) -> tuple[str, tuple[int, int]]:
    """The first or last line of this part of a text, and the part without it."""
    start, end = body
    stripped = text[start:end].rstrip() if is_footer else text[start:end].lstrip()
    if is_footer:
        rest, _, line = stripped.rpartition("\n")
        return line.strip(), (start, start + len(rest))
    line, _, rest = stripped.partition("\n")
    return line.strip(), (end - len(rest), end)

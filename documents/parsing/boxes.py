"""The boxes of letters on a page, and of the parts of lines that they make up."""

from bisect import bisect
from collections.abc import Iterable
from math import hypot
from operator import attrgetter
from typing import NamedTuple

ALONG_LINE = 0.15  # of a distance along a line counts
MAX_GAP = 5  # between letters of a line, in its heights
PADDING = 0.25  # of a line's height


class Box(NamedTuple):
    """A part of a line, or a letter where lines are not horizontal, in shares of the page's width
    and height from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def continues(self, line: "Box") -> bool:
        shared = min(self.bottom, line.bottom) - max(self.top, line.top)
        gap = max(self.left - line.right, line.left - self.right)  # in both directions of writing
        return (
            2 * shared > min(self.height, line.height)
            and -line.height < gap < MAX_GAP * line.height
        )

    def reaches(self, line: "Box") -> bool:
        """Whether a part of it stands in the middle half of a line, where no letter of the lines
        above and below does."""
        margin = line.height / 4
        return (
            self.left < line.right
            and self.right > line.left
            and self.top < line.bottom - margin
            and self.bottom > line.top + margin
        )

    def distance_to(self, other: "Box") -> float:
        """In heights of a letter; what is on the same line is near."""
        across = max(0, other.left - self.right, self.left - other.right)
        down = max(0, other.top - self.bottom, self.top - other.bottom)
        return hypot(ALONG_LINE * across, down) / (max(self.height, other.height) or 1)

    def pad(self) -> "Box":
        """With room for what rises above and hangs below the letters seen."""
        room = PADDING * self.height
        return self._replace(top=max(0, self.top - room), bottom=min(1, self.bottom + room))

    def join(self, other: "Box") -> "Box":
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


def join_lines(glyphs: Iterable[tuple[int, Box]], others: Iterable[Box]) -> list[Box]:
    """A box for each run of letters that follow each other on a line, which holds none of the
    ``others``; no box at all where one of the letters cannot be told from them."""
    others = sorted(others, key=attrgetter("top"))
    tops = [other.top for other in others]
    tallest = max((other.height for other in others), default=0)

    def is_clear(box: Box) -> bool:
        near = others[bisect(tops, box.top - tallest) : bisect(tops, box.bottom)]
        return not any(other.reaches(box) for other in near)

    lines: list[Box] = []
    last = -1
    for index, box in glyphs:
        if lines and index <= last + 1 and box.continues(lines[-1]):
            at = len(lines) - 1
        else:  # a superscript may follow its line in the file
            at = next((n for n, line in enumerate(lines) if box.reaches(line)), len(lines))
        if at < len(lines) and is_clear(line := lines[at].join(box)):
            lines[at] = line
        elif is_clear(box):
            lines.append(box)
        else:
            return []
        last = index
    return [line.pad() for line in lines]

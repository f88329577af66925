"""Split a page into sources: passages of about 500 to 1500 words."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

MIN_WORDS = 500
MAX_WORDS = 1_500
MAX_CHARS = 12_000
MAX_JOINED_CHARS = 150  # of the lines of a heading

# Words are counted in quarters. Chinese and Japanese words are about 2 characters long, those of
# the unspaced scripts of South-East Asia about 4.
_QUARTERS = 4
_QUARTERS_PER_CHAR = {"ideographs": 2, "syllables": 1}
_IDEOGRAPHS = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYLLABLES = r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df"
_WORD = re.compile(
    rf"(?P<ideographs>[{_IDEOGRAPHS}]+)|(?P<syllables>[{_SYLLABLES}]+)"
    rf"|[^\s{_IDEOGRAPHS}{_SYLLABLES}]+"
)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\n\s*")
_SPACE = re.compile(r"\s+")
_SENTENCE = re.compile(
    r"[.!?…][\"'”’»)\]]*\s+(?![\sa-z])"
    r"|[。！？｡؟۔।॥][\"'”’」』）》]*\s*"
)
_HEADING_OR_FENCE = re.compile(
    r"^ {0,3}(?:(?P<marks>#{1,6})[ \t]+(?P<title>\S[^\n]*)$|(?P<fence>`{3,}|~{3,}))", re.M
)


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """``page_text[start:end]`` is the passage; ``heading`` the nearest one above it, or empty."""

    start: int
    end: int
    heading: str = ""


def split_into_sources(page_text: str, *, start: int = 0, overlap: int = 0) -> list[SourceSpan]:
    """The page's passages from ``start`` in order; they leave out only white space between them.
    Each but the first repeats up to ``overlap`` words of the one before it, whole sentences if
    possible.

    A page within both limits is one source. A longer one is cut before a heading, else between
    paragraphs, sentences, lines or words, with at least 500 words on both sides if possible; a
    token that is too long is cut between characters.
    """
    page = _PageSplitter(page_text)
    spans: list[SourceSpan] = []
    start = _skip_space(page_text, start)
    while start < len(page_text):
        cut = page.find_split(start)
        end = start + len(page_text[start:cut].rstrip())
        heading = page.places.heading_at(start)
        if overlap and spans:
            start = page.find_overlap_start(start, spans[-1].start, overlap)
        spans.append(SourceSpan(start, end, heading))
        start = _skip_space(page_text, cut)
    return spans


def count_words(text: str) -> int:
    """Count words by spaces, or by characters in scripts without spaces."""
    return -(-_WordCounts(text).total // _QUARTERS)


class _PageSplitter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.words = _WordCounts(text)
        self.places = _SplitPoints(text)

    def find_overlap_start(self, start: int, previous_start: int, overlap: int) -> int:
        """Where a passage begins that repeats at most ``overlap`` words before ``start``: at the
        first sentence among them, else at the first word."""
        most = overlap * _QUARTERS
        first = self.words.position_at(max(0, self.words.count_before(start) - most))
        first = max(first, previous_start + 1)
        *between_sentences, between_words = self.places.by_rank
        for ranks in (between_sentences, [between_words]):
            for place in sorted(
                place
                for ranked in ranks
                for place in ranked[bisect_left(ranked, first) : bisect_left(ranked, start)]
            ):
                # A token that is cut at ``start`` counts in what is repeated, but not before it.
                if count_words(self.text[place:start]) <= overlap:
                    return place
        return start

    def find_split(self, start: int) -> int:
        done = self.words.count_before(start)
        remaining = self.words.total - done
        most = MAX_WORDS * _QUARTERS
        if remaining <= most and len(self.text) - start <= MAX_CHARS:
            return len(self.text)
        if remaining > most:
            most = min(most, remaining - MIN_WORDS * _QUARTERS)
        last = min(self.words.position_at(done + most), start + MAX_CHARS, len(self.text))
        first = self.words.position_at(done + MIN_WORDS * _QUARTERS)
        for lowest in (first, start + 1):
            for ranked in self.places.by_rank:
                at = bisect_right(ranked, last) - 1
                if at >= 0 and ranked[at] >= lowest and ranked[at] > start:
                    return ranked[at]
        return _split_between_characters(self.text, start, last)


def _split_between_characters(text: str, start: int, cut: int) -> int:
    """The last place up to ``cut`` that does not separate a character from its combining marks.

    If there is none, ``cut`` itself.
    """
    place = cut
    while place > start + 1 and _is_inside_character(text, place):
        place -= 1
    return cut if place <= start + 1 and _is_inside_character(text, place) else place


def _is_inside_character(text: str, place: int) -> bool:
    if place >= len(text):
        return False
    joined = text[place - 1] == "\u200d" or text[place] == "\u200d"
    return joined or unicodedata.category(text[place]).startswith("M")


def _skip_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


class _WordCounts:
    """Running counts of quarter words, by position."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._counts: list[int] = []  # before each run
        self._per_char: list[int] = []  # 0 for a run that is one word
        self.total = 0
        for match in _WORD.finditer(text):
            start, end = match.span()
            per_char = _QUARTERS_PER_CHAR.get(match.lastgroup or "", 0)
            self._starts.append(start)
            self._ends.append(end)
            self._counts.append(self.total)
            self._per_char.append(per_char)
            self.total += per_char * (end - start) if per_char else _QUARTERS

    def count_before(self, position: int) -> int:
        """Quarters before a position; a word that contains the position is not counted."""
        at = bisect_left(self._starts, position) - 1
        if at < 0:
            return 0
        if per_char := self._per_char[at]:
            return self._counts[at] + per_char * (min(position, self._ends[at]) - self._starts[at])
        return self._counts[at] + (_QUARTERS if position >= self._ends[at] else 0)

    def position_at(self, quarters: int) -> int:
        """The last position with at most ``quarters`` before it."""
        if quarters >= self.total:
            return self._ends[-1] if self._ends else 0
        at = bisect_right(self._counts, quarters) - 1
        if per_char := self._per_char[at]:
            return self._starts[at] + (quarters - self._counts[at]) // per_char
        return self._starts[at]


class _SplitPoints:
    """The places where a page may be cut, best kind first, and its headings."""

    def __init__(self, text: str) -> None:
        found = _find_headings(text)
        self._headings = found
        self._heading_starts = [match.start("marks") for match in found]
        # A heading stays with what follows it, text or another heading.
        opens = [_skip_space(text, match.end()) for match in found]
        opened = set(opens)
        # A passage that begins with several headings belongs to the last of them.
        self._innermost = list(range(len(found)))
        for at in range(len(found) - 2, -1, -1):
            if opens[at] == self._heading_starts[at + 1]:
                self._innermost[at] = self._innermost[at + 1]
        # Successive headings of one level are the lines of one heading.
        self._first_lines = list(range(len(found)))
        for at in range(1, len(found)):
            is_next = opens[at - 1] == self._heading_starts[at]
            if is_next and found[at]["marks"] == found[at - 1]["marks"]:
                self._first_lines[at] = self._first_lines[at - 1]
        self.by_rank = [
            [start for start in self._heading_starts if start not in opened],
            *(
                [match.end() for match in pattern.finditer(text) if match.end() not in opened]
                for pattern in (_PARAGRAPH, _SENTENCE, _LINE)
            ),
            [match.end() for match in _SPACE.finditer(text)],
        ]

    def heading_at(self, position: int) -> str:
        at = bisect_right(self._heading_starts, position) - 1
        if at < 0:
            return ""
        first = at
        if self._heading_starts[at] == position:
            at = self._innermost[at]
        heading = ""
        for line in range(max(first, self._first_lines[at]), at + 1):
            title = self._headings[line].group("title").strip()
            joined = f"{heading} {_strip_closing_hashes(title)}".lstrip()
            if heading and len(joined) > MAX_JOINED_CHARS:
                break
            heading = joined
        return heading


def _strip_closing_hashes(title: str) -> str:
    """``Storms ##`` becomes ``Storms``, but ``C#`` stays."""
    stripped = title.rstrip("#")
    return stripped.rstrip() if stripped.endswith((" ", "\t")) else title


def _find_headings(text: str) -> list[re.Match[str]]:
    """Heading lines outside fenced code; an unclosed fence runs to the end."""
    headings = []
    fence = ""
    for line in _HEADING_OR_FENCE.finditer(text):
        if line["marks"]:
            if not fence:
                headings.append(line)
        elif not fence:
            fence = line["fence"]
        elif line["fence"].startswith(fence):
            fence = ""
    return headings

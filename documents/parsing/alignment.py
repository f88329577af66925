"""Align the letters of a text with those of its page, which may have them in another order.

First stretches that occur once in each (the maximal unique matches of Delcher et al. 1999, with a
fixed shortest length), then their neighbours. A word that repeats is placed where its neighbours
are nearest by far, or if all its repetitions are part of the passage, since a mark need not tell
them apart. Last, equal stretches of the page are exchanged while that shortens the way of the
passage from letter to letter.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise
from math import inf, log1p

from documents.parsing.boxes import Box

STRETCHES = (10, 6, 4)  # letters; shorter ones are told apart once the longer ones are placed
REPEATED_STRETCHES = (*STRETCHES, 3, 2, 1)
MIN_SURE_STRETCH = 3  # shorter repetitions count only between letters that are already placed
MAX_EFFORT = 20  # times the page's letters: parts of the page may be searched for several gaps
MAX_WORD = 20  # letters; longer words hardly repeat
MAX_ROUNDS = 4  # each places words near those of the one before
MIN_LEAD = 3  # times as far as the nearest place, and some lines, is the next one at least
MAX_EXCHANGES = 16  # in a passage; one that needs more is in too much disorder
SEARCHED = 100  # letters, to search which takes no longer than to measure an exchange
MIN_GAIN = 0.5  # by which one of two places is nearer at least
JUMP = 1  # added to the way between letters that do not follow each other in the file


class Alignment:
    """The ``places`` of a text's letters among those of its page, whose ``boxes`` are given: for
    each letter of the text its index on the page, None where it is not certain."""

    def __init__(self, text: str, page: str, boxes: Sequence[Box]) -> None:
        self.places: list[int | None] = [None] * len(text)
        self._text, self._page, self._boxes = text, page, boxes
        self._partners: list[int | None] = [None] * len(page)  # letters of the text
        self._align(0, len(text), 0, len(page))
        around = [-1, *self.places, len(page)]
        room = MAX_EFFORT * len(page)
        for start, end in list(self._list_unplaced()):
            before, after = around[start], around[end + 1]
            if before is not None and after is not None and before < after < before + room:
                room -= after - before
                self._align(start, end, before + 1, after)

    def place_words(self, words: Sequence[tuple[int, int]]) -> None:
        """Place words as a whole: beside a placed letter or, where they repeat, at the place that
        is nearest by far to their neighbours. ``words``: where each begins and ends in the text."""
        for start, end in words:
            places = self.places[start:end]
            first = places[0] or 0
            if places != list(range(first, first + len(places))):  # of parts of words
                self.places[start:end] = [None] * len(places)
                for place in places:
                    if place is not None:
                        self._partners[place] = None
        self._extend_words(words)
        for _ in range(MAX_ROUNDS):
            near = sorted(self._find_near(words))
            for _, at, index, length in near:
                self._place(at, index, length)
            if not near:
                break
            self._extend_words(words)
        self._extend(0, len(self._text), 0, len(self._page))

    def place_repeated(self, start: int, end: int) -> None:
        """Place what repeats as often in this part of the text as on the page, and nowhere else in
        the text: which is which makes no difference to the part as a whole."""
        for length in REPEATED_STRETCHES:
            placed = [place for place in self.places[start:end] if place is not None]
            first, last = (
                (0, len(self._page))
                if length >= MIN_SURE_STRETCH
                else (min(placed, default=0), max(placed, default=0))
            )
            on_page = _find_stretches(self._page, self._partners, length)
            for stretch, found in _find_stretches(self._text, self.places, length).items():
                indexes = on_page[stretch]
                if (
                    len(found) == len(indexes)
                    and start <= found[0]
                    and found[-1] + length <= end
                    and first <= indexes[0]
                    and indexes[-1] <= last
                ):
                    for at, index in zip(found, indexes, strict=True):
                        self._place(at, index, length)
            self._extend(start, end, 0, len(self._page))

    def place_nearer(self, start: int, end: int) -> bool:
        """Exchange a stretch of the page that this part of the text has for an equal one, with what
        the text has there, while that shortens the way from letter to letter. False if the part is
        not certain: there is too much to exchange, or another place would be about as near."""
        self._room = MAX_EFFORT * len(self._page)  # for what is searched and measured
        for _ in range(MAX_EXCHANGES):
            gains = {
                exchange: gain
                for exchange in self._list_exchanges(start, end)
                if (gain := self._measure_gain(*exchange)) > -MIN_GAIN
            }
            if self._room < 0:
                return False
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None or gains[best] < MIN_GAIN:
                part = set(self.places[start:end])  # in which exchanges make no difference
                return all(part.issuperset(_list_places(*exchange)) for exchange in gains)
            self.exchange(*best)
        return False

    def exchange(self, place: int, copy: int, length: int) -> None:
        """Exchange what the text has at two stretches of the page."""
        here, there = slice(place, place + length), slice(copy, copy + length)
        self._partners[here], self._partners[there] = self._partners[there], self._partners[here]
        for index in _list_places(place, copy, length):
            at = self._partners[index]
            if at is not None:
                self.places[at] = index

    def _list_exchanges(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Where two equal stretches of the page begin, and how many letters they have: whole lines
        of the part or runs of lines."""
        runs = chain(self._list_runs(is_on_line=True), self._list_runs(is_on_line=False))
        for at, place, length in runs:
            if start - length < at < end:
                run = re.escape(self._page[place : place + length])
                copies = [match.start() for match in re.finditer(run, self._page)]
                self._room -= len(copies) * length + len(self._page) // SEARCHED
                if self._room < 0:
                    return
                yield from ((place, copy, length) for copy in copies if abs(copy - place) >= length)

    def _list_runs(self, *, is_on_line: bool) -> Iterator[tuple[int, int, int]]:
        """Where letters that follow each other in the file, and perhaps on a line, begin in the
        text and on the page, and how many they are."""
        start = 0
        for at, (last, place) in enumerate(pairwise([*self.places, None]), start=1):
            if (
                last is None
                or place is None
                or place != last + 1
                or (is_on_line and not self._boxes[place].continues(self._boxes[last]))
            ):
                first = self.places[start]
                if first is not None:
                    yield start, first, at - start
                start = at

    def _measure_gain(self, place: int, copy: int, length: int) -> float:
        """By how much the exchange shortens the way."""
        partners = [self._partners[index] for index in _list_places(place, copy, length)]
        letters = {at for at in partners if at is not None}
        before = self._measure_way(letters)
        self.exchange(place, copy, length)
        gain = before - self._measure_way(letters)
        self.exchange(place, copy, length)
        return gain

    def _measure_way(self, letters: set[int]) -> float:
        """From these letters of the text to those beside them."""
        way = 0.0
        for at in letters | {at + 1 for at in letters}:
            if 0 < at < len(self.places):
                one, other = self.places[at - 1], self.places[at]
                if one is not None and other is not None:
                    way += log1p(self._boxes[one].distance_to(self._boxes[other]))
                    way += JUMP * (other != one + 1)
        return way

    def _align(self, start: int, end: int, page_start: int, page_end: int) -> None:
        """Place what occurs once in this part of the text and once in this part of the page."""
        for length in STRETCHES:
            on_page = _find_stretches(self._page, self._partners, length, page_start, page_end)
            in_text = _find_stretches(self._text, self.places, length, start, end)
            for stretch, found in in_text.items():
                if len(found) == len(on_page[stretch]) == 1:
                    self._place(found[0], on_page[stretch][0], length)
            self._extend(start, end, page_start, page_end)

    def _extend(self, start: int, end: int, page_start: int, page_end: int) -> None:
        """Place the letters that stand beside a placed one in the text and on the page."""
        for step, order in ((1, range(start + 1, end)), (-1, range(end - 2, start - 1, -1))):
            for at in order:
                neighbour = self.places[at - step]
                index = -1 if neighbour is None else neighbour + step
                if page_start <= index < page_end and self._text[at] == self._page[index]:
                    self._place(at, index, 1)

    def _extend_words(self, words: Sequence[tuple[int, int]]) -> None:
        """Place the words that stand as a whole beside a placed letter in both."""
        for step, order in ((1, words), (-1, words[::-1])):
            for start, end in order:
                at, length = (start - 1 if step == 1 else end), end - start
                neighbour = self.places[at] if 0 <= at < len(self.places) else None
                if neighbour is not None:
                    index = neighbour + 1 if step == 1 else neighbour - length
                    if index >= 0 and self._page[index : index + length] == self._text[start:end]:
                        self._place(start, index, length)

    def _find_near(self, words: Sequence[tuple[int, int]]) -> Iterator[tuple[float, int, int, int]]:
        """Words that have one place near their neighbours, which is not near those of an equal
        word: each with its distance, its indexes in the text and on the page, and its length."""
        unplaced: defaultdict[str, list[int]] = defaultdict(list)
        for start, end in words:
            if end - start <= MAX_WORD and self.places[start:end] == [None] * (end - start):
                unplaced[self._text[start:end]].append(start)
        lengths = {len(word) for word in unplaced}
        stretches = {n: _find_stretches(self._page, self._partners, n) for n in lengths}
        pairs = [(found, stretches[len(word)][word], len(word)) for word, found in unplaced.items()]
        room = MAX_EFFORT * len(self._page)
        for found, indexes, length in sorted(pairs, key=lambda pair: len(pair[0]) * len(pair[1])):
            room -= len(found) * (len(found) + len(indexes))
            if not indexes or room < 0:
                continue
            distances = {
                (at, index): self._measure(at, index, length) for at in found for index in indexes
            }
            for at in found:
                distance, nearest = min((distances[at, index], index) for index in indexes)
                others = [distances[at, index] for index in indexes if index != nearest]
                others += [distances[other, nearest] for other in found if other != at]
                if distance < inf and min(others, default=inf) >= MIN_LEAD * (distance + 1):
                    yield distance, at, nearest, length

    def _measure(self, at: int, index: int, length: int) -> float:
        """How far a word at this place would be from the nearer of its neighbours in the text."""
        ends = [(at - 1, index), (at + length, index + length - 1)]
        sides = [(self.places[n], end) for n, end in ends if 0 <= n < len(self.places)]
        return min(
            (self._boxes[n].distance_to(self._boxes[end]) for n, end in sides if n is not None),
            default=inf,
        )

    def _place(self, at: int, index: int, length: int) -> None:
        """Place a stretch, unless a part of it is placed already."""
        text, page = slice(at, at + length), slice(index, index + length)
        if self.places[text] == self._partners[page] == [None] * length:
            self.places[text] = range(index, index + length)
            self._partners[page] = range(at, at + length)

    def _list_unplaced(self) -> Iterator[tuple[int, int]]:
        """Where each run of letters without a place begins and ends."""
        end = 0
        for is_placed, run in groupby(self.places, lambda place: place is not None):
            start, end = end, end + len(list(run))
            if not is_placed:
                yield start, end


def _list_places(place: int, copy: int, length: int) -> Iterator[int]:
    return chain(range(place, place + length), range(copy, copy + length))


def _find_stretches(
    letters: str,
    partners: Sequence[int | None],
    length: int,
    start: int = 0,
    end: int | None = None,
) -> defaultdict[str, list[int]]:
    """The stretches of letters without a partner, each with every index where it begins."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    first = start  # of the letters without a partner up to here
    for index, partner in enumerate(partners[start:end], start=start + 1):
        if partner is not None:
            first = index
        elif index - first >= length:
            found[letters[index - length : index]].append(index - length)
    return found

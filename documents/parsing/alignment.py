"""Align the letters of a text with those of its page, which may have them in another order.

First stretches that occur once in each (the maximal unique matches of Delcher et al. 1999, with a
fixed shortest length), then their neighbours. A word that repeats is placed where its neighbours
are nearest by far, or if all its repetitions are part of the passage, since a mark need not tell
them apart.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise, starmap
from math import inf
from operator import itemgetter

from documents.parsing.boxes import Box

STRETCHES = (10, 6, 4)  # letters; shorter ones are told apart once the longer ones are placed
REPEATED_STRETCHES = (*STRETCHES, 3, 2, 1)
MIN_SURE_STRETCH = 3  # shorter repetitions count only between letters that are already placed
MAX_GAPS_SIZE = 20  # of the page's letters: parts of the page may be searched for several gaps
MAX_WORD = 20  # letters; longer words hardly repeat
MAX_ROUNDS = 4  # each places words near those of the one before
MAX_MOVES = 16  # of a passage's runs; more are in too much disorder
MIN_LEAD = 3  # times as far as the nearest place, and some lines, is the next one at least
MIN_GAIN = 0.5  # heights of a letter, by which another place is nearer at least


class Alignment:
    """The ``places`` of a text's letters among those of its page: for each letter of the text its
    index on the page, None where it is not certain."""

    def __init__(self, text: Sequence[str], page: Sequence[str]) -> None:
        self.places: list[int | None] = [None] * len(text)
        self._on_page = "".join(page)
        self._letters, self._text, self._page = text, list(text), list(page)  # placed ones are ""
        self._align(0, len(text), 0, len(page))
        around = [-1, *self.places, len(page)]
        room = MAX_GAPS_SIZE * len(page)
        for start, end in list(self._list_unplaced()):
            before, after = around[start], around[end + 1]
            if before is not None and after is not None and before < after < before + room:
                room -= after - before
                self._align(start, end, before + 1, after)

    def place_words(self, words: Sequence[tuple[int, int]], boxes: Sequence[Box]) -> None:
        """Place words as a whole: beside a placed letter or, where they repeat, at the place that
        is nearest by far to their neighbours. ``words``: where each begins and ends in the text;
        ``boxes``: of the page's letters."""
        for start, end in words:
            places = self.places[start:end]
            first = places[0] or 0
            if places != list(range(first, first + len(places))):  # of parts of words
                for at, place in enumerate(places, start=start):
                    if place is not None:
                        self._text[at] = self._page[place] = self._letters[at]
                        self.places[at] = None
        self._extend_words(words)
        for _ in range(MAX_ROUNDS):
            near = sorted(self._find_near(words, boxes))
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
            on_page = _find_stretches(self._page, length)
            for stretch, found in _find_stretches(self._text, length).items():
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

    def place_nearer(self, start: int, end: int, boxes: Sequence[Box]) -> bool:
        """Move runs of this part of the text to equal letters of the page that are nearer to their
        neighbours: by far, if a run follows a neighbour in the file. False if there are too many
        to be certain."""
        room = MAX_GAPS_SIZE * len(self._on_page)
        for _ in range(MAX_MOVES):
            letters = {place: at for at, place in enumerate(self.places) if place is not None}
            for at, length in self._list_runs(boxes):
                place = self.places[at]
                if place is None or not start - length < at < end:
                    continue
                measure = partial(self._measure, boxes, length)
                if measure(at, place) < MIN_GAIN:
                    continue
                run = re.escape(self._on_page[place : place + length])
                copies = [match.start() for match in re.finditer(f"(?={run})", self._on_page)]
                room -= len(copies) + len(self._on_page) // MAX_GAPS_SIZE
                if room < 0:
                    return False
                before, after = letters.get(place - 1), letters.get(place + length)
                lead = MIN_LEAD if before == at - 1 or after == at + length else 1
                moves: list[tuple[float, dict[int, int]]] = []
                for copy in copies:
                    there = [letters.get(index) for index in range(copy, copy + length)]
                    first = there[0]
                    now, then = {at: place}, {at: copy}
                    if first is not None:
                        now[first], then[first] = copy, place
                    whole = [None if first is None else first + n for n in range(length)]
                    is_in_passage = first is not None and start <= first <= end - length
                    if there == whole and not is_in_passage and abs(copy - place) >= length:
                        distance = sum(starmap(measure, now.items()))
                        self._put(then, length)
                        moved = sum(starmap(measure, then.items()))
                        self._put(now, length)
                        if inf > distance >= lead * moved + MIN_GAIN:
                            moves.append((moved, then))
                if moves:
                    self._put(min(moves, key=itemgetter(0))[1], length)
                    break
            else:
                return True
        return False

    def _put(self, runs: dict[int, int], length: int) -> None:
        for at, index in runs.items():
            self.places[at : at + length] = range(index, index + length)

    def _list_runs(self, boxes: Sequence[Box]) -> Iterator[tuple[int, int]]:
        """Where the letters begin that follow each other in the file and on a line, and how many
        they are."""
        start = 0
        for at, (last, place) in enumerate(pairwise([*self.places, None]), start=1):
            if last is None or place != last + 1 or not boxes[place].continues(boxes[last]):
                yield start, at - start
                start = at

    def _align(self, start: int, end: int, page_start: int, page_end: int) -> None:
        """Place what occurs once in this part of the text and once in this part of the page."""
        for length in STRETCHES:
            on_page = _find_stretches(self._page[page_start:page_end], length)
            for stretch, found in _find_stretches(self._text[start:end], length).items():
                if len(found) == len(on_page[stretch]) == 1:
                    self._place(start + found[0], page_start + on_page[stretch][0], length)
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

    def _find_near(
        self, words: Sequence[tuple[int, int]], boxes: Sequence[Box]
    ) -> Iterator[tuple[float, int, int, int]]:
        """Words that have one place near their neighbours, which is not near those of an equal
        word: each with its distance, its indexes in the text and on the page, and its length."""
        unplaced: defaultdict[str, list[int]] = defaultdict(list)
        for start, end in words:
            if end - start <= MAX_WORD and all(self._text[start:end]):
                unplaced["".join(self._text[start:end])].append(start)
        stretches = {n: _find_stretches(self._page, n) for n in {len(word) for word in unplaced}}
        pairs = [(found, stretches[len(word)][word], len(word)) for word, found in unplaced.items()]
        room = MAX_GAPS_SIZE * len(self._page)
        for found, indexes, length in sorted(pairs, key=lambda pair: len(pair[0]) * len(pair[1])):
            room -= len(found) * (len(found) + len(indexes))
            if not indexes or room < 0:
                continue
            measure = partial(self._measure, boxes, length)
            distances = {(at, index): measure(at, index) for at in found for index in indexes}
            for at in found:
                distance, nearest = min((distances[at, index], index) for index in indexes)
                others = [distances[at, index] for index in indexes if index != nearest]
                others += [distances[other, nearest] for other in found if other != at]
                if distance < inf and min(others, default=inf) >= MIN_LEAD * (distance + 1):
                    yield distance, at, nearest, length

    def _measure(self, boxes: Sequence[Box], length: int, at: int, index: int) -> float:
        """How far a word at this place would be from the nearer of its neighbours in the text."""
        ends = [(at - 1, index), (at + length, index + length - 1)]
        sides = [(self.places[n], end) for n, end in ends if 0 <= n < len(self.places)]
        return min(
            (boxes[n].distance_to(boxes[end]) for n, end in sides if n is not None), default=inf
        )

    def _place(self, at: int, index: int, length: int) -> None:
        """Place a stretch, unless a part of it is placed already."""
        if all(self._text[at : at + length]) and all(self._page[index : index + length]):
            self.places[at : at + length] = range(index, index + length)
            self._text[at : at + length] = self._page[index : index + length] = [""] * length

    def _list_unplaced(self) -> Iterator[tuple[int, int]]:
        """Where each run of letters without a place begins and ends."""
        end = 0
        for is_placed, run in groupby(self.places, lambda place: place is not None):
            start, end = end, end + len(list(run))
            if not is_placed:
                yield start, end


def _find_stretches(letters: Sequence[str], length: int) -> defaultdict[str, list[int]]:
    """The stretches without an empty letter, each with every index where it begins."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    run = 0  # letters up to here
    for end, letter in enumerate(letters, start=1):
        run = run + 1 if letter else 0
        if run >= length:
            found["".join(letters[end - length : end])].append(end - length)
    return found

"""Continues an interrupted answer."""

from typing import Final

# characters: a shorter text is too likely to occur by chance to count as a repetition
MIN_REPEATED_CHARS: Final = 20


class Continuation:
    """The text of an interrupted answer, continued piece by piece. If the model repeats the partial
    answer first, the repetition is removed."""

    def __init__(self, partial_answer: str) -> None:
        self.text = partial_answer
        self._possible_repetition = (
            partial_answer if len(partial_answer) >= MIN_REPEATED_CHARS else ""
        )
        self._held_back = ""

    def add(self, piece: str) -> str:
        """Append the new part of a piece and return it; it may be empty."""
        new = self._remove_repetition(piece)
        self.text += new
        return new

    def _remove_repetition(self, piece: str) -> str:
        if not self._possible_repetition:
            return piece
        self._held_back += piece
        if self._possible_repetition.startswith(self._held_back):
            return ""  # may still turn out to be a repetition
        new = self._held_back.removeprefix(self._possible_repetition)
        self._possible_repetition = ""
        return new

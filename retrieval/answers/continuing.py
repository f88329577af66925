"""Continues an interrupted answer."""

from typing import Final

MIN_REPEATED_CHARS: Final = (
    20  # characters of a beginning, before saying them again is a repetition
)


class Continuation:
    """The text of an answer that goes on after ``partial_answer``, piece by piece. A model that
    says again what was there already is heard from where it stops repeating."""

    def __init__(self, partial_answer: str) -> None:
        self.text = partial_answer
        self._repeatable = partial_answer if len(partial_answer) >= MIN_REPEATED_CHARS else ""
        self._held = ""

    def add(self, piece: str) -> str:
        """What of the piece is new; it may be empty."""
        new = self._without_repetition(piece)
        self.text += new
        return new

    def _without_repetition(self, piece: str) -> str:
        if not self._repeatable:
            return piece
        self._held += piece
        if self._repeatable.startswith(self._held):
            return ""  # so far
        new = self._held.removeprefix(self._repeatable)
        self._repeatable = ""
        return new

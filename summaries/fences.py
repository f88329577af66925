"""The lines between which a prompt puts a document's text, and their removal from responses.

A model that repeats such a line would leave it in summaries, questions and answers.
"""

import regex  # for partial matches, which re lacks

from core.text import hash_text

_FENCE = regex.compile(r"--- [0-9a-f]{24} ---")


def make_fence(text: str) -> str:
    """A line with the hash of the text, so that the text cannot contain it."""
    return f"--- {hash_text(text)[:24]} ---"


def remove_fences(text: str) -> str:
    return _FENCE.sub("", text)


class FenceFilter:
    """Removes fences from a text that comes in pieces; a piece may end within one."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The text that can be passed on, which may be empty."""
        text = remove_fences(self._held + piece)
        found = _FENCE.search(text, partial=True)
        end = len(text) if found is None else found.start()
        self._held = text[end:]
        return text[:end]

    def finish(self) -> str:
        """The rest, which was no fence."""
        rest, self._held = self._held, ""
        return rest

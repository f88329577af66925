"""Read and render prompt templates from ``templates/prompts/``.

A file holds the system prompt, a line ``=== user ===``, and the user prompt. A document's text is
untrusted data: it is put between two fence lines that cannot occur in it. A model that repeats such
a line would leave it in summaries, questions and answers, so it is removed from responses.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex  # for partial matches, which re lacks
from django.conf import settings
from django.template import Context, Engine, TemplateSyntaxError

from core.text import hash_text
from language_models.exceptions import InvalidPrompt

USER_PART_MARKER = "=== user ===\n"
_FENCE = regex.compile(r"--- [0-9a-f]{24} ---")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt. ``fingerprint``: SHA-256 of its template, before rendering."""

    system: str
    user: str
    fingerprint: str


def read_prompt_template(name: str) -> str:
    """Read a prompt template and check its syntax. Raises ``InvalidPrompt``: there is no such
    prompt, or it is not a valid template."""
    folder = Path(settings.STRATA_PROMPTS_DIR)
    try:
        text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidPrompt(
            f"There is no prompt {name!r} in {folder}.",
            allowed=[path.stem for path in folder.glob("*.txt")],
        ) from None
    if text.count(USER_PART_MARKER) != 1:
        raise InvalidPrompt(
            f"The prompt {name!r} must have exactly one line {USER_PART_MARKER.strip()!r}."
        )
    try:
        Engine(autoescape=False).from_string(text)
    except TemplateSyntaxError as error:
        raise InvalidPrompt(f"The prompt {name!r} is not a valid template: {error}") from None
    return text


def render_prompt(name: str, text: str, **values: Any) -> Prompt:
    """Render the prompt for one text. Raises ``InvalidPrompt``: as ``read_prompt_template``."""
    template = read_prompt_template(name)
    context = Context({**values, "text": text, "fence": make_fence(text)}, autoescape=False)
    system, user = (
        Engine(autoescape=False).from_string(part).render(context).strip()
        for part in template.split(USER_PART_MARKER)
    )
    return Prompt(system, user, hashlib.sha256(template.encode()).hexdigest())


def join_texts_within_limit(texts: Sequence[str], limit: int) -> str:
    """Join texts with blank lines, each truncated to its share of ``limit`` characters."""
    if sum(len(text) + 2 for text in texts) - 2 <= limit:
        return "\n\n".join(texts)
    while len(texts) > max(
        1, limit // 100
    ):  # too little room for a sentence of each: drop every second
        texts = texts[::2]
    room = limit - 2 * (len(texts) - 1)
    # Long texts get the characters that short texts do not use.
    share, lengths = room, sorted(len(text) for text in texts)
    for number, length in enumerate(lengths):
        share = (room - sum(lengths[:number])) // (len(lengths) - number)
        if length > share:
            break
    return "\n\n".join(text[:share] for text in texts)


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

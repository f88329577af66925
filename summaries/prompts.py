"""What language models are asked: templates in ``templates/prompts/``, each with a fingerprint.

A file holds what the model is told once, a line ``=== user ===``, and what is sent with each
text. The text itself is data: it goes in between two lines that cannot occur in it.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import Context, Engine, TemplateSyntaxError

from core.text import hash_text
from indexing.exceptions import InvalidSpec

PARTING = "=== user ===\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """``fingerprint``: SHA-256 of the template, whatever stands in its places."""

    system: str
    user: str
    fingerprint: str


def read_template(name: str) -> str:
    """
    Raises:
        InvalidSpec: there is no such prompt, or it cannot be read as one.
    """
    folder = Path(settings.STRATA_PROMPTS_DIR)
    try:
        text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidSpec(
            f"There is no prompt {name!r} in {folder}.",
            allowed=[path.stem for path in folder.glob("*.txt")],
        ) from None
    if text.count(PARTING) != 1:
        raise InvalidSpec(f"The prompt {name!r} needs one line {PARTING.strip()!r}.")
    try:
        Engine(autoescape=False).from_string(text)
    except TemplateSyntaxError as error:
        raise InvalidSpec(f"The prompt {name!r} is no template: {error}") from None
    return text


def render_prompt(name: str, text: str, **values: Any) -> Prompt:
    """The prompt about one text.

    Raises:
        InvalidSpec: as ``read_template``.
    """
    template = read_template(name)
    # Named after the text, so that a text cannot hold its own fence; and the same each time.
    fence = f"--- {hash_text(text)[:24]} ---"
    context = Context({**values, "text": text, "fence": fence}, autoescape=False)
    system, user = (
        Engine(autoescape=False).from_string(part).render(context).strip()
        for part in template.split(PARTING)
    )
    return Prompt(system, user, hashlib.sha256(template.encode()).hexdigest())

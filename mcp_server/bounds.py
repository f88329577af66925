"""Keeps answers within a number of tokens, and says how to ask for what follows.

Clients cut longer results, or end the conversation: Claude Code cuts at 25,000 tokens.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_TOKENS: Final = 10_000
CHARS_PER_TOKEN: Final = 3  # of English with ids and numbers; other scripts have about one
# Of an answer, what it holds several of.
LISTS: Final = (
    "hits", "artifacts", "results", "concepts", "sources", "relationship_types", "relationships",
    "neighbours", "paths", "data", "embeddings", "vectors", "documents", "fields",
)  # fmt: skip
LONGEST_TEXT: Final = 16_000  # characters of one text, where a single item is too long

Content = Mapping[str, Any]


def estimate_tokens(text: str) -> int:
    ascii_count = sum(each.isascii() for each in text)
    return ascii_count // CHARS_PER_TOKEN + len(text) - ascii_count


def count_fitting(text: str, tokens: int) -> int:
    """How many of the first characters fit."""
    if estimate_tokens(text) <= tokens:
        return len(text)
    return _find_most(len(text), lambda count: estimate_tokens(text[:count]) <= tokens)


def skip_items(content: Content, count: int) -> dict[str, Any]:
    """The answer from a position on, where REST cannot leave out what comes before."""
    return {
        key: value[count:] if key in LISTS and isinstance(value, list) else value
        for key, value in content.items()
    }


def render_within_bound(
    render: Callable[[Content], str], content: Content, offset: int | None
) -> str:
    """The answer as text, with fewer items if all are too many.

    Args:
        offset: how many items were left out before; None if the tool cannot leave any out.
    """
    text = render(content)
    if estimate_tokens(text) <= MAX_TOKENS:
        return text
    most = max(
        (len(content[key]) for key in LISTS if isinstance(content.get(key), list)), default=0
    )

    def cut(count: int) -> dict[str, Any]:
        return {
            key: value[:count] if key in LISTS and isinstance(value, list) else value
            for key, value in content.items()
        }

    room = MAX_TOKENS - 100  # for the note
    shown = max(1, _find_most(most, lambda count: estimate_tokens(render(cut(count))) <= room))
    text, notes = render(cut(shown)), []
    if shown < most:
        following = (
            f"For the next page, call the tool again with the same arguments and offset "
            f"{offset + shown}."
            if offset is not None
            else "Ask for less, for example with a smaller limit or window."
        )
        notes.append(f"Only the first {shown} of {most} are here. {following}")
    longest = LONGEST_TEXT
    while estimate_tokens(text) > room and longest > 100:
        text = render(_shorten(cut(shown), longest))
        longest //= 2
        note = "Long texts are cut; open_document reads them whole, page by page."
        notes = [*notes[: shown < most], note]
    text = text[: count_fitting(text, room)]
    return f"Note: an answer has at most {MAX_TOKENS:,} tokens. {' '.join(notes)}\n\n{text}"


def _shorten(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]} … ({len(value) - longest} more characters)"
    if isinstance(value, Mapping):
        return {key: _shorten(each, longest) for key, each in value.items()}
    if isinstance(value, list):
        return [_shorten(each, longest) for each in value]
    return value


def _find_most(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``most`` that fits, or 0."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least

"""Put context, such as the title, before a chunk's text, shortened to fit the model's window."""

from collections.abc import Callable, Sequence

from indexing.chunking.long_sentences import find_split_position

CountTokens = Callable[[Sequence[str]], list[int]]


def prepend_context(context: str, text: str) -> str:
    """Return the text that is embedded and tokenised for a chunk: its context, a newline, its text.

    Returns the text unchanged if there is no context or if it already begins with it.
    """
    next_character = text[len(context) : len(context) + 1]
    if not context or (text.startswith(context) and not next_character.isalnum()):
        return text
    return f"{context}\n{text}"


def fit_context(context: str, window: int, count_tokens: CountTokens) -> str:
    """The context without outer white space, shortened to at most half of ``window`` tokens.

    The other half is left for the chunk. The context is cut after a clause or word if possible.
    A context that fits is returned unchanged, apart from white space.
    """
    context = context.strip()
    if not context:
        return ""
    [count] = count_tokens([f"{context}\n"])
    if count <= window // 2:
        return context
    return shorten_context(context, count, window // 2, count_tokens)


def shorten_context(context: str, count: int, max_tokens: int, count_tokens: CountTokens) -> str:
    """Return a beginning of at most ``max_tokens`` tokens; the whole context has ``count``."""
    # Tries falling lengths in one call instead of a bisection in many. It starts above the length
    # that the average token suggests, because the beginning may have longer tokens.
    length = min(len(context) - 1, len(context) * max_tokens * 3 // (count * 2) + 1)
    candidates = []
    while length:
        cut = find_split_position(context, 0, len(context), length, length)
        candidates.append(context[:cut].rstrip())
        length = length * 9 // 10
    counts = count_tokens([f"{candidate}\n" for candidate in candidates])
    fitting = (text for text, size in zip(candidates, counts, strict=True) if size <= max_tokens)
    return next(fitting, "")

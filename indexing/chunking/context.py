"""What is embedded in front of a chunk, and how much of it the model's window has room for."""

from collections.abc import Callable, Sequence

from indexing.chunking.splitting import find_cut

CountTokens = Callable[[Sequence[str]], list[int]]


def embedded_text(context: str, text: str) -> str:
    """What is embedded and tokenised for a chunk: its context, a newline, its text.

    The text stands alone where there is no context, or where it begins with it already.
    """
    follower = text[len(context) : len(context) + 1]
    if not context or (text.startswith(context) and not follower.isalnum()):
        return text
    return f"{context}\n{text}"


def fit_context(context: str, window: int, count_tokens: CountTokens) -> str:
    """The context without outer white space, shortened to at most half of ``window`` tokens.

    A chunk must have room beside it. The cut falls after a clause or word where there is one.
    A fitted context comes back as it is.
    """
    context = context.strip()
    if not context:
        return ""
    [count] = count_tokens([f"{context}\n"])
    if count <= window // 2:
        return context
    return shorten(context, count, window // 2, count_tokens)


def shorten(context: str, count: int, room: int, count_tokens: CountTokens) -> str:
    """A beginning of at most ``room`` tokens; the whole context has ``count``."""
    # A ladder of lengths in one call, instead of a bisection in many. It starts above the length
    # that the average token suggests, because the beginning may be lighter than the rest.
    length = min(len(context) - 1, len(context) * room * 3 // (count * 2) + 1)
    rungs = []
    while length:
        cut = find_cut(context, 0, len(context), length, length)
        rungs.append(context[:cut].rstrip())
        length = length * 9 // 10
    counts = count_tokens([f"{rung}\n" for rung in rungs])
    fitting = (rung for rung, size in zip(rungs, counts, strict=True) if size <= room)
    return next(fitting, "")

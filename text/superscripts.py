"""Write raised and lowered characters so that they stay apart from what they stand at."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final

# Unicode has no raised or lowered form of every letter.
_RAISED: Final = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyz",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
)
_LOWERED: Final = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"
)


def raise_text(text: str) -> str:
    """A superscript: "6" gives "⁶", "a, b" gives "^(a, b)"; white space around it stays."""
    return _shift(text, _RAISED, "^")


def lower_text(text: str) -> str:
    """A subscript: "2" gives "₂", "max A" gives "_(max A)"; white space around it stays."""
    return _shift(text, _LOWERED, "_")


def _shift(text: str, table: dict[int, int], mark: str) -> str:
    core = text.strip()
    if not core:
        return text
    shifted = (
        core.translate(table) if all(ord(each) in table for each in core) else f"{mark}({core})"
    )
    start = text.index(core)
    return f"{text[:start]}{shifted}{text[start + len(core) :]}"


def join_shifted(parts: Iterable[tuple[str, int]]) -> str:
    """The text of a line's parts, each with 1 if it is raised, -1 if lowered, else 0. A line that
    is shifted as a whole stands at nothing, and is written as it is."""
    parts = list(parts)
    if not any(shift for _, shift in parts):
        return "".join(text for text, _ in parts)
    runs = [
        ("".join(text for text, _ in run), shift)
        for shift, run in groupby(parts, key=itemgetter(1))
    ]
    if len({shift for text, shift in runs if text.strip()}) == 1:
        return "".join(text for text, _ in runs)
    return "".join(
        raise_text(text) if shift > 0 else lower_text(text) if shift else text
        for text, shift in runs
    )

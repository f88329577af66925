"""Write raised and lowered characters so that they stay apart from what they stand at."""

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

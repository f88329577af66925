"""Write the numbers of lists and headings as documents show them: 3, iii, C, 03."""

from typing import Final

_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_CHINESE: Final = "零一二三四五六七八九"
MAX_LETTERS: Final = 26 * 30  # larger numbers are written in digits, as Word does


def format_number(number: int, style: str) -> str:
    """``style``: one of Word's names (ECMA-376 part 1, 17.18.59); digits for one not known here."""
    if number < 1:
        return str(number)
    match style:
        case "none" | "bullet":
            return ""
        case "lowerRoman" | "upperRoman" if number < 4_000:
            roman = _write_roman(number)
            return roman if style == "lowerRoman" else roman.upper()
        case "lowerLetter" | "upperLetter" if number <= MAX_LETTERS:
            letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
            return letter if style == "lowerLetter" else letter.upper()
        case "decimalZero":
            return f"{number:02}"
        case "ordinal":
            is_teen = number % 100 in range(11, 14)
            return (
                f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
            )
        case "decimalEnclosedCircle" if number <= 20:
            return chr(ord("①") + number - 1)
        case "chineseCounting" | "chineseCountingThousand" | "japaneseCounting" if number < 100:
            tens, ones = divmod(number, 10)
            return (
                (_CHINESE[tens] if tens > 1 else "")
                + "十" * bool(tens)
                + _CHINESE[ones] * bool(ones)
            )
    return str(number)


def _write_roman(number: int) -> str:
    roman = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        roman += letters * count
    return roman

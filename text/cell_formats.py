"""Write the values of spreadsheets as their number formats show them (ECMA-376 part 1, 18.8.31).

Formats that follow the settings of the reader's computer give ISO dates, and names are English."""

import re
from calendar import day_abbr, day_name, month_abbr, month_name
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Final

GENERAL: Final = "General"
MAX_CODE_CHARS: Final = 255  # of a format, as in Excel
# The formats that every file has without saying so.
BUILT_IN: Final = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '"$"#,##0', 6: '"$"#,##0', 7: '"$"#,##0.00',
    8: '"$"#,##0.00', 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: '#,##0;(#,##0);"-"', 42: '"$"#,##0;"$"(#,##0);"$-"', 43: '#,##0.00;(#,##0.00);"-"',
    44: '"$"#,##0.00;"$"(#,##0.00);"$-"', 45: "mm:ss", 46: "[h]:mm:ss", 47: "mmss.0",
    48: "##0.0E+0", 49: "@",
}  # fmt: skip
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>General)|(?P<half>AM/PM|A/P)|(?P<exponent>E[+-])"
    r"|(?P<date>y+|m+|d+|h+|s+|e+|g+)|(?P<digit>[0#?])|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[])*)(?:;|$)', re.DOTALL)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)(-?[\d.]+)")
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_SYSTEM_FORMATS = {"$-F800": "yyyy-mm-dd", "$-F400": "h:mm:ss"}
_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": float.__lt__, ">": float.__gt__, "<=": float.__le__, ">=": float.__ge__,
    "=": float.__eq__, "<>": float.__ne__,
}  # fmt: skip
Token = tuple[str, str]  # its kind, a group of _TOKEN, and its text


def format_value(value: float, code: str, *, is_1904: bool = False) -> str:
    """Nothing if the format hides the value; a date that no calendar has as a number."""
    if code == GENERAL or not code:
        return format_general(value)
    sections = _read_sections(code[:MAX_CODE_CHARS])
    section, is_negative_section = _choose(value, sections)
    if any(kind in {"date", "elapsed"} for kind, _ in section):
        try:
            return _write_date(value, section, is_1904)
        except (OverflowError, ValueError):
            return format_general(value)
    if is_negative_section:
        value = abs(value)
    return " ".join(_write_number(value, section).split())


def format_text(text: str, code: str) -> str:
    """Text in a cell with this format."""
    sections = _read_sections(code[:MAX_CODE_CHARS]) if code not in {"", GENERAL, "@"} else ()
    if len(sections) < 4:
        return text
    return "".join(
        text if each == "@" else each for kind, each in sections[3] if kind in {"text", "other"}
    )


def format_general(value: float) -> str:
    """A number without the digits that binary fractions add."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.12g}"


@cache
def _read_sections(code: str) -> tuple[tuple[Token, ...], ...]:
    found = [match[1] for match in _SECTION.finditer(code)]
    return tuple(_read_tokens(each) for each in (found[:-1] if len(found) > 1 else found))


def _read_tokens(section: str) -> tuple[Token, ...]:
    for name, code in _SYSTEM_FORMATS.items():
        if name in section.upper():
            section = code
    tokens: list[Token] = []
    for match in _TOKEN.finditer(section):
        kind, text = match.lastgroup or "space", match[match.lastgroup or 0]
        if kind in {"quoted", "escaped"}:
            tokens.append(("text", text))
        elif kind == "bracket":
            if _ELAPSED.fullmatch(text):
                tokens.append(("elapsed", text.lower()))
            elif text.startswith("$"):  # a currency and a language
                tokens.append(("text", text[1:].partition("-")[0]))
            elif _CONDITION.fullmatch(text):
                tokens.append(("condition", text))
        elif kind == "date":
            tokens.append((kind, text.lower()))
        else:
            tokens.append((kind, text if kind != "space" else " "))
    return tuple(tokens)


def _choose(value: float, sections: Sequence[tuple[Token, ...]]) -> tuple[tuple[Token, ...], bool]:
    """The section for the value, and whether its sign is in the section."""
    has_condition = False
    for section in sections:
        for kind, text in section:
            if kind == "condition" and (match := _CONDITION.fullmatch(text)):
                has_condition = True
                if _COMPARE[match[1]](float(value), float(match[2])):
                    return section, value < 0 and match[1] in {"<", "<="}
    if has_condition:
        others = [each for each in sections if all(kind != "condition" for kind, _ in each)]
        return (others or sections)[0], False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    return (sections[2] if value == 0 and len(sections) > 2 else sections[0]), False


def _write_number(value: float, section: Sequence[Token]) -> str:
    if any(kind == "general" or text == "@" for kind, text in section):
        number = format_general(value)
        return "".join(
            number if kind == "general" or text == "@" else text
            for kind, text in section
            if kind != "condition"
        )
    digits = [at for at, (kind, _) in enumerate(section) if kind == "digit"]
    if not digits:
        return "".join(text for kind, text in section if kind != "condition")
    with localcontext(prec=800):
        scaled = Decimal(repr(float(value))).scaleb(
            2 * sum(each == ("other", "%") for each in section)
        )
        scale = 0  # commas right behind the digits divide by a thousand each
        while section[digits[-1] + 1 + scale : digits[-1] + 2 + scale] == (("other", ","),):
            scale += 1
        scaled = scaled.scaleb(-3 * scale)
        if ("other", "/") in section:
            return _write_fraction(scaled, section)
        return _write_decimal(scaled, section, digits)


def _write_decimal(number: Decimal, section: Sequence[Token], digits: list[int]) -> str:
    point = section.index(("other", ".")) if ("other", ".") in section else len(section)
    power = next((at for at, (kind, _) in enumerate(section) if kind == "exponent"), len(section))
    whole = [at for at in digits if at < min(point, power)]
    decimals = [at for at in digits if point < at < power]
    exponent = 0
    if power < len(section) and number:
        exponent = number.adjusted()
        exponent -= exponent % max(len(whole), 1)
        number = number.scaleb(-exponent)
    number = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    left, _, right = f"{abs(number):f}".partition(".")
    left = left.lstrip("0")
    right = right.rstrip("0").ljust(sum(section[at][1] == "0" for at in decimals), "0")
    is_grouped = bool(whole) and ("other", ",") in section[whole[0] : whole[-1]]
    left = left.rjust(sum(section[at][1] == "0" for at in whole), "0")
    if is_grouped and left.strip("0"):
        left = f"{int(left):,}".rjust(len(left), "0")
    # The last places of the whole take a digit each, the first takes all that are left over.
    places = dict.fromkeys(whole, "")
    rest = left
    for at in reversed(whole):
        take = len(rest) if at == whole[0] or is_grouped else 1
        places[at], rest = rest[len(rest) - take :], rest[: len(rest) - take]
    for at, digit in zip(decimals, right, strict=False):
        places[at] = digit
    written = ["-"] if number < 0 else []
    for at, (kind, text) in enumerate(section):
        if kind == "digit" and at < power:
            written.append(places.get(at, ""))
        elif kind == "exponent":
            sign = "-" if exponent < 0 else "+" if text[1] == "+" else ""
            width = sum(kind == "digit" for kind, _ in section[at:])
            written.append(f"E{sign}{abs(exponent):0{width}}")
        elif at == point:
            written.append("." if right else "")
        elif kind in {"text", "space"} or (kind == "other" and text != ","):
            written.append(text)
    return "".join(written)


def _write_fraction(number: Decimal, section: Sequence[Token]) -> str:
    slash = section.index(("other", "/"))
    below = "".join(text for _, text in section[slash + 1 :]).strip()
    given = re.match(r"[1-9]\d*", below)
    largest = 10 ** max(below.count("?") + below.count("#"), 1) - 1
    fraction = Fraction(abs(number)).limit_denominator(largest)
    if given:
        fraction = Fraction(round(abs(number) * int(given[0])), int(given[0]))
    above = [text for kind, text in section[:slash] if kind == "digit" or text == " "]
    whole, part = divmod(fraction, 1) if " " in above else (0, fraction)
    top = part * int(given[0]) if given else Fraction(part.numerator)
    bottom = given[0] if given else str(part.denominator)
    words = [str(whole)] * bool(whole or not part) + [f"{top}/{bottom}"] * bool(part)
    return ("-" if number < 0 else "") + " ".join(words)


def _write_date(value: float, section: Sequence[Token], is_1904: bool) -> str:
    start = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30)
    if not is_1904 and value < 60:  # the 29th of February 1900, which the calendar has not
        start += timedelta(days=1)
    is_elapsed = any(kind == "elapsed" for kind, _ in section)
    has_half = any(kind == "half" for kind, _ in section)
    fractions = sum(kind == "digit" for kind, _ in section)
    seconds = round(value * 86_400, fractions)
    if seconds < 0 and not is_elapsed:
        raise ValueError
    moment = start + timedelta(seconds=abs(seconds))
    microseconds = iter(f"{moment.microsecond:06}")
    units = [
        (at, text[0]) for at, (kind, text) in enumerate(section) if kind in {"date", "elapsed"}
    ]
    written = ["-"] if seconds < 0 else []
    for at, (kind, text) in enumerate(section):
        if kind == "elapsed":
            unit = {"h": 3_600, "m": 60, "s": 1}[text[0]]
            written.append(f"{int(abs(seconds)) // unit:0{len(text)}}")
        elif kind == "date":
            before = next((unit for other, unit in reversed(units) if other < at), "")
            after = next((unit for other, unit in units if other > at), "")
            is_minute = len(text) < 3 and (before == "h" or after == "s")
            written.append(_write_unit(moment, text, is_minute=is_minute, has_half=has_half))
        elif kind == "half":
            written.append("AM" if moment.hour < 12 else "PM")
        elif kind == "digit":
            written.append(next(microseconds, "0"))
        elif kind != "condition":
            written.append(text)
    return " ".join("".join(written).split())


def _write_unit(moment: datetime, text: str, *, is_minute: bool, has_half: bool) -> str:
    width = min(len(text), 2)
    match text[0]:
        case "y":
            return f"{moment.year % 100:02}" if len(text) < 3 else f"{moment.year:04}"
        case "e":
            return str(moment.year)
        case "m" if is_minute:
            return f"{moment.minute:0{width}}"
        case "m" if len(text) > 2:
            name = month_abbr[moment.month] if len(text) == 3 else month_name[moment.month]
            return name[0] if len(text) == 5 else name
        case "d" if len(text) > 2:
            return (day_abbr if len(text) == 3 else day_name)[moment.weekday()]
        case "h":
            return f"{(moment.hour + 11) % 12 + 1 if has_half else moment.hour:0{width}}"
    number = {"m": moment.month, "d": moment.day, "s": moment.second}.get(text[0])
    return "" if number is None else f"{number:0{width}}"

"""Fiscal years as queries write them: FY2018, FY 2018, FY18, FY'18."""

import re

_FISCAL_YEAR = re.compile(r"\bFY ?'?((?:19|20)?[0-9]{2})(?![0-9])")
_FIRST_YEAR_OF_1900 = 69  # 69 to 99 are 1969 to 1999, as POSIX reads two digits


def spell_out_fiscal_years(text: str) -> str:
    """FY2018 and FY18 become "fiscal year 2018"."""
    return _FISCAL_YEAR.sub(lambda found: f"fiscal year {_add_century(found[1])}", text)


def find_fiscal_years(text: str) -> list[str]:
    """The years in four digits, in the order of the text."""
    return [_add_century(year) for year in _FISCAL_YEAR.findall(text)]


def _add_century(year: str) -> str:
    if len(year) == 4:
        return year
    return f"{19 if int(year) >= _FIRST_YEAR_OF_1900 else 20}{year}"

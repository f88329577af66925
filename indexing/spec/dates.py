"""Dates and times in metadata: how they may be written, and which time each of them means."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from core.exceptions import InvalidInput

MAX_CHARS = 100
FIX = "Write it as 2019-05-01 or 2019-05-01T12:00:00Z."

# As the vector store reads it.
_PLAIN = re.compile(
    r"\d{4}-\d\d-\d\d(?:T(?:[01]\d|2[0-3]):\d\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
_ZONED = re.compile(r".*T.*(?:Z|[+-]\d\d:\d\d)")
# ISO 8601 in its extended and its basic form, with what programs write around it: a space for the
# T, UTC or GMT before an offset, a name of the zone after it.
_ISO = re.compile(
    r"""(?P<date>\d{4}(?:(?P<mark>[-/.])\d\d?(?:(?P=mark)\d\d?)?)?|\d{8})
    (?:[T\s]\s*(?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,](?P<part>\d+))?)?)?
    (?:\s*(?P<zone>Z|(?:UTC?|GMT)?[+-]\d\d(?::?\d\d)?|UTC?|GMT)\s*(?:\[[^]]*\]|\([^)]*\))?)?)?""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
# With English names: as in e-mails (RFC 5322), as JavaScript and as C write them.
_NAMED = [
    re.compile(_WEEKDAY + order, re.ASCII | re.IGNORECASE)
    for order in (
        rf"(?P<day>\d\d?)[\s-]+{_MONTH}[\s-]+(?P<year>\d{{4}})(?P<time>\b.*)",
        rf"{_MONTH}\s+(?P<day>\d\d?),?\s+(?P<year>\d{{4}})(?P<time>\b.*)",
        rf"{_MONTH}\s+(?P<day>\d\d?)(?P<time>\s+\d\d:\d\d:\d\d)\s+(?P<year>\d{{4}})(?P<zone>\b.*)",
    )
]
_DAY_OR_MONTH_FIRST = re.compile(r"\d\d?([-/.])\d\d?\1(?:\d\d|\d{4})\b.*", re.ASCII)


def read_date(value: object, path: str) -> str:
    """Check a date or a time, and write it as in ISO 8601: ``2024``, ``2024-05``, ``2024-05-01``,
    or a date and time, with an offset or without. One that is so written already stays as it is.

    Raises:
        InvalidInput: with ``path``; it is nothing of these, does not exist, or has two meanings.
    """
    if not isinstance(value, str):
        raise InvalidInput(
            "The value must be a date or a time, written as a string.",
            field=path,
            fix=f"{FIX} Convert seconds since 1970 into such a date.",
        )
    written = _put_year_first(" ".join(value[: MAX_CHARS + 1].replace("−", "-").split()))
    found = _ISO.fullmatch(written) if len(written) <= MAX_CHARS else None
    if found is None:
        raise InvalidInput(_describe_problem(written), field=path, fix=FIX)
    try:
        read = _read_iso(found)
        get_period(read, UTC)
    except (ValueError, OverflowError):
        raise InvalidInput("The date or time does not exist.", field=path, fix=FIX) from None
    return written if _PLAIN.fullmatch(written) else read


def get_period(read: str, zone: tzinfo) -> tuple[str, str]:
    """The first and the last moment of what ``read_date`` returned, in UTC as in RFC 3339. Both are
    equal for a time. A day, month or year is that of the zone, and so is a time without one."""
    if "T" in read:
        moment = datetime.fromisoformat(read)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return (_format(moment.astimezone(UTC)),) * 2
    numbers = [int(each) for each in read.split("-")]
    year, month, day = numbers + [1] * (3 - len(numbers))
    first = last = date(year, month, day)
    if len(numbers) < 3:
        last = _end_month(first if len(numbers) == 2 else first.replace(month=12))
    return (
        _format(_to_utc(datetime.combine(first, time.min, zone), datetime.min)),
        # In the hour that a change of clocks repeats, the second time.
        _format(_to_utc(datetime.combine(last, time.max.replace(fold=1), zone), datetime.max)),
    )


def to_stored_date(value: Any, zone: tzinfo) -> Any:
    """A date or a time as points have it for filters: its first moment. A value that is no date,
    from before its field was declared, stays as it is."""
    if isinstance(value, list):
        return [to_stored_date(each, zone) for each in value]
    if not isinstance(value, str) or (
        _PLAIN.fullmatch(value) and (zone is UTC or _ZONED.fullmatch(value))
    ):
        return value  # the store reads it, and points of earlier releases have it
    try:
        return get_period(read_date(value, ""), zone)[0]
    except InvalidInput:
        return value


def _put_year_first(written: str) -> str:
    for pattern in _NAMED:
        if found := pattern.fullmatch(written):
            month = _MONTHS.index(found["month"].lower()) + 1
            zone = found.groupdict().get("zone") or ""
            return f"{found['year']}-{month}-{found['day']}{found['time']}{zone}"
    return written


def _read_iso(found: re.Match[str]) -> str:
    digits = found["date"]
    numbers = re.findall(r"\d+", digits) if len(digits) != 8 or found["mark"] else None
    numbers = numbers or [digits[:4], digits[4:6], digits[6:]]
    day = "-".join(number.zfill(2) for number in numbers)
    if found["hour"] is None:
        return day
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    part = int((found["part"] or "").ljust(6, "0")[:6])
    is_next_day = (hour, minute, second, part) == (24, 0, 0, 0)
    is_leap = second == 60
    moment = datetime.combine(
        date.fromisoformat(day),
        time(0 if is_next_day else hour, minute, second - is_leap, 999_999 if is_leap else part),
        _read_zone(found["zone"]),
    ) + timedelta(days=is_next_day)
    if is_leap and (moment.utctimetuple().tm_hour, moment.utctimetuple().tm_min) != (23, 59):
        raise ValueError("A minute has 60 seconds, except the last one of a day in UTC.")
    return _format(moment)


def _read_zone(zone: str | None) -> tzinfo | None:
    if zone is None:
        return None
    digits = re.sub(r"[^\d+-]", "", zone)
    return datetime.strptime(digits.ljust(5, "0"), "%z").tzinfo if digits else UTC


def _describe_problem(written: str) -> str:
    if _DAY_OR_MONTH_FIRST.fullmatch(written):
        return "The value does not say which number is the day and which is the month."
    return "The value must be a date or a time as in ISO 8601."


def _end_month(first: date) -> date:
    if (first.year, first.month) == (9999, 12):
        return date.max
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _to_utc(moment: datetime, limit: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or the last day of the calendar
        return limit.replace(tzinfo=UTC)


def _format(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

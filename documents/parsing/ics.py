"""Calendars (iCalendar, RFC 5545): a page for each event, task or note, named by its summary."""

import re
from pathlib import Path

from documents.exceptions import Unparsable
from documents.parsing.blocks import join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText
from documents.parsing.text import read_text

_PAGES = {"VEVENT", "VTODO", "VJOURNAL"}
_LABELS = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "RRULE": "Repeats", "LOCATION": "Place",
    "STATUS": "Status", "ORGANIZER": "Organiser", "ATTENDEE": "Attendees",
    "CATEGORIES": "Categories", "URL": "Link", "DESCRIPTION": "",
}  # fmt: skip
_LINE = re.compile(
    r"([A-Z\d-]{1,100})((?:;[A-Z\d-]{1,100}=(?:\"[^\"]*\"|[^\";:]*))*):(.*)", re.I | re.S
)
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(?:\d\d)?(Z?))?")
_PARAMETER = re.compile(r";(TZID|CN)=\"?([^\";:]*)", re.I)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_TAG = re.compile(r"</?(?:p|br|b|i|a|div|span|ul|ol|li|html)\b[^<>]{0,500}>", re.I)


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft).replace("\r\n", "\n")
    if not re.match(r"\s*BEGIN:VCALENDAR", text, re.I):
        raise Unparsable("wrong_format", "The file is not a calendar: BEGIN:VCALENDAR is missing.")
    open_parts: list[str] = []
    values: list[tuple[str, str]] = []
    for line in re.sub(r"\n[ \t]", "", text).split("\n"):
        if (found := _LINE.fullmatch(line)) is None:
            continue
        name, parameters, value = found[1].upper(), dict(_PARAMETER.findall(found[2])), found[3]
        if name == "BEGIN":
            open_parts.append(value.strip().upper())
            values = [] if open_parts[-1] in _PAGES else values
        elif name == "END" and open_parts:
            if open_parts.pop() in _PAGES:
                _add_page(values, draft)
        elif name == "X-WR-CALNAME":
            draft.propose_title(_unescape(value))
        elif open_parts and open_parts[-1] in _PAGES:  # not an alarm of it
            values.append((name, _format(name, value, parameters)))


def _add_page(values: list[tuple[str, str]], draft: DocumentDraft) -> None:
    summary = next((value for name, value in values if name == "SUMMARY"), "")
    lines = [f"# {' '.join(summary.split())}\n"] if summary else []
    for name, label in _LABELS.items():
        texts = [value for each, value in values if each == name and value]
        lines += (
            [f"{label}: {', '.join(texts)}"] if label and texts else [f"\n{each}" for each in texts]
        )
    draft.add_page("\n".join(lines), summary)


def _format(name: str, value: str, parameters: dict[str, str]) -> str:
    parameters = {key.upper(): each for key, each in parameters.items()}
    if time := _TIME.fullmatch(value):
        zone = "UTC" if time[6] else parameters.get("TZID", "")
        clock = f" {time[4]}:{time[5]}" if time[4] else ""
        return f"{time[1]}-{time[2]}-{time[3]}{clock}{f' ({zone})' if zone and clock else ''}"
    if name in {"ORGANIZER", "ATTENDEE"}:
        address = re.sub(r"^mailto:", "", value, flags=re.I)
        return f"{parameters['CN']} <{address}>" if "CN" in parameters else address
    text = _unescape(value)
    if name == "DESCRIPTION" and _TAG.search(text):
        text = join_blocks(HtmlText.from_html(text).blocks)
    return text


def _unescape(value: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value)

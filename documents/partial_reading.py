"""Documents of which a reader has left out a part, and what helps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from documents.parsing import ocr

# ``add_fixes`` puts before it what must be installed.
_OCR = "Read the documents of the index anew: strata apply INDEX --reread."
_EXPORT = "Export or print it to PDF again."

# Code of a warning -> what helps. Of other warnings, the text is complete.
FIXES = {
    "hidden_text": "Such text is searched only with unseen_text: index in the spec of the index. "
    "What should be found can also be shown in the document.",
    "unreadable_text": f"{_OCR} Or export the PDF again with embedded fonts.",
    "no_text": _OCR,
    "scanned_page": _OCR,
    "unreadable_page": _EXPORT,
    "xfa_form": "Print the form to PDF in Adobe Reader.",
    "partly_read": "Split the file, or raise STRATA_DOCLING_SERVE_SECONDS and add it again.",
    "missing_part": "Use a complete copy.",
    "unread_body": "Save the message in Outlook as plain text or HTML.",
    "unread_attachments": "Add the e-mail on its own.",
    "outside_path": "Pack the files without such a path.",
    "inner_zip": "Add the inner ZIP on its own.",
}

# For rows with warnings: whether they are of a document that was read in part.
IS_PARTIAL = ~Q(warnings=[]) & reduce(or_, (Q(warnings__icontains=f'"{code}"') for code in FIXES))


def add_fixes(
    warnings: Iterable[Mapping[str, Any]], find_ocr_languages: Callable[[], Sequence[str]]
) -> list[dict[str, Any]]:
    """The warnings, each with what helps. ``find_ocr_languages``: finds those of the index."""

    def find_fix(fix: str) -> str:
        return f"{explain_missing_ocr(find_ocr_languages())}{fix}" if _OCR in fix else fix

    return [
        {**each, "fix": find_fix(FIXES[each["code"]])} if each["code"] in FIXES else {**each}
        for each in warnings
    ]


def explain_missing_ocr(languages: Sequence[str]) -> str:
    """A sentence on what to install, with a space; empty if nothing is missing."""
    if not (commands := ocr.list_missing(languages)):
        return ""
    return (
        f"Install OCR{' of ' * bool(languages)}{', '.join(languages)}: {' and '.join(commands)}. "
    )

"""Documents of which a reader has left out a part, and what helps."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

_OCR = "Install OCR, and read the documents of the index anew: strata apply INDEX --reread."
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


def add_fixes(warnings: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**each, "fix": FIXES[each["code"]]} if each["code"] in FIXES else {**each}
        for each in warnings
    ]

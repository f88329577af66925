"""Files with text that cannot be seen, for tests."""

from typing import Any

import pytest

from documents import reading
from documents.models import Artifact
from documents.parsing.document import DocumentDraft, Limits, ParsedDocument, UnseenText
from tests.rereading import add_file

OFFER = "Our offer is 90 euro for a night in the lighthouse, with breakfast on the gallery."
SECRET = "Our lowest price is 60 euro, which the guest need not know before the talk."
DELETED = "The sauna is closed in winter."


class ReaderOfUnseenText:
    """Reads each line of a file that begins with ``hidden:`` or ``deleted:`` as unseen text of its
    only page, and each ``?`` as an unreadable character."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "parse_file", self.parse_file)

    def parse_file(self, path: Any, **options: Any) -> ParsedDocument:
        draft = DocumentDraft(Limits.from_settings())
        seen, unseen = [], []
        for line in path.read_text().splitlines():
            reason, mark, rest = line.partition(":")
            if mark and reason in {"hidden", "deleted"}:
                unseen.append(UnseenText(rest, reason))
            else:
                seen.append(line)
        text = "\n".join(seen)
        draft.add_page(text.replace("?", ""), unseen=unseen, unreadable_chars=text.count("?"))
        draft.add_page("The second page has all of its text.")
        return draft.finish("text/plain")


def add_offer(more: str = "", **given: Any) -> Artifact:
    text = f"{OFFER}{more}\nhidden: {SECRET}\ndeleted: {DELETED}"
    return add_file(text, "offer.txt", **given)

"""E-mail: one page with subject, people, date, the names of the attachments, and the body.

Attachments become documents of their own; pictures that the body shows do not."""

from email import message_from_binary_file
from email.message import EmailMessage, MIMEPart
from email.policy import EmailPolicy, compat32
from mimetypes import guess_extension
from pathlib import Path

from documents.exceptions import Unparsable
from documents.parsing.archives import is_inner_zip
from documents.parsing.blocks import join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText
from documents.parsing.text import decode_text

_SHOWN_HEADERS = ("Subject", "From", "To", "Cc", "Date")
# The standard library parses headers in quadratic time. The longer limit leaves room for some
# hundred recipients.
MAX_HEADER_CHARS = 10_000
MAX_MIME_HEADER_CHARS = 1_000  # Content-Type and the like, whose parsing is slower still


class _LimitedHeaders(EmailPolicy):
    """Cuts long headers."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        is_mime = name.lower().startswith("content-")
        return name, value[: MAX_MIME_HEADER_CHARS if is_mime else MAX_HEADER_CHARS]


_POLICY = _LimitedHeaders()


def read(path: Path, draft: DocumentDraft) -> None:
    draft.check_char_count(path.stat().st_size // 8)
    with path.open("rb") as stream:
        message = message_from_binary_file(stream, policy=_POLICY)
    assert isinstance(message, EmailMessage)  # which the policy makes
    read_message(message, draft)


def read_message(message: EmailMessage, draft: DocumentDraft) -> None:
    if not any(
        name in message for name in (*_SHOWN_HEADERS, "Message-ID", "Received", "MIME-Version")
    ):
        raise Unparsable("wrong_format", "The file is not an e-mail: it has no headers.")
    subject = _read_header(message, "Subject")
    lines = [
        f"{name}: {value}" for name in _SHOWN_HEADERS if (value := _read_header(message, name))
    ]
    html = message.get_body(preferencelist=("html",))
    shown = html.get_payload(decode=True) if html is not None else b""
    for part in message.iter_attachments():
        content_id = _read_header(part, "Content-ID").strip("<> ")
        if not (content_id and isinstance(shown, bytes) and f"cid:{content_id}".encode() in shown):
            _read_attachment(part, draft)
    if draft.file_names:
        lines.append(f"Attachments: {', '.join(draft.file_names)}")
        if draft.send_file is None:
            draft.warn("unread_attachments", "The attachments are listed, but not read.")
    draft.propose_title(subject)
    draft.add_page("\n".join(lines) + "\n\n" + _read_body(message, draft), subject)


def _read_header(message: MIMEPart, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError, TypeError):
        # The standard library's header parser fails on some malformed addresses.
        raw = dict(message.raw_items()).get(name, "")
        return " ".join(str(raw).split())


def _read_attachment(part: MIMEPart, draft: DocumentDraft) -> None:
    content_type, name = part.get_content_type(), part.get_filename()
    data = part.get_payload(decode=True)
    if content_type == "message/rfc822":
        if part.is_multipart():  # as it always is in a file
            [mail] = part.iter_parts()
            name = name or _read_header(mail, "Subject")
            data = mail.as_bytes(policy=compat32)
        name = f"{(name or 'message').removesuffix('.msg').removesuffix('.eml')}.eml"
    name = name or f"attachment{guess_extension(content_type) or ''}"
    if not is_inner_zip(name, draft):
        draft.add_file(name, [data] if isinstance(data, bytes) and data else [])


def _read_body(message: EmailMessage, draft: DocumentDraft) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    text = decode_text(data, draft, declared=part.get_content_charset())
    if part.get_content_type() == "text/html":
        return join_blocks(HtmlText.from_html(text).blocks)
    return text.replace("\r\n", "\n").strip()

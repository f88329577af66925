"""E-mail: one page with subject, people, date, the names of the attachments, and the body; of an
MBOX, a page for each message.

Attachments become documents of their own; pictures that the body shows do not."""

import re
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.policy import EmailPolicy, compat32
from itertools import islice
from mimetypes import guess_extension
from pathlib import Path

from documents.exceptions import Unparsable
from documents.parsing.archives import is_inner_zip
from documents.parsing.blocks import Block, join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText
from documents.parsing.text import decode_text

_SHOWN_HEADERS = ("Subject", "From", "To", "Cc", "Date")
# The standard library parses headers in quadratic time. The longer limit leaves room for some
# hundred recipients.
MAX_HEADER_CHARS = 10_000
MAX_MIME_HEADER_CHARS = 1_000  # Content-Type and the like, whose parsing is slower still
# Between the messages of an MBOX; in their texts, lines that begin so are quoted.
_FROM_LINE = re.compile(rb"(?:^|(?<=\n))From [^\n]{1,200}\d\d:\d\d[^\n]{1,100}\r?\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.M)
_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"https?://\S+|<[^<>\s]{1,500}>")
MAX_LOST_SHARE = 0.2  # of the words of a body, which its plain form may lack
_VIEWERS = {"html", "browser", "viewer", "webmail"}  # so in most languages
MAX_STUB_WORDS = 30  # of a plain form that only tells to view the other one


class _LimitedHeaders(EmailPolicy):
    """Cuts long headers."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        is_mime = name.lower().startswith("content-")
        return name, value[: MAX_MIME_HEADER_CHARS if is_mime else MAX_HEADER_CHARS]


_POLICY = _LimitedHeaders()


def read(path: Path, draft: DocumentDraft) -> None:
    draft.check_char_count(path.stat().st_size // 8)
    message = _parse(path.read_bytes())
    if not any(
        name in message for name in (*_SHOWN_HEADERS, "Message-ID", "Received", "MIME-Version")
    ):
        raise Unparsable("wrong_format", "The file is not an e-mail: it has no headers.")
    draft.propose_title(read_message(message, draft))


def read_mbox(path: Path, draft: DocumentDraft) -> None:
    draft.check_char_count(path.stat().st_size // 8)
    before, *messages = _FROM_LINE.split(path.read_bytes())
    if before.strip():
        raise Unparsable("wrong_format", "The file is not an MBOX: it does not begin with 'From '.")
    draft.check_page_count(len(messages))
    for message in messages:
        read_message(_parse(_QUOTED_FROM.sub(rb"\1", message)), draft)


def _parse(data: bytes) -> EmailMessage:
    message = message_from_bytes(data, policy=_POLICY)
    assert isinstance(message, EmailMessage)  # which the policy makes
    return message


def read_message(message: EmailMessage, draft: DocumentDraft) -> str:
    """Add the message as a page; returns its subject."""
    subject = _read_header(message, "Subject")
    lines = [
        f"{name}: {value}" for name in _SHOWN_HEADERS if (value := _read_header(message, name))
    ]
    file_count = len(draft.file_names)
    body = _Body(draft)
    body.add(message)
    for part in body.files:
        content_id = _read_header(part, "Content-ID").strip("<> ")
        if not (content_id and any(f"cid:{content_id}" in html for html in body.html)):
            _read_attachment(part, draft)
    if names := list(islice(draft.file_names, file_count, None)):
        lines.append(f"Attachments: {', '.join(names)}")
        if draft.send_file is None:
            draft.warn("unread_attachments", "The attachments are listed, but not read.")
    unseen = [each for block in body.blocks for each in block.unseen]
    draft.add_page("\n".join(lines) + "\n\n" + join_blocks(body.blocks), subject, unseen=unseen)
    return subject


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


class _Body:
    """The texts of a message in their order, and the parts that are files."""

    def __init__(self, draft: DocumentDraft) -> None:
        self._draft = draft
        self.blocks: list[Block] = []
        self.files: list[MIMEPart] = []
        self.html: list[str] = []  # which shows pictures that are parts, too

    def add(self, part: MIMEPart) -> None:
        kind = part.get_content_type()
        if kind == "multipart/alternative" and part.is_multipart():
            self._add_fullest([*part.iter_parts()])
        elif part.get_content_maintype() == "multipart":
            for each in part.iter_parts():
                self.add(each)
            if not part.is_multipart():  # its boundary is missing
                self._add_text(part)
        elif kind not in {"text/plain", "text/html"} or part.is_attachment() or part.get_filename():
            self.files.append(part)
        else:
            self._add_text(part)

    def _add_fullest(self, parts: list[MIMEPart]) -> None:
        """Of several forms of one text, add the first, which is the plainest, unless the last one
        says more."""
        forms = []
        for part in parts:
            form = _Body(self._draft)
            form.add(part)
            self.files += form.files
            self.html += form.html
            if form.blocks:
                forms.append(form.blocks)
        if forms:
            self.blocks += forms[-1] if _says_more(forms[-1], forms[0]) else forms[0]

    def _add_text(self, part: MIMEPart) -> None:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            return
        text = decode_text(data, self._draft, declared=part.get_content_charset())
        if part.get_content_type() == "text/html":
            self.html.append(text)
            self.blocks += HtmlText.from_html(text).blocks
            return
        text = text.replace("\r\n", "\n")
        if str(part.get_param("format")).lower() == "flowed":
            text = _join_flowed(text, str(part.get_param("delsp")).lower() == "yes")
        if text.strip():
            self.blocks.append(Block(text.strip()))


def _says_more(rich: list[Block], plain: list[Block]) -> bool:
    words, plain_words = (
        set(_WORD.findall(_ADDRESS.sub("", join_blocks(blocks)).lower()))
        for blocks in (rich, plain)
    )
    lost_count = len(words - plain_words)
    is_stub = len(plain_words) <= MAX_STUB_WORDS and not _VIEWERS.isdisjoint(plain_words)
    return lost_count > MAX_LOST_SHARE * len(words) and (
        is_stub or lost_count > len(plain_words - words)
    )


def _join_flowed(text: str, deletes_space: bool) -> str:
    """Join the lines that a program wrapped (RFC 3676): those that end in a space."""
    paragraphs: list[list[str]] = []
    open_depth = -1  # of the quotation whose paragraph goes on
    for line in text.split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")
        flows = content.endswith(" ") and content != "-- "  # the line above a signature
        kept = content[:-1] if flows and deletes_space else content
        if depth == open_depth and content != "-- ":
            paragraphs[-1].append(kept)
        else:
            paragraphs.append([">" * depth + " " if depth else "", kept])
        open_depth = depth if flows else -1
    return "\n".join("".join(parts).rstrip(" ") for parts in paragraphs)

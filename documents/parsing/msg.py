"""Messages of Outlook (MSG, [MS-OXMSG]), read as the e-mails that they were."""

from datetime import datetime
from email.utils import format_datetime
from pathlib import Path

from aspose.email_foss.cfb import CFBError
from aspose.email_foss.msg import CommonMessagePropertyId as Id
from aspose.email_foss.msg import MapiMessage, MsgError
from aspose.email_foss.msg import PropertyTypeCode as Type

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft
from documents.parsing.eml import read_message
from documents.parsing.text import decode_text

# From [MS-OXPROPS]; the library does not name them.
_CLIENT_SUBMIT_TIME = 0x0039
_RTF_COMPRESSED = 0x1009
_MESSAGE_CODEPAGE = 0x3FFD


def read(path: Path, draft: DocumentDraft) -> None:
    draft.check_char_count(path.stat().st_size // 8)
    try:
        message = MapiMessage.from_file(path)
    except (CFBError, MsgError) as error:
        raise Unparsable("damaged_file", f"The message cannot be read: {error}") from error
    # The library takes HTML for UTF-8 and other bytes for cp1252.
    if html := _decode(message, Id.BODY_HTML, Type.PTYP_BINARY, Id.INTERNET_CODEPAGE, draft):
        message.body_html = html
    if body := _decode(message, Id.BODY, Type.PTYP_STRING8, _MESSAGE_CODEPAGE, draft):
        message.body = body
    if subject := _decode(message, Id.SUBJECT, Type.PTYP_STRING8, _MESSAGE_CODEPAGE, draft):
        message.subject = subject
    has_rtf = message.get_property_value(_RTF_COMPRESSED, Type.PTYP_BINARY)
    if has_rtf and not (message.body or message.body_html):
        draft.warn("unread_body", "The text is stored only as compressed RTF, which is not read.")
    mail = message.to_email_message()
    sent_at = message.get_property_value(_CLIENT_SUBMIT_TIME, Type.PTYP_TIME)
    if "Date" not in mail and isinstance(sent_at, datetime):
        mail["Date"] = format_datetime(sent_at)
    draft.propose_title(read_message(mail, draft))


def _decode(
    message: MapiMessage, name: int, kind: int, codepage: int, draft: DocumentDraft
) -> str | None:
    raw = message.get_property_value(name, kind, decode=False)
    if not isinstance(raw, bytes):
        return None
    number = message.get_property_value(codepage, Type.PTYP_INTEGER32)
    return decode_text(raw.rstrip(b"\0"), draft, declared=f"cp{number}")

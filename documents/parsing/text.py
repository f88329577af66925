"""Plain text: one page. Every text is decoded here, in the encoding that is declared,
else in the one that is detected."""

import codecs
import re
from collections import Counter
from pathlib import Path

from core.text import REPLACEMENT
from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft

SAMPLE_BYTES = 256 * 1024  # enough to tell languages apart; detection costs far more than decoding

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because it begins with UTF-16's mark
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings found in real files. Without this restriction, detection mistakes short Western texts
# for Macintosh or UTF-16.
_CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    "cp866", "koi8_r", "koi8_u", "iso8859_2", "iso8859_5", "iso8859_6", "cp850", "cp874",
    "gb18030", "big5", "cp932", "euc_jp", "cp949",
]  # fmt: skip
# Tried alone where none of those fits: detection leaves it out beside cp1250.
_RARE_CANDIDATES = ["iso8859_2"]
_WIDE = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_NO_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
# ğ, ı and ş of cp1254, which in cp1252 are letters of Icelandic.
_TURKISH = re.compile(rb"[\xd0\xdd\xde\xf0\xfd\xfe]")
# Signs that the text is not cp1252: symbols inside words, capitals after small letters.
_NOT_CP1252 = re.compile(
    r"[a-z\xdf-\xff][\xc0-\xd6\xd8-\xdeŠŽŸ]|\w[¢£¤¥¦¨¬¯±´¸¿¡¹³¼½¾¶†‡‰‹›ˆ˜ƒ×÷]{1,9}[a-zA-Z]|[\x80-\x9f]"
)


def read(path: Path, draft: DocumentDraft) -> None:
    draft.add_page(read_text(path, draft))


def read_text(path: Path, draft: DocumentDraft, *, declared: str | None = None) -> str:
    """Decode the file; first refuse one whose size alone shows too much text (at most 4 bytes a
    character)."""
    draft.check_char_count(path.stat().st_size // 4)
    return decode_text(path.read_bytes(), draft, declared=declared)


def decode_text(data: bytes, draft: DocumentDraft, *, declared: str | None = None) -> str:
    """Decode; record the encoding and any warning about it on the draft.

    In this order: a byte order mark; UTF-8, which text in other encodings almost never is by
    chance; the encoding that the document declares; detection.

    Raises:
        Unparsable: ``binary_file``, if the bytes are not text.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode_as(encoding, data, draft)
    if wide := _sniff_wide(data):
        return _decode_as(wide, data, draft)
    if b"\x1b$" in data and data.isascii() and _try_decode(data, "iso2022_jp") is not None:
        return _decode_as("iso2022_jp", data, draft)
    if (text := _try_decode(data, "utf-8")) is not None:
        _refuse_binary(data)
        draft.encoding = "ascii" if text.isascii() else "utf-8"
        return text

    high_count = len(_HIGH_BYTE.findall(data))
    in_sequences = sum(len(found) for found in _UTF8_SEQUENCE.findall(data))
    if in_sequences >= 0.7 * high_count:
        return _decode_as("utf-8", data, draft)
    _refuse_binary(data)
    if declared and (as_declared := _decode_declared(data, declared, draft)) is not None:
        return as_declared
    detected = _detect_encoding(_detection_sample(data))
    draft.warn("encoding_guessed", f"The encoding is not declared; {detected} was detected.")
    return _decode_as(detected, data, draft)


def _decode_as(encoding: str, data: bytes, draft: DocumentDraft) -> str:
    draft.encoding = encoding.removesuffix("-sig")
    if (text := _try_decode(data, encoding)) is not None:
        return text
    text = data.decode(encoding, errors="replace")
    invalid_count = text.count(REPLACEMENT)
    draft.warn("invalid_bytes", f"{invalid_count:,} places are not valid {encoding}.")
    return text


def _try_decode(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeError:
        return None


def _decode_declared(data: bytes, declared: str, draft: DocumentDraft) -> str | None:
    try:
        encoding = codecs.lookup(declared).name
        if encoding in {"iso8859-1", "ascii"}:
            encoding = "cp1252"  # as browsers read these labels (WHATWG Encoding, 4.2)
        elif encoding in {"gb2312", "gbk"}:
            encoding = "gb18030"  # their superset
        text = data.decode(encoding)
    except (LookupError, UnicodeError):
        return None
    draft.encoding = encoding
    return text


def _sniff_wide(data: bytes) -> str | None:
    """Recognise UTF-16 and UTF-32 without a mark, in any script. No other text has NULs or many
    control characters."""
    if b"\0" not in data[:SAMPLE_BYTES] and not _has_many_controls(data):
        return None
    for encoding, width in _WIDE:
        if len(data) % width == 0 and _reads_as_text(data[:SAMPLE_BYTES], encoding):
            return encoding
    return None


def _reads_as_text(data: bytes, encoding: str) -> bool:
    """Whether nearly all of it is printable, and of few scripts: with the bytes in the wrong order,
    characters are of all scripts, or of none."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return False
    printable = [each for each in text if each.isprintable() or each in "\t\r\n\f"]
    scripts = Counter(_block_of(each) for each in printable)
    in_few = sum(count for _, count in scripts.most_common(3))
    return bool(text) and len(printable) >= 0.98 * len(text) and in_few >= 0.95 * len(text)


def _block_of(character: str) -> int:
    """A group of 256 characters; one for all of Chinese and Japanese, and one for Korean."""
    block = ord(character) >> 8
    if 0x4E <= block <= 0x9F or block in {0x30, 0xFF}:
        return 0x4E
    return 0xAC if 0xAC <= block <= 0xD7 else block


def _has_many_controls(data: bytes) -> bool:
    sample = data[:SAMPLE_BYTES]
    return len(_CONTROL.findall(sample)) > 0.02 * len(sample) + 2


def _refuse_binary(data: bytes) -> None:
    if _has_many_controls(data):
        raise Unparsable("binary_file", "The file holds binary data, not text.")


def _detection_sample(data: bytes) -> bytes:
    """The start of the data, cut at a line break, so that no character is split."""
    if len(data) <= SAMPLE_BYTES:
        return data
    cut = data.rfind(b"\n", 0, SAMPLE_BYTES)
    return data[: cut if cut > 0 else SAMPLE_BYTES]


def _detect_encoding(data: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(data, cp_isolation=_CANDIDATES)
    best = matches.best()
    if best is not None and best.language == "Turkish" and _TURKISH.search(data):
        return "cp1254"
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if _reads_as_western(data):
        # Most Central European letters share their bytes with Western ones: another encoding than
        # cp1252 needs a clearly recognised language. Text of DOS has bytes that cp1252 lacks.
        western_coherence = western.coherence if western else 0.0
        margin = 1 if best is not None and best.encoding == "cp850" else 0.01
        if best is None or best.coherence <= western_coherence + margin:
            return "cp1252"
    if best is None:
        best = from_bytes(data, cp_isolation=_RARE_CANDIDATES).best()
    if best is None:
        raise Unparsable(
            "unknown_encoding",
            "The text's encoding could not be detected.",
            fix="Save the file as UTF-8 and try again.",
        )
    return best.encoding


def _reads_as_western(data: bytes) -> bool:
    if len(_NO_CP1252.findall(data)) > 0.02 * len(_HIGH_BYTE.findall(data)):
        return False
    text = data.decode("cp1252", errors="ignore")
    letters = [character for character in text[:20_000] if character.isalpha()]
    accented_count = sum(not character.isascii() for character in letters)
    return accented_count <= 0.45 * len(letters) and not _NOT_CP1252.search(text)

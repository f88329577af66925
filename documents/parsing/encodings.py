"""Decode bytes to text, detecting the encoding where it is not declared."""

import codecs
import re

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
    "cp866", "koi8_r", "koi8_u", "iso8859_2", "cp874",
    "gb18030", "big5", "cp932", "euc_jp", "cp949",
]  # fmt: skip
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_UTF8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
# Signs that the text is not cp1252: symbols inside words, capitals after small letters.
_NOT_CP1252 = re.compile(
    r"[a-z\xdf-\xff][\xc0-\xd6\xd8-\xdeŠŽŸ]|\w[¢£¤¥¦¨¬¯±´¸¿¡¹³¼½¾¶†‡‰‹›ˆ˜ƒ×÷]{1,9}[a-zA-Z]|[\x80-\x9f]"
)


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
    if utf16 := _sniff_utf16(data):
        return _decode_as(utf16, data, draft)
    if _is_iso_2022_jp(data):
        return _decode_as("iso2022_jp", data, draft)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
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
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
    invalid_count = text.count(REPLACEMENT)
    draft.warn("invalid_bytes", f"{invalid_count:,} places are not valid {encoding}.")
    return text


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


def _sniff_utf16(data: bytes) -> str | None:
    """Recognise UTF-16 without a mark by NULs on the same side of most byte pairs."""
    head = data[:4096]
    pair_count = len(head) // 2
    if pair_count < 2 or len(data) % 2:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.7 * pair_count and even < 0.05 * pair_count:
        return "utf-16-le"
    if even > 0.7 * pair_count and odd < 0.05 * pair_count:
        return "utf-16-be"
    return None


def _is_iso_2022_jp(data: bytes) -> bool:
    if b"\x1b$" not in data or not data.isascii():
        return False
    try:
        data.decode("iso2022_jp")
    except UnicodeDecodeError:
        return False
    return True


def _refuse_binary(data: bytes) -> None:
    sample = data[:SAMPLE_BYTES]
    if len(_CONTROL.findall(sample)) > 0.02 * len(sample) + 2:
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
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if _reads_as_western(data):
        # Most Central European letters share their bytes with Western ones: another encoding than
        # cp1252 needs a clearly recognised language.
        western_coherence = western.coherence if western else 0.0
        if best is None or best.coherence <= western_coherence + 0.01:
            return "cp1252"
    if best is None:
        raise Unparsable(
            "unknown_encoding",
            "The text's encoding could not be detected.",
            fix="Save the file as UTF-8 and try again.",
        )
    return best.encoding


def _reads_as_western(data: bytes) -> bool:
    text = data.decode("cp1252", errors="ignore")
    letters = [character for character in text[:20_000] if character.isalpha()]
    accented_count = sum(not character.isascii() for character in letters)
    return accented_count <= 0.45 * len(letters) and not _NOT_CP1252.search(text)

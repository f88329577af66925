"""Text as the service stores and hashes it."""

import hashlib
import re
import unicodedata


def hash_text(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text in NFC, with characters that cannot be stored replaced by U+FFFD.

    PostgreSQL rejects NUL, and UTF-8 cannot encode lone surrogates; nothing else changes.
    """
    return unicodedata.normalize("NFC", _UNSTORABLE.sub(REPLACEMENT, text))


def is_text(text: str) -> bool:
    """Whether UTF-8 can encode it: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

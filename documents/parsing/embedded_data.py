"""Leave out data that texts carry for programs, such as pictures in base64."""

import re

MIN_CHARS = 200  # of data without a prefix that says so; hashes and keys are shorter
_DATA_URI = re.compile(
    r"data:([\w.+-]{1,80}/[\w.+-]{1,80})[;,][^\s\"'<>()\[\]\\]{60,}+", re.IGNORECASE
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4,}+\s{0,4}+)++={0,2}\s*")
_KINDS = tuple(map(re.compile, ("[A-Z]", "[a-z]", "[0-9]")))


def shorten_data_uris(text: str) -> str:
    """Keep only what kind of data each of them holds: ``data:image/png``."""
    return _DATA_URI.sub(r"data:\1", text) if "data:" in text else text


def is_base64(text: str) -> bool:
    """Whether a text is long and nothing but base64; such texts have letters of both cases and
    digits, which sequences of genes and rows of one sign have not."""
    return (
        len(text) >= MIN_CHARS
        and _BASE64.fullmatch(text) is not None
        and max(map(len, text.split())) >= MIN_CHARS // 4
        and all(kind.search(text) for kind in _KINDS)
    )

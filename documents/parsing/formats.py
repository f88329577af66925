"""List the supported file formats and detect the format of a file by suffix and content."""

import re
import zipfile
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path, PurePath

from documents.exceptions import Unparsable
from documents.parsing import archives

HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Format:
    """``reader`` is the module in this package and its function that reads the format;
    ``container`` the required type of content; ``version`` is raised by hand when files are read
    into another text than before, so that new builds read old ones anew."""

    name: str
    reader: str
    media_type: str
    suffixes: tuple[str, ...]
    container: str = "text"  # text, pdf, rtf, zip, ole, or image
    version: int = 1


# Ending -> the name of its grammar in tree-sitter-language-pack.
LANGUAGES = {
    ".py": "python", ".js": "javascript", ".ts": "typescript", ".jsx": "tsx", ".tsx": "tsx",
    ".java": "java", ".kt": "kotlin", ".scala": "scala", ".c": "c", ".h": "cpp", ".cpp": "cpp",
    ".hpp": "cpp", ".cs": "csharp", ".go": "go", ".rs": "rust", ".rb": "ruby", ".php": "php",
    ".swift": "swift", ".lua": "lua", ".pl": "perl", ".jl": "julia", ".sh": "bash",
}  # fmt: skip
OTHER_SOURCES = (
    ".r", ".sql", ".css", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".tex", ".rst", ".adoc", ".org",
)  # fmt: skip
OLD_OFFICE = "office:read"
ZIP_TYPE = "application/zip"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
FORMATS = (
    Format("PDF", "pdf:read", "application/pdf", (".pdf",), "pdf", version=5),
    Format(
        "Word",
        "docx:read",
        f"{_OFFICE}wordprocessingml.document",
        (".docx", ".docm", ".dotx", ".dotm"),
        "zip",
        version=3,
    ),
    Format(
        "PowerPoint",
        "pptx:read",
        f"{_OFFICE}presentationml.presentation",
        (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
        "zip",
        version=3,
    ),
    Format(
        "Excel",
        "xlsx:read",
        f"{_OFFICE}spreadsheetml.sheet",
        (".xlsx", ".xlsm", ".xltx", ".xltm"),
        "zip",
        version=3,
    ),
    Format("EPUB", "epub:read", "application/epub+zip", (".epub",), "zip", version=2),
    Format(
        "OpenDocument text", "opendocument:read", f"{_OPEN}text", (".odt", ".ott"), "zip", version=3
    ),
    Format(
        "OpenDocument presentation",
        "opendocument:read",
        f"{_OPEN}presentation",
        (".odp", ".otp"),
        "zip",
        version=3,
    ),
    Format(
        "OpenDocument spreadsheet",
        "opendocument:read",
        f"{_OPEN}spreadsheet",
        (".ods", ".ots"),
        "zip",
        version=3,
    ),
    Format("TIFF", "image:read_scan", "image/tiff", (".tif", ".tiff"), "image"),
    Format("BMP", "image:read_scan", "image/bmp", (".bmp",), "image"),
    Format("ZIP", "archives:read", ZIP_TYPE, (".zip",), "zip"),
    Format("RTF", "rtf:read", "application/rtf", (".rtf",), "rtf", version=3),
    Format("HTML", "html:read", "text/html", (".html", ".htm", ".xhtml"), version=2),
    Format("Markdown", "markdown:read", "text/markdown", (".md", ".markdown"), version=3),
    Format("CSV", "csv:read", "text/csv", (".csv",), version=2),
    Format("TSV", "csv:read", "text/tab-separated-values", (".tsv",), version=2),
    Format("JSON", "json:read", "application/json", (".json",), version=2),
    Format("JSON Lines", "json:read_lines", "application/jsonl", (".jsonl", ".ndjson"), version=2),
    Format("XML", "xml:read", "application/xml", (".xml",), version=2),
    Format(
        "notebook", "markdown:read_notebook", "application/x-ipynb+json", (".ipynb",), version=3
    ),
    Format("e-mail", "eml:read", "message/rfc822", (".eml",), version=2),
    Format("MBOX", "eml:read_mbox", "application/mbox", (".mbox",)),
    Format(
        "Outlook message", "msg:read", "application/vnd.ms-outlook", (".msg",), "ole", version=2
    ),
    Format("WebVTT", "transcripts:read", "text/vtt", (".vtt",)),
    Format("SRT", "transcripts:read", "application/x-subrip", (".srt",)),
    Format("calendar", "ics:read", "text/calendar", (".ics",)),
    Format("Excel XML", "spreadsheet_xml:read", "application/vnd.ms-excel", ()),
    Format("old Word", OLD_OFFICE, "application/msword", (".doc",), "ole", version=3),
    Format("old Excel", OLD_OFFICE, "application/vnd.ms-excel", (".xls",), "ole", version=3),
    Format(
        "old PowerPoint", OLD_OFFICE, "application/vnd.ms-powerpoint", (".ppt",), "ole", version=3
    ),
    Format("source code", "code:read", "text/plain", tuple(LANGUAGES), version=2),
    Format(
        "plain text",
        "text:read",
        "text/plain",
        (".txt", ".text", ".log", "", *OTHER_SOURCES),
        version=2,
    ),
)

# Read only for an index of images; an index of texts has no use for them.
IMAGE_FORMATS = (
    Format("PNG", "image:read", "image/png", (".png",), "image", version=2),
    Format("JPEG", "image:read", "image/jpeg", (".jpg", ".jpeg"), "image", version=2),
    Format("WebP", "image:read", "image/webp", (".webp",), "image", version=2),
    Format("GIF", "image:read", "image/gif", (".gif",), "image", version=2),
)
# In which scanners and fax machines write pages.
_SCAN_FORMATS = tuple(format_ for format_ in FORMATS if format_.container == "image")
IMAGE_TYPES = frozenset(format_.media_type for format_ in (*IMAGE_FORMATS, *_SCAN_FORMATS))

_BY_SUFFIX = {suffix: format_ for format_ in FORMATS for suffix in format_.suffixes}
_IMAGES_BY_SUFFIX = {suffix: format_ for format_ in IMAGE_FORMATS for suffix in format_.suffixes}
_BY_MEDIA_TYPE = {format_.media_type: format_ for format_ in FORMATS}
_BY_NAME = {format_.name: format_ for format_ in FORMATS}
_IMAGE_MAGIC = {
    "PNG": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "JPEG": re.compile(rb"\xff\xd8\xff"),
    "WebP": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "GIF": re.compile(rb"GIF8[79]a"),
    "TIFF": re.compile(rb"II[*+]\0|MM\0[*+]"),
    "BMP": re.compile(rb"BM.{4}\0{4}", re.DOTALL),
}

# First bytes of files that are often misnamed; used only for a better message.
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UNSUPPORTED_MAGIC = {
    _OLE_MAGIC: "a legacy or protected Office file",
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"\x7fELF": "a program",
}
_OTHER_ZIP = "a ZIP archive"
# The main parts of documents, templates and shows, with and without macros.
_MAIN_PARTS = {
    "Word": re.compile(rb"(wordprocessingml\.\w+|ms-word\.\w+\.\w+)\.main\+xml"),
    "PowerPoint": re.compile(rb"(presentationml\.\w+|ms-powerpoint\.\w+\.\w+)\.main\+xml"),
    "Excel": re.compile(rb"(spreadsheetml\.\w+|ms-excel\.\w+\.\w+)\.main\+xml"),
}


def guess_media_type(file_name: str) -> str:
    format_ = (_BY_SUFFIX | _IMAGES_BY_SUFFIX).get(PurePath(file_name).suffix.lower())
    return format_.media_type if format_ else guess_type(file_name)[0] or "application/octet-stream"


def add_missing_suffix(file_name: str, media_type: str) -> str:
    """The name of a file that was sent as of this media type, with a suffix by which it is read:
    of HTML always its own, because addresses end as the program does that writes the page."""
    format_ = _BY_MEDIA_TYPE.get(media_type)
    suffix = PurePath(file_name).suffix.lower()
    is_known = suffix in _BY_SUFFIX and suffix and media_type != "text/html"
    if format_ is None or is_known or suffix in format_.suffixes:
        return file_name
    return file_name + format_.suffixes[0]


def detect_format(path: Path, file_name: str, *, takes_images: bool = False) -> Format:
    """The format by which ``path`` is read.

    A known suffix must agree with the content; for images the content alone decides. With an
    unknown suffix only formats with a signature are accepted: arbitrary bytes read as text would
    index noise.

    Raises:
        Unparsable: ``unsupported_format``, ``wrong_format``, ``encrypted_file``.
    """
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    suffix = PurePath(file_name).suffix.lower()
    by_suffix = _BY_SUFFIX | _IMAGES_BY_SUFFIX if takes_images else _BY_SUFFIX
    format_of_suffix = by_suffix.get(suffix)
    if not head and format_of_suffix is not None:
        if format_of_suffix.container != "text":
            raise Unparsable("empty_file", "The file is empty (0 bytes).")
        return format_of_suffix

    detected_format, detected_name = _identify(path, head)
    if takes_images and (image := _identify_image(head, IMAGE_FORMATS)) is not None:
        detected_format = image
    if format_of_suffix is None:
        if detected_format is None:
            readable = sorted(each for each in by_suffix if each)
            raise Unparsable(
                "unsupported_format",
                f"Files named {suffix} cannot be read."
                if suffix
                else "The file's format is not known.",
                fix=f"Convert it to one of {', '.join(readable)}.",
            )
        return detected_format
    if format_of_suffix.container == "text" and detected_format is None and detected_name == "":
        return format_of_suffix
    if format_of_suffix.media_type == ZIP_TYPE and detected_name == _OTHER_ZIP:
        return format_of_suffix
    if format_of_suffix.reader == OLD_OFFICE and head.startswith(_OLE_MAGIC):
        return detected_format or format_of_suffix
    if format_of_suffix.reader == OLD_OFFICE and (disguised := _identify_report(head)):
        return disguised
    # Files named .doc may hold RTF or newer Word.
    if suffix in ("", ".doc") and detected_format is not None:
        return detected_format
    if detected_format is not None and format_of_suffix.reader == detected_format.reader:
        return detected_format
    if (
        format_of_suffix.container == "zip"
        and head.startswith(_OLE_MAGIC)
        and _holds_name(path, "EncryptedPackage")  # [MS-OFFCRYPTO] 2.3
    ):
        raise archives.make_password_error()
    description = detected_format.name if detected_format else detected_name or _describe_text(head)
    raise Unparsable(
        "wrong_format",
        f"The file's name says {suffix or 'text'}, but its content is {description}.",
        fix="Rename the file so that its extension matches its content.",
    )


def _identify(path: Path, head: bytes) -> tuple[Format | None, str]:
    """The format that the bytes show, else a description of them ("" if they may be text)."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        format_ = _identify_zip(path)
        return (format_, "") if format_ else (None, _OTHER_ZIP)
    if head.startswith(_OLE_MAGIC) and _holds_name(path, "__properties_version1.0"):
        return _BY_NAME["Outlook message"], ""
    if head.startswith(b"{\\rtf"):
        return _BY_NAME["RTF"], ""
    if (scan := _identify_image(head, _SCAN_FORMATS)) is not None:
        return scan, ""
    for magic, words in _UNSUPPORTED_MAGIC.items():
        if head.startswith(magic):
            return None, words
    # PDF readers accept junk before the header; text that merely mentions it is still text.
    at = head[:1024].find(b"%PDF-")
    if at == 0 or (at > 0 and b"\nendobj" in head.replace(b"\r", b"\n")):
        return _BY_NAME["PDF"], ""
    return None, ""


def _identify_report(head: bytes) -> Format | None:
    """What programs write that name a file .xls or .doc so that Office opens it."""
    start = head.removeprefix(b"\xff\xfe").replace(b"\0", b"").lower()
    if b"urn:schemas-microsoft-com:office:spreadsheet" in start:
        return _BY_NAME["Excel XML"]
    return _BY_NAME["HTML"] if re.search(rb"<(html|table|body)[\s>]", start) else None


def _identify_image(head: bytes, formats: tuple[Format, ...]) -> Format | None:
    return next((each for each in formats if _IMAGE_MAGIC[each.name].match(head)), None)


def _identify_zip(path: Path) -> Format | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "mimetype" in names:
                with archive.open("mimetype") as stream:
                    declared = stream.read(64).strip().decode("ascii", "replace")
                declared = declared.removesuffix("-template")
                if declared in _BY_MEDIA_TYPE:
                    return _BY_MEDIA_TYPE[declared]
            if "META-INF/container.xml" in names:
                return _BY_NAME["EPUB"]
            if "[Content_Types].xml" not in names:
                return None
            with archive.open("[Content_Types].xml") as stream:
                types = stream.read(2**20)
    except archives.ARCHIVE_ERRORS:
        return None
    return next((_BY_NAME[name] for name, part in _MAIN_PARTS.items() if part.search(types)), None)


def _describe_text(head: bytes) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:15].lower()
    return "HTML" if start.startswith((b"<!doctype html", b"<html")) else "something else"


def _holds_name(path: Path, name: str) -> bool:
    """Whether an OLE file contains a stream of this name."""
    marker = name.encode("utf-16-le")
    with path.open("rb") as stream:
        tail = b""
        while block := stream.read(2**20):
            if marker in tail + block:
                return True
            tail = block[-len(marker) :]
    return False

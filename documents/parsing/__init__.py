"""Files in, pages of clean text out.

``parse_file`` is the door. Readers (one module a format) meet hostile files, so they run in
child processes under limits and never in the caller's. Nothing here knows a database; cutting
pages into sources is ``documents.sources``.
"""

from core.text import clean_text, is_text
from documents.parsing.document import Limits, ParsedDocument, ParsedPage, ParseWarning
from documents.parsing.formats import FORMATS, IMAGE_TYPES, SUPPORTED_SUFFIXES, Format
from documents.parsing.process_pool import close_children, parse_file

__all__ = [
    "FORMATS",
    "IMAGE_TYPES",
    "SUPPORTED_SUFFIXES",
    "Format",
    "Limits",
    "ParseWarning",
    "ParsedDocument",
    "ParsedPage",
    "clean_text",
    "close_children",
    "is_text",
    "parse_file",
]

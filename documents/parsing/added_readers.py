"""Readers that are used instead of Strata's own: those that ``STRATA_READERS`` names, else classes
that installed distributions add, with the method ``load_data`` of LlamaIndex's readers."""

import os
import sys
import tempfile
from functools import cache
from importlib.metadata import entry_points, packages_distributions, version
from pathlib import Path, PurePath
from pkgutil import resolve_name

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft
from documents.parsing.formats import FORMATS, IMAGE_FORMATS

DOCLING_SERVE = "docling-serve"
# A name that the setting may give -> the function of this package that it means.
NAMED_READERS = {
    "docling": "documents.parsing.docling:read",
    "unstructured": "documents.parsing.unstructured:read",
    DOCLING_SERVE: "documents.parsing.docling:read_answer",
}


def find_added_reader(file_name: str) -> str:
    """The name or the class ("module:Class") of what reads files named so instead of Strata's own
    reader, or empty."""
    from django.conf import settings  # a child, which imports this module too, needs no Django

    ending = PurePath(file_name).suffix.lower()[1:]
    return str(settings.STRATA_READERS.get(ending) or _find_entry_points().get(ending, ""))


def strip_label(reader: str) -> str:
    """``docling-serve@2`` is ``docling-serve``; by another label, documents are read anew."""
    return reader.partition("@")[0]


def describe_reader(file_name: str, media_type: str) -> str:
    """What reads a file of this name now, with its version."""
    if reader := find_added_reader(file_name):
        return f"{reader} {_find_version(reader)}".strip()[:150]
    all_formats = (*FORMATS, *IMAGE_FORMATS)
    versions = [each.version for each in all_formats if each.media_type == media_type]
    return f"strata {max(versions, default=1)}"


def read_with(reader: str, path: Path, draft: DocumentDraft) -> None:
    """Read a file with a reader that is not Strata's own. Raises ``Unparsable`` with
    ``reader_missing`` if the reader, or what it needs, is missing."""
    if sys.modules.get("numpy") is None:
        sys.modules.pop("numpy", None)  # the child process hides it from Strata's own readers
    # No file can be written. Libraries may ask where one could be, but must not find gcc, for which
    # ctypes would write one to look for a library.
    tempfile.tempdir, os.environ["PATH"] = "/tmp", ""  # noqa: S108
    named = NAMED_READERS.get(strip_label(reader))
    found = None
    try:
        found = resolve_name(named or reader)
        documents = found(path, draft) if named else found().load_data(path)
    except (ImportError, AttributeError) as error:
        if found and not isinstance(error, ImportError):
            raise
        raise Unparsable(
            "reader_missing",
            f"The reader {reader} cannot be used: {str(error)[:300].rstrip('.')}.",
            fix="Install what it needs, or correct STRATA_READERS.",
        ) from error
    for document in documents or ():
        draft.add_page(document.text, str(document.metadata.get("page_label", "")))


@cache
def _find_entry_points() -> dict[str, str]:
    return {each.name: each.value for each in entry_points(group="strata.readers")}


@cache
def _find_version(reader: str) -> str:
    """Of the distribution that adds the reader, else of those that have its package: a namespace
    belongs to several."""
    for each in entry_points(group="strata.readers"):
        if each.value == reader and each.dist:
            return str(each.dist.version)
    package = strip_label(reader).partition(":")[0].partition(".")[0]
    return " ".join(sorted({version(each) for each in packages_distributions().get(package, ())}))

"""Open ZIP-based documents safely: size limits, no encryption, no DTD.

The text of a ZIP itself is the list of its files, each of which becomes a document of its own."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO
from xml.parsers import expat

from lxml import etree

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft, Limits

MAX_MEMBERS = 50_000
BLOCK_BYTES = 2**20

ARCHIVE_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
    OSError, ValueError, UnicodeError,
)  # fmt: skip


class _PrologEnded(Exception):
    """The root element was read, so no DTD can follow."""


@contextmanager
def open_archive(path: Path | IO[bytes], limits: Limits) -> Iterator[zipfile.ZipFile]:
    """Open the archive after checking its declared sizes against the limits.

    ``zipfile`` never returns more of a member than its declared size, so the check also holds while
    unpacking.

    Raises:
        Unparsable: ``too_large``, ``encrypted_file``, ``damaged_file``.
    """
    try:
        archive = zipfile.ZipFile(path)
    except ARCHIVE_ERRORS as error:
        raise Unparsable("damaged_file", "The file is damaged: its archive is broken.") from error
    with archive:
        members = archive.infolist()
        expanded_bytes = sum(member.file_size for member in members)
        if expanded_bytes > limits.max_expanded_bytes or len(members) > MAX_MEMBERS:
            raise Unparsable(
                "too_large",
                f"The file expands to {expanded_bytes:,} bytes in {len(members):,} parts; "
                f"the limit is {limits.max_expanded_bytes:,} bytes in {MAX_MEMBERS:,} parts.",
                fix="Split it, or take out large pictures and media.",
            )
        if any(member.flag_bits & 0x1 for member in members):
            raise make_password_error()
        yield archive


def read(path: Path, draft: DocumentDraft) -> None:
    with open_archive(path, draft.limits) as archive:
        for member in archive.infolist():
            if member.is_dir() or _is_left_out(member.filename, draft):
                continue
            with archive.open(member) as stream:
                draft.add_file(member.filename, iter(partial(stream.read, BLOCK_BYTES), b""))
        draft.add_page("\n".join(draft.file_names))


def _is_left_out(name: str, draft: DocumentDraft) -> bool:
    parts = re.split(r"[/\\]", name)
    if ".." in parts:
        draft.leave_out("outside_path", name, "Files whose path has a part '..' were left out")
        return True
    return any(part.startswith((".", "__MACOSX")) for part in parts) or is_inner_zip(name, draft)


def is_inner_zip(name: str, draft: DocumentDraft) -> bool:
    """Whether a file in this one is a ZIP, which is left out: nothing is unpacked twice."""
    if not name.lower().endswith(".zip"):
        return False
    draft.leave_out("inner_zip", name, "ZIPs in the file were left out")
    return True


def make_password_error() -> Unparsable:
    return Unparsable(
        "encrypted_file",
        "The file is protected by a password.",
        fix="Save it without a password and try again.",
    )


def check_office_archive(path: Path | IO[bytes], limits: Limits) -> None:
    """Refuse an Office archive that is too large or whose XML declares a DTD.

    The format forbids DTDs (ECMA-376 part 2, 8.1.4). Without one there are no entities to expand,
    so any library's XML parser is safe after this check.
    """
    with open_archive(path, limits) as archive:
        for member in archive.infolist():
            if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                with archive.open(member) as stream:
                    _refuse_doctype(stream)


def make_xml_parser(*, recover: bool = False) -> etree.XMLParser:
    """A parser that neither expands nor fetches entities. ``recover``: it reads what it can."""
    return etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
    )


def parse_xml_part(archive: zipfile.ZipFile, name: str) -> etree._Element:
    """The root element of a part; entities are neither expanded nor fetched. Raises ``Unparsable``:
    ``damaged_file``."""
    root = None
    with suppress(KeyError, etree.XMLSyntaxError):
        root = etree.fromstring(archive.read(name), make_xml_parser(recover=True))
    if root is None:
        raise Unparsable("damaged_file", f"The part {name} of the file cannot be read.")
    return root


def _refuse_doctype(stream: IO[bytes]) -> None:
    def found_doctype(*_: object) -> None:
        raise Unparsable("damaged_file", "The file holds XML with a DTD, which is not allowed.")

    def found_root(*_: object) -> None:
        raise _PrologEnded

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = found_doctype
    parser.StartElementHandler = found_root
    try:
        while block := stream.read(4096):
            parser.Parse(block)
    except (_PrologEnded, expat.ExpatError):
        return  # the reader reports invalid XML: it stops where expat stopped

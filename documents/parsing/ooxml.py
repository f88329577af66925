"""The parts of an Office Open XML file, found by their relationships. Strict files are read as
Transitional ones, which differ in their namespaces alone (ECMA-376 parts 1 and 4)."""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from lxml import etree

from documents.exceptions import Unparsable
from documents.parsing.archives import check_office_archive, make_xml_parser, open_archive
from documents.parsing.document import DocumentDraft

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PREFIXES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "v": "urn:schemas-microsoft-com:vml",
    "xdr": "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
}


class Relation(NamedTuple):
    kind: str  # the last word of its type
    part: str


@cache
def qn(name: str) -> str:
    """``w:p`` with its namespace, as lxml writes it."""
    prefix, _, local = name.partition(":")
    return f"{{{_PREFIXES[prefix]}}}{local}"


def is_on(parent: Any, name: str) -> bool:
    """Whether there is a child such as ``w:vanish`` that is not set to off."""
    element = parent.find(qn(name))
    return element is not None and element.get(qn("w:val")) not in {"0", "false", "off", "none"}


def read_value(parent: Any, name: str) -> str | None:
    """The value of a child such as ``w:pStyle``."""
    element = parent.find(qn(name))
    value = None if element is None else element.get(qn("w:val"))
    return None if value is None else str(value)


class Package:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())
        self._relations: dict[str, dict[str, Relation]] = {}
        main = self.find("", "officeDocument")
        if main is None:
            raise Unparsable("damaged_file", "The file does not say where its content is.")
        self.main = main

    @property
    def title(self) -> str:
        part = self.find("", "core-properties")
        return (self.read(part).findtext(_TITLE) or "") if part else ""

    def open(self, part: str) -> IO[bytes]:
        return self._archive.open(part)

    def read_bytes(self, part: str) -> bytes:
        data = self._archive.read(part)
        return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data)

    def read(self, part: str) -> Any:
        """The root element. Raises ``Unparsable``: ``damaged_file``."""
        try:
            return etree.fromstring(self.read_bytes(part), make_xml_parser())
        except (etree.XMLSyntaxError, KeyError) as error:
            raise Unparsable(
                "damaged_file", f"The part {part} of the file cannot be read."
            ) from error

    def relations(self, part: str) -> dict[str, Relation]:
        """The parts that this one refers to, by the id of the reference; of the package for ""."""
        if part not in self._relations:
            folder, name = posixpath.split(part)
            source = posixpath.join(folder, "_rels", f"{name}.rels")
            found = self._relations[part] = {}
            for element in self.read(source) if source in self._names else ():
                target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
                if element.get("TargetMode") != "External" and target[1:] in self._names:
                    kind = element.get("Type", "").rpartition("/")[2]
                    found[element.get("Id", "")] = Relation(kind, target[1:])
        return self._relations[part]

    def find_all(self, part: str, kind: str) -> list[str]:
        return [each.part for each in self.relations(part).values() if each.kind == kind]

    def find(self, part: str, kind: str) -> str | None:
        return next(iter(self.find_all(part, kind)), None)

    def read_related(self, part: str, kind: str) -> Any:
        """The root of the part of this kind that the part refers to; an empty one without it."""
        found = self.find(part, kind)
        return etree.Element("none") if found is None else self.read(found)


@contextmanager
def open_package(path: Path, draft: DocumentDraft) -> Iterator[Package]:
    """Check the archive, open it and propose its title; raises ``Unparsable``."""
    check_office_archive(path, draft.limits)
    with open_archive(path, draft.limits) as archive:
        package = Package(archive)
        draft.propose_title(package.title)
        yield package

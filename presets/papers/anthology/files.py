"""Find the Anthology files at a path and iterate over their papers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.exceptions import InvalidInput
from presets.papers.anthology.papers import Paper
from presets.papers.anthology.reading import (
    READ_ERRORS,
    PersonNames,
    open_decompressed,
    read_collection,
    read_json_lines,
    read_person_names,
)

_READ_BYTES = 1 << 20
_XML_SUFFIXES = (".xml", ".xml.gz")
_JSON_LINES_SUFFIXES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Anthology:
    files: tuple[Path, ...]
    people: PersonNames

    def iter_papers(self) -> Iterator[Paper | InvalidInput]:
        """Yield each paper, or the error in its place, in the order of the files."""
        for path in self.files:
            yield from (
                read_collection(path, self.people) if _is_xml(path) else read_json_lines(path)
            )

    def count_papers(self) -> int:
        """Estimate the number of papers. Reads all files: a second for the whole Anthology."""
        return sum(_count_papers(path) for path in self.files)


def open_anthology(path: Path) -> Anthology:
    """Open a folder with the Anthology's ``xml/`` and ``yaml/``, a clone of its repository, one of
    its XML files, or a JSON Lines file. Files may be gzipped.

    Raises:
        InvalidInput: the path holds no such files, or the table of names cannot be read.
    """
    if path.is_dir():
        folder = path / "data" if (path / "data" / "xml").is_dir() else path
        xml = folder / "xml" if (folder / "xml").is_dir() else folder
        files = tuple(sorted(path for path in xml.iterdir() if path.is_file() and _is_xml(path)))
        if files:
            return Anthology(files, read_person_names(xml.parent / "yaml"))
    elif path.is_file() and _is_xml(path):
        return Anthology((path,), read_person_names(path.parent.parent / "yaml"))
    elif path.is_file() and path.name.endswith(_JSON_LINES_SUFFIXES):
        return Anthology((path,), PersonNames())
    raise InvalidInput(
        f"{path} holds no files of the ACL Anthology.",
        field="path",
        fix="Name a folder that holds xml/ and yaml/, an .xml or .xml.gz file of it, or a .jsonl "
        "or .jsonl.gz file of papers.",
    )


def _is_xml(path: Path) -> bool:
    return path.name.endswith(_XML_SUFFIXES)


def _count_papers(path: Path) -> int:
    mark = b"<paper " if _is_xml(path) else b"\n"
    count, tail = 0, b""
    try:
        with open_decompressed(path) as file:
            while block := file.read(_READ_BYTES):
                # The tail is shorter than the mark, so no mark is counted twice.
                count += (tail + block).count(mark)
                tail = block[-(len(mark) - 1) :] if len(mark) > 1 else b""
    except READ_ERRORS:
        pass  # reading the papers reports the error
    return count

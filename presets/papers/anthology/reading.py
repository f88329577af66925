"""Find the Anthology's files, and read papers and the names of people from its XML and YAML, or
from JSON Lines."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import yaml
from django.conf import settings
from lxml import etree
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from core.exceptions import InvalidInput, Malformed
from core.http_formats import Line, iter_lines
from presets.papers.anthology.papers import Paper, markup_to_text, to_plain_text

# Raised when a missing, truncated or damaged file is read.
READ_ERRORS: Final = (OSError, EOFError, zlib.error)
_READ_BYTES = 1 << 20
_XML_SUFFIXES = (".xml", ".xml.gz")
_JSON_LINES_SUFFIXES = (".jsonl", ".jsonl.gz")


def open_decompressed(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressing it if its name ends with ``.gz``."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


# The C loader reads megabytes in seconds; some builds of PyYAML lack it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class PersonNames:
    """``by_id`` and ``by_name``: person id or printed name -> the Anthology's name for the person.
    ``by_name`` leaves out names that several people share."""

    by_id: Mapping[str, str] = field(default_factory=dict)
    by_name: Mapping[str, str] = field(default_factory=dict)

    def names(self, printed: str, person_id: str | None) -> list[str]:
        """The name as printed, and the Anthology's name for that person if it differs."""
        known = self.by_id.get(person_id) if person_id else self.by_name.get(printed)
        return [printed] if known is None or known == printed else [printed, known]


def read_person_names(folder: Path) -> PersonNames:
    """Read ``people.yaml``, or ``name_variants.yaml``, its name until 2025; empty if there is
    neither. Raises ``InvalidInput``: the file has another format."""
    people, variants = folder / "people.yaml", folder / "name_variants.yaml"
    path = people if people.is_file() else variants
    if not path.is_file():
        return PersonNames()
    try:
        with path.open("rb") as file:
            content = yaml.load(file, _Loader)  # noqa: S506  (a safe loader)
        return _build_person_names(_iter_persons(content))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput(
            f"{path.name} is not the Anthology's table of names.", field=str(path)
        ) from None


def _iter_persons(content: Any) -> Iterable[tuple[str | None, list[str]]]:
    """Yield each person's id and names, the Anthology's preferred name first."""
    if isinstance(content, Mapping):
        for person_id, about in content.items():
            yield person_id, [_full_name(name) for name in about.get("names") or ()]
        return
    for about in content or ():
        names = [about["canonical"], *(about.get("variants") or ())]
        yield about.get("id"), [_full_name(name) for name in names]


def _build_person_names(persons: Iterable[tuple[str | None, list[str]]]) -> PersonNames:
    by_id: dict[str, str] = {}
    bearers: dict[str, set[str]] = {}
    for person_id, names in persons:
        if not names:
            continue
        if person_id is not None:
            by_id[str(person_id)] = names[0]
        for name in names:
            bearers.setdefault(name, set()).add(names[0])
    by_name = {name: next(iter(known)) for name, known in bearers.items() if len(known) == 1}
    return PersonNames(by_id, by_name)


def _full_name(name: Mapping[str, Any]) -> str:
    return to_plain_text(f"{name.get('first') or ''} {name['last']}")


class _PaperLine(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: str = Field(min_length=1, max_length=255)
    title: str = ""
    abstract: str | None = None
    authors: list[str] = []
    year: int | None = None
    venue: list[str] = []
    awards: list[str] = []
    doi: str | None = None

    @field_validator("venue", mode="before")
    @classmethod
    def _wrap_single_venue(cls, venue: Any) -> Any:
        return [venue] if isinstance(venue, str) else venue


def read_json_lines(path: Path) -> Iterator[Paper | InvalidInput]:
    """Yield a paper, or the error, for each line that is not blank."""
    try:
        with open_decompressed(path) as file:
            for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
                try:
                    yield _read_line(line)
                except InvalidInput as error:
                    error.field = f"{path}:{line.number}"
                    yield error
    except READ_ERRORS as error:
        yield InvalidInput(f"The file cannot be read: {error}.", field=str(path))


def _read_line(line: Line) -> Paper:
    try:
        content = _PaperLine.model_validate(line.load_json())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise Malformed(f"The line is not a valid paper: {where}: {first['msg']}.") from None
    names = (to_plain_text(name) for name in content.authors)
    return Paper(
        id=content.id,
        title=to_plain_text(content.title),
        abstract=to_plain_text(content.abstract or ""),
        authors=tuple(dict.fromkeys(name for name in names if name)),
        year=content.year,
        venues=tuple(venue.strip().lower() for venue in content.venue),
        awards=tuple(to_plain_text(award) for award in content.awards),
        doi=(content.doi or "").strip(),
    )


_YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True, slots=True)
class _VolumeData:
    year: int | None = None
    venues: tuple[str, ...] = ()


def read_collection(path: Path, people: PersonNames) -> Iterator[Paper | InvalidInput]:
    """Yield a file's papers in order, with one in memory at a time. If the XML is invalid, the last
    element is an error. Front matter is not a paper."""
    volume = _VolumeData()
    try:
        with open_decompressed(path) as file:
            # By default the parser loads no DTD and uses no network. The ids are not needed.
            for _, element in etree.iterparse(
                file, events=("end",), tag=("meta", "paper"), collect_ids=False
            ):
                parent = element.getparent()
                if parent is None or parent.tag != "volume":
                    continue  # the meta element of an event
                if element.tag == "meta":
                    volume = _read_volume(element)
                else:
                    yield _read_paper(element, parent, volume, people)
                    element.clear()
                while element.getprevious() is not None:  # free the cleared elements
                    del parent[0]
    except etree.XMLSyntaxError as error:
        yield InvalidInput(f"The XML is truncated or damaged: {error.msg}.", field=str(path))
    except READ_ERRORS as error:
        yield InvalidInput(f"The file cannot be read: {error}.", field=str(path))


def make_paper_id(collection: str, volume: str, paper: str) -> str:
    """The Anthology's id of a paper.

    Since 2020 an id names the collection, the volume and the paper. Before, the last four digits
    were volume and paper: one digit and three, or for workshops two digits each.

    Source:
        "ACL Anthology IDs", in the Anthology's help for people who submit volumes; and the
        exceptions in its own code for C69 and for the workshops of D19.
    """
    if collection[:1].isdigit():
        return f"{collection}-{volume}.{paper}"
    number = int(volume)
    if collection.startswith("W") or collection == "C69" or (collection == "D19" and number >= 5):
        return f"{collection}-{number:02d}{int(paper):02d}"
    return f"{collection}-{number}{int(paper):03d}"


def _read_volume(meta: etree._Element) -> _VolumeData:
    venues = tuple(venue.text.strip().lower() for venue in meta.iterfind("venue") if venue.text)
    return _VolumeData(_read_year(meta), venues)


def _read_paper(
    paper: etree._Element, volume: etree._Element, shared: _VolumeData, people: PersonNames
) -> Paper | InvalidInput:
    collection = volume.getparent()
    try:
        name = make_paper_id(
            "" if collection is None else collection.attrib["id"],
            volume.attrib["id"],
            paper.attrib["id"],
        )
    except (KeyError, ValueError):
        return InvalidInput(
            f"Line {paper.sourceline}: the paper, its volume or its collection has no valid "
            "Anthology id."
        )
    awards = (to_plain_text(markup_to_text(award)) for award in paper.iterfind("award"))
    return Paper(
        id=name,
        title=_read_text(paper, "title"),
        abstract=_read_text(paper, "abstract"),
        authors=_read_authors(paper, people),
        year=_read_year(paper) or shared.year,
        venues=shared.venues,
        awards=tuple(dict.fromkeys(award for award in awards if award)),
        doi=(paper.findtext("doi") or "").strip(),
        is_retracted=paper.find("retracted") is not None,
    )


def _read_authors(paper: etree._Element, people: PersonNames) -> tuple[str, ...]:
    names: dict[str, None] = {}  # each once, in order
    for author in paper.iterfind("author"):
        printed = to_plain_text(f"{author.findtext('first') or ''} {author.findtext('last') or ''}")
        if printed:
            names |= dict.fromkeys(people.names(printed, author.get("id")))
    return tuple(names)


def _read_text(paper: etree._Element, tag: str) -> str:
    element = paper.find(tag)
    return "" if element is None else to_plain_text(markup_to_text(element))


def _read_year(element: etree._Element) -> int | None:
    year = _YEAR.search(element.findtext("year") or "")
    return int(year[0]) if year else None


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

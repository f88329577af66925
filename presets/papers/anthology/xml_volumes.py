"""Read papers from the Anthology's XML, plain or gzipped; a file is one collection of volumes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from core.exceptions import InvalidInput
from presets.papers.anthology.compressed import READ_ERRORS, open_decompressed
from presets.papers.anthology.papers import Paper
from presets.papers.anthology.people import PersonNames
from presets.papers.anthology.plain_text import markup_to_text, to_plain_text

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

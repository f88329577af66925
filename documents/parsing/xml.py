"""XML of any kind: the text of its elements, a line for each that holds text. Of data, also the
attributes: in a marked-up text they are for programs. Of feeds, the HTML of entries as text."""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from documents.exceptions import Unparsable
from documents.parsing.archives import make_xml_parser
from documents.parsing.blocks import join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText

_FEEDS = {"rss", "feed", "RDF"}
_HTML_OF_FEEDS = {"description", "encoded", "summary", "content", "title", "subtitle"}
_HTML = re.compile(r"</?[a-z][a-z\d]{0,20}(?:\s[^<>]{0,500})?/?>|&\w{1,20};|&#\w{1,8};", re.I)
# Attributes for programs: names, and values that are addresses, hashes or places in the file.
_TECHNICAL_NAMES = {"class", "style", "lang", "dir", "href", "src", "rel", "xmlns", "version"}
_TECHNICAL_VALUE = re.compile(r"\S*://\S*|#\S*|[\da-f]{8,}(?:-?[\da-f]{4,}){0,9}", re.I)


def read(path: Path, draft: DocumentDraft) -> None:
    draft.check_char_count(path.stat().st_size // 4)
    try:
        root = etree.parse(str(path), make_xml_parser()).getroot()
    except etree.XMLSyntaxError as error:
        raise Unparsable(
            "wrong_format",
            f"The file is not valid XML: {error.msg}.",
            fix="Correct the file, or give it another extension to read it as text.",
        ) from error
    draft.propose_title(root.findtext(".//{*}title"))
    is_feed = etree.QName(root).localname in _FEEDS
    has_data = not is_feed and not any(map(_is_marked_up, root.iter("*")))
    lines = _read_lines(root, is_feed=is_feed, has_data=has_data)
    draft.add_page("\n".join(line for line in lines if line))


def _is_marked_up(element: etree._Element) -> bool:
    """Whether it stands in a text."""
    parent = element.getparent()
    own = parent.text if parent is not None else None
    return bool((own and own.strip()) or (element.tail and element.tail.strip()))


def _read_lines(element: etree._Element, *, is_feed: bool, has_data: bool) -> Iterator[str]:
    """An element with text of its own is a line, with the elements in that text."""
    name = etree.QName(element).localname
    attributes = _read_attributes(element) if has_data else ""
    texts = [element.text, *(child.tail for child in element)]
    children = [child for child in element if isinstance(child.tag, str)]  # not an entity
    if not any(text and text.strip() for text in texts):
        if attributes:
            yield f"{name} {attributes}"
        for child in children:
            yield from _read_lines(child, is_feed=is_feed, has_data=has_data)
        return
    text = "".join(element.itertext())
    if is_feed and name in _HTML_OF_FEEDS and element.get("type") != "text" and _HTML.search(text):
        yield join_blocks(HtmlText.from_html(text).blocks)
    else:
        line = " ".join(text.split())
        yield f"{line} ({attributes})" if attributes else line


def _read_attributes(element: etree._Element) -> str:
    return ", ".join(
        f"{name}: {' '.join(value.split())}"
        for name, value in element.items()
        if name.lower() not in _TECHNICAL_NAMES
        and not name.startswith("{")
        and value.strip()
        and not _TECHNICAL_VALUE.fullmatch(value)
    )

"""XML of any kind: the text of its elements, a line for each that holds text."""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from documents.exceptions import Unparsable
from documents.parsing.archives import make_xml_parser
from documents.parsing.document import DocumentDraft


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
    draft.add_page("\n".join(line for line in _read_lines(root) if line))


def _read_lines(element: etree._Element) -> Iterator[str]:
    """An element with text of its own is a line, with the elements in that text."""
    texts = [element.text, *(child.tail for child in element)]
    children = [child for child in element if isinstance(child.tag, str)]  # not an entity
    if children and not any(text and text.strip() for text in texts):
        for child in children:
            yield from _read_lines(child)
        return
    yield " ".join("".join(element.itertext()).split())

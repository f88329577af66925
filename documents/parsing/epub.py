"""EPUB: one page for each document of the spine, labelled by the contents or its heading."""

import posixpath
import zipfile
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from documents.exceptions import Unparsable
from documents.parsing.archives import open_archive, parse_xml_part
from documents.parsing.blocks import join_blocks
from documents.parsing.document import DocumentDraft
from documents.parsing.html import HtmlText, find_declared_encoding
from documents.parsing.text import decode_text

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"


def read(path: Path, draft: DocumentDraft) -> None:
    with open_archive(path, draft.limits) as archive:
        root_files = parse_xml_part(archive, _CONTAINER).xpath(
            "//*[local-name()='rootfile']/@full-path"
        )
        if not root_files:
            raise Unparsable("damaged_file", "The EPUB does not say where its contents are.")
        package_name = str(root_files[0])
        package = parse_xml_part(archive, package_name)
        titles = package.xpath("//*[local-name()='metadata']/*[local-name()='title']/text()")
        draft.propose_title(str(titles[0]) if titles else "")
        spine = _spine_names(package, posixpath.dirname(package_name))
        draft.check_page_count(len(spine))
        _refuse_encrypted(archive, spine)
        labels = _read_toc_labels(archive, package, posixpath.dirname(package_name))
        for name in spine:
            try:
                data = archive.read(name)
            except KeyError:
                draft.warn("missing_part", f"The part {name} is missing from the file.")
                draft.add_page("", labels.get(name, ""))
                continue
            document = HtmlText.from_html(
                decode_text(data, draft, declared=find_declared_encoding(data[:4096]))
            )
            heading = next((block.text for block in document.blocks if block.level), "")
            unseen = [each for block in document.blocks for each in block.unseen]
            label = labels.get(name) or heading
            draft.add_page(join_blocks(document.blocks), label, unseen=unseen)


def _resolve(folder: str, reference: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(reference.partition("#")[0])))


def _spine_names(package: etree._Element, folder: str) -> list[str]:
    references = {
        element.get("id"): element.get("href")
        for element in package.xpath("//*[local-name()='manifest']/*[local-name()='item']")
    }
    ids = package.xpath("//*[local-name()='spine']/*[local-name()='itemref']/@idref")
    return [_resolve(folder, reference) for id_ in ids if (reference := references.get(str(id_)))]


def _refuse_encrypted(archive: zipfile.ZipFile, spine: list[str]) -> None:
    """Refuse only encrypted chapters; encrypted fonts are common in EPUBs and do no harm."""
    if _ENCRYPTION not in archive.namelist():
        return
    encryption = parse_xml_part(archive, _ENCRYPTION)
    references = encryption.xpath("//*[local-name()='CipherReference']/@URI")
    if not set(spine).isdisjoint(_resolve("", str(reference)) for reference in references):
        raise Unparsable(
            "encrypted_file",
            "The EPUB is protected (DRM).",
            fix="Use a copy without copy protection.",
        )


def _read_toc_labels(
    archive: zipfile.ZipFile, package: etree._Element, folder: str
) -> dict[str, str]:
    """Each part's first label in the table of contents (EPUB 3 nav, EPUB 2 NCX)."""
    documents = package.xpath(
        "//*[local-name()='manifest']/*[local-name()='item']"
        "[contains(concat(' ', @properties, ' '), ' nav ')"
        " or @media-type='application/x-dtbncx+xml']/@href"
    )
    labels: dict[str, str] = {}
    for reference in documents:
        name = _resolve(folder, str(reference))
        try:
            root = parse_xml_part(archive, name)
        except Unparsable:
            continue  # labels are optional
        base = posixpath.dirname(name)
        for link in root.xpath("//*[local-name()='nav']//*[local-name()='a'][@href]"):
            labels.setdefault(_resolve(base, link.get("href")), " ".join(link.itertext()))
        for point in root.xpath("//*[local-name()='navPoint']"):
            targets = point.xpath("./*[local-name()='content']/@src")
            if targets:
                words = point.xpath("string(./*[local-name()='navLabel'])")
                labels.setdefault(_resolve(base, str(targets[0])), str(words))
    return labels

"""Measure how well real documents are read: whether questions find the page that answers them, and
how close the text is to a reference, and whether passages are marked at their place.

It measures no time: the same files give the same figures on any machine.
"""

import difflib
import json
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import isnan, nan
from pathlib import Path
from typing import Any

import pypdfium2
from apted import APTED, Config
from markdown_it import MarkdownIt

from benchmarks.service import measured_service, wait_until_ready
from documents.exceptions import Unparsable
from documents.parsing import ocr, parse_file
from documents.parsing.boxes import Box
from documents.parsing.page_pictures import find_boxes
from documents.parsing.pdf import draw_page, open_pdf
from documents.source_splitting import split_into_sources
from indexing.chunking import split_into_chunks
from indexing.embedding import get_embedder
from indexing.spec import IndexSpec
from tests.serving import ROOT, Service

DATA = ROOT.parent / "shared" / "data"
DEPTHS = (1, 5, 10)
CHUNKS = 1_000
TRANSCRIPTIONS = Path(__file__).with_name("transcriptions.json")


def measure_pages(name: str, index: str) -> None:
    """Print for how many questions a right page is among the first 1, 5 and 10, in each mode.
    ``name``: a folder of documents and ``questions.json``, with the file and the pages (from 1) of
    each answer. ``index``: the preset by which they are indexed."""
    folder = DATA / name
    if not folder.is_dir():
        print(f"{name}: left out, there is no {folder}")
        return
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    files = sorted(path for path in folder.iterdir() if path.name != "questions.json")
    with tempfile.TemporaryDirectory() as specs:
        shutil.copy(ROOT / "specs" / f"{index}.yaml", specs)
        with measured_service(STRATA_SPECS_DIR=specs) as service:
            ids = {path.name: _add(service, index, path) for path in files}
            wait_until_ready(service, len(files), index)
            print(f"{len(questions)} questions over {len(files)} documents of {name}, by {index}:")
            for mode in ("hybrid", "dense", "sparse"):
                for scope, within in (("all documents", {}), ("the right one", ids)):
                    search = {"index": index, "mode": mode}
                    found = [_find_rank(service, search, each, within) for each in questions]
                    shares = (sum(rank <= depth for rank in found) / len(found) for depth in DEPTHS)
                    figures = "".join(f"{share:8.2f}" for share in shares)
                    print(f"  {mode:8}{scope:14}{figures}", flush=True)


def _add(service: Service, index: str, path: Path) -> str:
    answer = service.api.post(
        f"indexes/{index}/artifacts/", files={"file": (path.name, path.read_bytes())}
    )
    answer.raise_for_status()
    return str(answer.json()["id"])


def _find_rank(
    service: Service, search: Mapping[str, Any], question: dict[str, Any], ids: Mapping[str, str]
) -> float:
    """The rank of the first right page, from 1; infinite if it is not found. ``ids``: of the
    documents by their files, if only the right one is searched."""
    parameters: dict[str, Any] = {**search, "query": question["question"]}
    if ids:
        parameters["filter"] = {"artifact_id": ids[question["file"]]}
    answer = service.api.post(
        "search/pages", json=parameters | {"limit": DEPTHS[-1], "group_by": "page"}
    )
    answer.raise_for_status()
    for rank, hit in enumerate(answer.json()["hits"], start=1):
        page = hit["page"]["index"] + 1
        if hit["artifact"]["file_name"] == question["file"] and page in question["gold_pages"]:
            return rank
    return float("inf")


def measure_layout(markitdown: str) -> None:
    """Print how similar (from 0 to 1) what Strata reads of each file is to its reference in
    Markdown: its words, those with the addresses of links, its headings and its tables.
    ``markitdown``: the program whose figures stand beside them, where it is installed."""
    folder = DATA / "layout"
    if not folder.is_dir():
        print(f"layout: left out, there is no {folder}")
        return
    readers: dict[str, Callable[[Path], str | None]] = {"strata": _read_by_strata}
    if program := shutil.which(markitdown):
        readers["markitdown"] = partial(_read_by_markitdown, program)
    else:
        print(f"markitdown: left out, there is no {markitdown} (docs/measurements.md)")
    pairs = [line.split("\t") for line in (folder / "pairs.tsv").read_text().splitlines()[1:]]
    scores: dict[str, list[tuple[float, ...]]] = {name: [] for name in readers}
    print(f"  {'':36}" + "".join(f"{name:>12}: text  links headings tables" for name in readers))
    for file_name, reference_name in pairs:
        reference = (folder / reference_name).read_text(encoding="utf-8")
        row = ""
        for name, read in readers.items():
            found = _compare(reference, read(folder / file_name))
            scores[name].append(found)
            row += f"{'':10}" + "".join("       -" if isnan(s) else f"{s:8.2f}" for s in found)
        print(f"  {file_name:34}{row}")
    for name, rows in scores.items():
        columns = (
            [score for score in column if not isnan(score)] for column in zip(*rows, strict=True)
        )
        means = "".join(f"{statistics.mean(column):8.3f}" for column in columns)
        print(f"  mean of {name:36}{means}")


def _read_by_strata(path: Path) -> str | None:
    try:
        document = parse_file(path, file_name=path.name)
    except Unparsable:
        return None
    return "\n\n".join(page.text for page in document.pages)


def _read_by_markitdown(program: str, path: Path) -> str | None:
    ended = subprocess.run([program, str(path)], capture_output=True, encoding="utf-8")
    return None if ended.returncode else ended.stdout


def _compare(expected: str, found: str | None) -> tuple[float, ...]:
    """The similarity of words, of words and addresses, of headings and of tables; NaN for what the
    reference has none of. A file that could not be read counts as an empty one."""
    found = found or ""
    headings, tables = list(_read_headings(expected)), _read_tables(expected)
    words = (
        _similarity(list(read(expected)), list(read(found)))
        for read in (_read_words, _read_words_and_addresses)
    )
    return (
        *words,
        _similarity(headings, list(_read_headings(found))) if headings else nan,
        _compare_tables(tables, _read_tables(found)) if tables.children else nan,
    )


def _similarity(expected: Sequence[str], found: Sequence[str]) -> float:
    return difflib.SequenceMatcher(None, expected, found, autojunk=False).ratio()


def _read_words(markdown: str) -> Iterator[str]:
    """The words that a reader sees: neither marks nor the addresses of links."""
    return _read_words_and_addresses(re.sub(r"!?\[([^\]\[]+)\]\([^()\s]*\)", r"\1", markdown))


def _read_words_and_addresses(markdown: str) -> Iterator[str]:
    without_comments = re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)
    yield from re.sub(r"[|#*`_~\\-]+", " ", without_comments).split()


def _read_headings(markdown: str) -> Iterator[str]:
    yield from re.findall(r"^#{1,6} +(.+?)\s*$", markdown, re.MULTILINE)


class _Node:
    """A node of the tree of a document's tables, rows and cells; only a cell has text."""

    def __init__(self, name: str, text: str = "") -> None:
        self.name = name
        self.text = text
        self.children: list[_Node] = []

    def count(self) -> int:
        return 1 + sum(child.count() for child in self.children)


def _read_tables(markdown: str) -> _Node:
    root = _Node("tables")
    for token, content in pairwise(MarkdownIt("commonmark").enable("table").parse(markdown)):
        if token.type == "table_open":
            root.children.append(_Node("table"))
        elif token.type == "tr_open":
            root.children[-1].children.append(_Node("row"))
        elif token.type in {"th_open", "td_open"}:
            text = " ".join(re.sub(r"[*`\\]+", "", content.content).split())
            root.children[-1].children[-1].children.append(_Node("cell", text))
    return root


class _TableEdits(Config):
    """The costs of TEDS: 1 for a node that is missing or too much, and for a cell with another
    text the share of it that differs."""

    def rename(self, node1: _Node, node2: _Node) -> float:
        if node1.name != node2.name:
            return 1
        return 1 - _similarity(node1.text, node2.text)


def _compare_tables(expected: _Node, found: _Node) -> float:
    """TEDS over all tables of a document at once, so that tables too many count as well."""
    distance = APTED(expected, found, _TableEdits()).compute_edit_distance()
    return 1 - distance / max(expected.count(), found.count())


def measure_marks() -> None:
    """Print how many of 1,000 random chunks of PDFs are marked on their pages, and whether the
    marks hold the letters and digits of the chunk and no others."""
    paths = [path for folder in ("docs/pdf", "filings") for path in (DATA / folder).glob("*.pdf")]
    pages = {path: parse_file(path, file_name=path.name).pages for path in sorted(paths)}
    spec = IndexSpec(name="plain")
    count_tokens = get_embedder(spec.embedding).count_tokens
    cut = partial(
        split_into_chunks,
        strategy=spec.chunks.strategies[0],
        context="",
        window=spec.embedding.window,
        count_tokens=count_tokens,
    )
    chunks = [
        (path, index, source.start + chunk.start, source.start + chunk.end)
        for path in pages
        for index, page in enumerate(pages[path])
        for source in split_into_sources(page.text)
        for chunk in cut(page.text[source.start : source.end])
    ]
    if not chunks:
        print(f"marks: left out, there are no PDFs in {DATA}")
        return
    marked = exact = wrong = 0
    chosen = random.Random(1).sample(chunks, CHUNKS)
    for path, index, start, end in chosen:
        text = pages[path][index].text
        if boxes := find_boxes(path, index, text, start, end):
            expected = _letters(text[start:end])
            found = _read_boxes(pypdfium2.PdfDocument(path)[index], boxes)
            marked += 1
            exact += found == expected
            wrong += bool(found - expected)
    print(
        f"{CHUNKS} of {len(chunks)} chunks, {marked / CHUNKS:.3f} of them marked; of the marks "
        f"{exact / marked:.3f} hold exactly the chunk's letters, {wrong / marked:.3f} others too"
    )


def _read_boxes(page: pypdfium2.PdfPage, boxes: list[Box]) -> Counter[str]:
    """The letters that PDFium finds in these parts of a page that is not turned."""
    (width, height), text_page = page.get_size(), page.get_textpage()
    return sum(
        (
            _letters(
                text_page.get_text_bounded(
                    left=box.left * width,
                    bottom=(1 - (box.top + 2 * box.bottom) / 3) * height,
                    right=box.right * width,
                    top=(1 - (2 * box.top + box.bottom) / 3) * height,
                )
            )
            for box in boxes
        ),
        Counter(),
    )


def measure_transcription() -> None:
    """Print the share of the characters of ten pages, transcribed by eye, that OCR reads right.

    The pages are the first ten of a random order without screenshots too small to read. Symbols
    are left out, such as an "i" for information. A slide has no single order of its lines: those
    of OCR are put where the transcription has them.
    """
    pages = json.loads(TRANSCRIPTIONS.read_text(encoding="utf-8"))
    if not ocr.is_installed() or not (DATA / "scans").is_dir():
        print(f"transcription: left out, it needs `strata install ocr` and {DATA / 'scans'}")
        return
    legible, all_ = Counter[str](), Counter[str]()
    for page in pages:
        [path] = (DATA / "scans").glob(f"{page['file']}*.pdf")
        picture = draw_page(open_pdf(path), page["page"] - 1, ocr.MAX_SIDE)
        read = ocr.read_picture(picture).text.split("\n")
        for total, lines in (
            (legible, page["lines"]),
            (all_, page["lines"] + page.get("too_small", [])),
        ):
            expected = _spaceless(lines)
            total["chars"] += len(expected)
            total["edits"] += _count_edits(expected, _spaceless(_put_in_order(lines, read)))
    for total, name in ((all_, "all"), (legible, "text that is at least 8 pixels high")):
        share = 1 - total["edits"] / total["chars"]
        print(f"{share:.3f} of {total['chars']} characters of {len(pages)} pages right: {name}")


def _spaceless(lines: Sequence[str]) -> str:
    return "".join(unicodedata.normalize("NFC", "".join(lines)).split())


def _put_in_order(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    """The lines that were found, each where its longest match with the transcription is; a part of
    the transcription is used once."""
    rest = "\n".join(expected)
    places = {}
    for index in sorted(range(len(found)), key=lambda index: -len(found[index])):
        matcher = difflib.SequenceMatcher(None, rest, found[index], autojunk=False)
        match = matcher.find_longest_match()
        places[index] = match.a
        rest = rest[: match.a] + "\0" * match.size + rest[match.a + match.size :]
    return [found[index] for index in sorted(places, key=places.__getitem__)]


def _count_edits(expected: str, found: str) -> int:
    """The edit distance of Levenshtein."""
    row = list(range(len(found) + 1))
    for at, char in enumerate(expected, start=1):
        before, row[0] = row[0], at
        for index, other in enumerate(found, start=1):
            before, row[index] = (
                row[index],
                min(row[index] + 1, row[index - 1] + 1, before + (char != other)),
            )
    return row[-1]


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))

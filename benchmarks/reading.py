"""Measure how well real documents are read: whether questions find the page that answers them, and
how close the text is to a reference, and whether passages are marked at their place.

It measures no time: the same files give the same figures on any machine.
"""

import difflib
import json
import random
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2

from benchmarks.service import measured_service, wait_until_ready
from documents.exceptions import Unparsable
from documents.parsing import parse_file
from documents.parsing.page_pictures import Box, find_boxes
from tests.serving import ROOT, Service

DATA = ROOT.parent / "shared" / "data"
DEPTHS = (1, 5, 10)
PASSAGES = 1_000
PASSAGE_CHARS = 400
MAX_HITS = 100  # several may be of one page


def measure_pages(name: str) -> None:
    """Print for how many questions a right page is among the first 1, 5 and 10. ``name``: a folder
    of documents and ``questions.json``, with the file and the pages (from 1) of each answer."""
    folder = DATA / name
    if not folder.is_dir():
        print(f"{name}: left out, there is no {folder}")
        return
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    files = sorted(path for path in folder.iterdir() if path.name != "questions.json")
    with tempfile.TemporaryDirectory() as specs:
        Path(specs, "plain.yaml").write_text("title: Plain\n", encoding="utf-8")
        with measured_service(STRATA_SPECS_DIR=specs) as service:
            ids = {path.name: _add(service, path) for path in files}
            wait_until_ready(service, len(files))
            print(f"{len(questions)} questions over {len(files)} documents of {name}:")
            for scope in ("all documents", "the right one"):
                found = [
                    _find_rank(service, question, ids if scope == "the right one" else {})
                    for question in questions
                ]
                shares = (sum(rank <= depth for rank in found) / len(found) for depth in DEPTHS)
                print(f"  {scope:14}" + "".join(f"{share:8.2f}" for share in shares), flush=True)


def _add(service: Service, path: Path) -> str:
    answer = service.api.post(
        "indexes/plain/artifacts/", files={"file": (path.name, path.read_bytes())}
    )
    answer.raise_for_status()
    return str(answer.json()["id"])


def _find_rank(service: Service, question: dict[str, Any], ids: dict[str, str]) -> float:
    """The rank of the first right page, from 1; infinite if it is not found."""
    parameters: dict[str, Any] = {"index": "plain", "query": question["question"]}
    if ids:
        parameters["filter"] = {"artifact_id": ids[question["file"]]}
    answer = service.api.post("search/pages", json=parameters | {"limit": MAX_HITS})
    answer.raise_for_status()
    pages = dict.fromkeys(
        (hit["artifact"]["file_name"], hit["page"]["index"] + 1) for hit in answer.json()["hits"]
    )
    for rank, (file_name, page) in enumerate(pages, start=1):
        if file_name == question["file"] and page in question["gold_pages"]:
            return rank
    return float("inf")


def measure_layout() -> None:
    """Print the similarity (from 0 to 1) of each file's words, headings and table rows to its
    reference in Markdown, and the means."""
    folder = DATA / "layout"
    if not folder.is_dir():
        print(f"layout: left out, there is no {folder}")
        return
    pairs = [line.split("\t") for line in (folder / "pairs.tsv").read_text().splitlines()[1:]]
    columns: list[list[float]] = [[], [], []]
    print(f"  {'':44}{'text':>8}{'headings':>10}{'tables':>8}")
    for file_name, reference_name in pairs:
        try:
            document = parse_file(folder / file_name, file_name=file_name)
        except Unparsable as error:
            print(f"  {file_name:44}  {error.code}")
            continue
        text = "\n\n".join(page.text for page in document.pages)
        reference = (folder / reference_name).read_text(encoding="utf-8")
        row = ""
        for column, read in zip(columns, (_read_words, _read_headings, _read_cells), strict=True):
            expected = list(read(reference))
            if expected:
                column.append(_similarity(expected, list(read(text))))
            row += f"{column[-1]:8.2f}" if expected else f"{'':8}"
        print(f"  {file_name:44}{row}")
    means = (sum(column) / len(column) for column in columns)
    print(f"  {'mean':44}" + "".join(f"{mean:8.3f}" for mean in means))


def _similarity(expected: list[str], found: list[str]) -> float:
    return difflib.SequenceMatcher(None, expected, found, autojunk=False).ratio()


def _read_words(markdown: str) -> Iterator[str]:
    without_comments = re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)
    yield from re.sub(r"[|#*`_~\\-]+", " ", without_comments).split()


def _read_headings(markdown: str) -> Iterator[str]:
    yield from re.findall(r"^#{1,6} +(.+?)\s*$", markdown, re.MULTILINE)


def _read_cells(markdown: str) -> Iterator[str]:
    """The cells of all tables, row by row, and a sign at the end of each row."""
    for line in markdown.splitlines():
        if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            yield from (" ".join(cell.split()) for cell in line.strip().strip("|").split("|"))
            yield "\n"


def measure_marks() -> None:
    """Print how many of 1,000 random passages of PDFs are marked on their pages, and whether the
    marks hold the letters and digits of the passage and no others."""
    files = [path for folder in ("docs/pdf", "filings") for path in (DATA / folder).glob("*.pdf")]
    chance = random.Random(1)
    marked = exact = wrong = count = 0
    for path in sorted(files):
        pages = parse_file(path, file_name=path.name).pages
        document = pypdfium2.PdfDocument(path)
        for _ in range(PASSAGES // len(files) + 1):
            index = chance.randrange(len(pages))
            text = pages[index].text
            start = text.find(" ", chance.randrange(max(1, len(text) - PASSAGE_CHARS))) + 1
            end = text.rfind(" ", start, start + PASSAGE_CHARS)
            passage = text[start:end]
            if not any(map(str.isalnum, passage)):
                continue  # a page without text
            count += 1
            boxes = find_boxes(path, index, text, start, end)
            marked += bool(boxes)
            if boxes:
                expected, found = _letters(passage), _read_boxes(document[index], boxes)
                exact += found == expected
                wrong += bool(found - expected)
    if not count:
        print(f"marks: left out, there are no PDFs in {DATA}")
        return
    print(
        f"{count} passages, {marked / count:.3f} of them marked; of the marks {exact / marked:.3f} "
        f"hold exactly the passage's letters, {wrong / marked:.3f} others too"
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


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, unicodedata.normalize("NFKC", text)))

"""Queries that were judged, from wherever they come.

A BEIR folder holds ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.jsonl`` (``_id``,
``text``) and ``qrels/test.tsv`` (query, document, relevance; with a header). A CSV file has the
columns ``query`` and ``artifact``, and maybe ``page`` (counted from 1) and ``relevance``.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from core.exceptions import InvalidInput
from core.text import hash_text
from documents.models import Artifact

CSV_COLUMNS = ("query", "artifact", "page", "relevance")
_PAGE = "#page="  # as links into PDF files have it; counted from 1
_IDS_AT_ONCE = 1_000  # parameters of one query


@dataclass(frozen=True, slots=True)
class Judgements:
    """The queries that were judged, and how: query id -> what was judged -> relevance.

    What was judged is an artifact or one of its pages (``name_page``). Artifacts go by what their
    owners call them; by their ids once they were found (``find_artifacts``).
    """

    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what was asked and how it was judged; runs that agree in it compare."""
        judged = [
            (text, sorted(self.qrels[query_id].items()))
            for query_id, text in sorted(self.queries.items())
        ]
        return hash_text(json.dumps(judged))


@dataclass(frozen=True, slots=True)
class CorpusText:
    id: str
    title: str
    text: str


def name_page(artifact: str, page_index: int) -> str:
    """A page as judgements name it: ``d1#page=3`` for the third, whose index is 2."""
    return f"{artifact}{_PAGE}{page_index + 1}"


def split_page(name: str) -> tuple[str, str]:
    """The artifact, and the page's part of the name, empty where the artifact was judged."""
    artifact, mark, number = name.rpartition(_PAGE)
    return (artifact, mark + number) if mark and number.isdecimal() else (name, "")


# --- Reading them ----------------------------------------------------------------------------


def read_judgements(path: Path) -> Judgements:
    """From a BEIR folder or a CSV file.

    Raises:
        InvalidInput: a file is missing, or a line is not as it must be.
    """
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    qrels: dict[str, dict[str, int]] = {}
    table = path / "qrels" / "test.tsv"
    _require(table)
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows, None)  # the header
        for row in rows:
            try:
                query_id, document_id, relevance = row[:3]
                qrels.setdefault(query_id, {})[document_id] = int(relevance)
            except ValueError:
                raise InvalidInput(
                    f"{table.name}, line {rows.line_num}: not a query, a document and a number.",
                    field=str(table),
                ) from None
    texts = {
        str(line["_id"]): line.get("text") or "" for line in _read_lines(path / "queries.jsonl")
    }
    return _judged(texts, qrels, where=str(table))


def make_judgements(
    queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> Judgements:
    """Of what a caller sent.

    Raises:
        InvalidInput: no query of theirs is judged.
    """
    return _judged(
        dict(queries), {query_id: dict(judged) for query_id, judged in qrels.items()}, where="qrels"
    )


def read_corpus(folder: Path) -> Iterator[CorpusText]:
    """
    Raises:
        InvalidInput: the file is missing, or a line is not as it must be.
    """
    for line in _read_lines(folder / "corpus.jsonl"):
        yield CorpusText(str(line["_id"]), line.get("title") or "", line.get("text") or "")


def _judged(
    texts: Mapping[str, str], qrels: Mapping[str, dict[str, int]], *, where: str
) -> Judgements:
    queries = {query_id: texts[query_id] for query_id in qrels if texts.get(query_id, "").strip()}
    if not queries:
        raise InvalidInput(f"No query is judged in {Path(where).name}.", field=where)
    return Judgements(queries, {query_id: qrels[query_id] for query_id in queries})


def _read_csv(path: Path) -> Judgements:
    _require(path)
    texts: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    ids: dict[str, str] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        names = [name.strip().lower() for name in rows.fieldnames or ()]
        if not {"query", "artifact"} <= set(names) <= set(CSV_COLUMNS):
            raise InvalidInput(
                f"The first line of {path.name} names the columns query and artifact, and maybe "
                "page and relevance.",
                field=str(path),
                allowed=CSV_COLUMNS,
            )
        rows.fieldnames = names
        for row in rows:
            try:
                query, name, relevance = _read_row(row)
            except ValueError as error:
                raise InvalidInput(
                    f"{path.name}, line {rows.line_num}: {error}.", field=str(path)
                ) from None
            query_id = ids.setdefault(query, str(len(ids) + 1))
            texts[query_id] = query
            qrels.setdefault(query_id, {})[name] = relevance
    return _judged(texts, qrels, where=str(path))


def _read_row(row: Mapping[str | None, Any]) -> tuple[str, str, int]:
    if None in row:
        raise ValueError("it has more columns than the first line")
    query, artifact = ((row[name] or "").strip() for name in ("query", "artifact"))
    if not query or not artifact:
        raise ValueError("a query and an artifact belong there")
    page, relevance = ((row.get(name) or "").strip() for name in ("page", "relevance"))
    if page and (not page.isdecimal() or int(page) < 1):
        raise ValueError(f"{page[:20]!r} is no number of a page")
    if relevance and not relevance.isdecimal():
        raise ValueError(f"{relevance[:20]!r} is no relevance")
    name = name_page(artifact, int(page) - 1) if page else artifact
    return query, name, int(relevance or 1)


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    _require(path)
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                content = json.loads(line)
            except ValueError:
                content = None
            if not isinstance(content, dict) or "_id" not in content:
                raise InvalidInput(
                    f"{path.name}, line {number}: not a JSON object with an _id.", field=str(path)
                )
            yield content


def _require(path: Path) -> None:
    if not path.is_file():
        raise InvalidInput(
            f"There is no {path}.",
            field=str(path),
            fix="A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv; a CSV file "
            "ends in .csv.",
        )


# --- Finding what they name ------------------------------------------------------------------


def find_artifacts(index: str, judged: Judgements) -> Judgements:
    """The same by the artifacts' ids. What is judged and not there keeps its name: it cannot be
    found, and counts as missed.

    Raises:
        InvalidInput: none of it is in the index.
    """
    names = sorted({split_page(name)[0] for each in judged.qrels.values() for name in each})
    held = _find_ids(index, names)
    if not held:
        raise InvalidInput(
            f"None of the documents that were judged is in {index}.",
            field="qrels",
            fix="Name them by their external ids, or by their artifacts' ids.",
        )

    def by_id(name: str) -> str:
        artifact, page = split_page(name)
        return held.get(artifact, artifact) + page

    qrels = {
        query_id: {by_id(name): grade for name, grade in each.items()}
        for query_id, each in judged.qrels.items()
    }
    return Judgements(judged.queries, qrels)


def _find_ids(index: str, names: list[str]) -> dict[str, str]:
    """Name -> artifact id, for those that are there; an external id before an id."""
    found: dict[str, str] = {}
    for start in range(0, len(names), _IDS_AT_ONCE):
        named = names[start : start + _IDS_AT_ONCE]
        artifacts = Artifact.objects.documents().filter(index=index)
        own = [uuid for name in named if (uuid := _as_uuid(name)) is not None]
        there = artifacts.filter(pk__in=own).values_list("pk", flat=True)
        found |= {str(pk): str(pk) for pk in there}
        by_owner = artifacts.filter(external_id__in=named).values_list("external_id", "pk")
        found |= {str(name): str(pk) for name, pk in by_owner}
    return found


def _as_uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None

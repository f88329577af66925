"""Judged queries (queries with their qrels), read from a BEIR folder, a CSV file or a request.

A BEIR folder holds ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.jsonl`` (``_id``,
``text``) and ``qrels/test.tsv`` (query, document, relevance; with a header). A CSV file has the
columns ``query`` and ``artifact``, and optionally ``page`` (counted from 1) and ``relevance``.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from core.exceptions import InvalidInput
from core.text import hash_text
from documents.identity import find_by_external_ids
from documents.models import Artifact
from indexing.services.batches import slices

CSV_COLUMNS = ("query", "artifact", "page", "relevance")
_PAGE_SEPARATOR = "#page="  # as in links into PDF files; pages are counted from 1
_IDS_PER_QUERY = 1_000  # parameters of one database query


@dataclass(frozen=True, slots=True)
class JudgedQueries:
    """Queries by id, and their qrels: query id -> judged artifact or page -> relevance.

    The qrels judge artifacts or their pages (``format_page_name``). They name artifacts by external
    id, and after ``resolve_artifact_ids`` by artifact id.
    """

    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the queries and qrels; runs with the same hash can be compared."""
        judged = [
            (text, sorted(self.qrels[query_id].items()))
            for query_id, text in sorted(self.queries.items())
        ]
        return hash_text(json.dumps(judged))

    def select(self, query_ids: Iterable[str]) -> "JudgedQueries":
        """These queries with their judgements."""
        ids = list(query_ids)
        return JudgedQueries(
            {query_id: self.queries[query_id] for query_id in ids},
            {query_id: self.qrels[query_id] for query_id in ids},
        )


@dataclass(frozen=True, slots=True)
class CorpusText:
    id: str
    title: str
    text: str


def format_page_name(artifact: str, page_index: int) -> str:
    """Format a page's name in judgements: ``d1#page=3`` for the third page, whose index is 2."""
    return f"{artifact}{_PAGE_SEPARATOR}{page_index + 1}"


def split_page_name(name: str) -> tuple[str, str]:
    """Split into the artifact's name and the page suffix, empty for a whole artifact."""
    artifact, mark, number = name.rpartition(_PAGE_SEPARATOR)
    return (artifact, mark + number) if mark and number.isdecimal() else (name, "")


# --- Reading ---------------------------------------------------------------------------------


def read_judged_queries(path: Path) -> JudgedQueries:
    """Read queries and qrels from a BEIR folder or a CSV file. Raises ``InvalidInput``: a file is
    missing, or a line is invalid."""
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    qrels: dict[str, dict[str, int]] = {}
    table = path / "qrels" / "test.tsv"
    _require_file(table)
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows, None)  # the header
        for row in rows:
            try:
                query_id, document_id, relevance = row[:3]
                qrels.setdefault(query_id, {})[document_id] = int(relevance)
            except ValueError:
                raise InvalidInput(
                    f"{table.name}, line {rows.line_num}: the line must hold a query id, a "
                    "document id and a number.",
                    field=str(table),
                ) from None
    texts = {
        str(line["_id"]): line.get("text") or ""
        for line in _read_beir_lines(path / "queries.jsonl")
    }
    return make_judged_queries(texts, qrels, where=str(table))


def make_judged_queries(
    queries: dict[str, str], qrels: dict[str, dict[str, int]], *, where: str = "qrels"
) -> JudgedQueries:
    """Leave out queries without text or judgements. ``where``: what an error names. Raises
    ``InvalidInput``: no query has a judgement."""
    judged = [query_id for query_id in qrels if queries.get(query_id, "").strip()]
    if not judged:
        raise InvalidInput(f"{Path(where).name} holds no judged query.", field=where)
    return JudgedQueries(queries, qrels).select(judged)


def read_corpus(folder: Path) -> Iterator[CorpusText]:
    """Read the texts of a BEIR folder. Raises ``InvalidInput``: the file is missing, or a line is
    invalid."""
    for line in _read_beir_lines(folder / "corpus.jsonl"):
        yield CorpusText(str(line["_id"]), line.get("title") or "", line.get("text") or "")


def _read_csv(path: Path) -> JudgedQueries:
    _require_file(path)
    ids: dict[str, str] = {}  # by query
    qrels: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        names = [name.strip().lower() for name in rows.fieldnames or ()]
        if not {"query", "artifact"} <= set(names) <= set(CSV_COLUMNS):
            raise InvalidInput(
                f"The first line of {path.name} must name the columns query and artifact; page and "
                "relevance are optional.",
                field=str(path),
                allowed=CSV_COLUMNS,
            )
        rows.fieldnames = names
        for row in rows:
            try:
                query, name, relevance = _parse_csv_row(row)
            except ValueError as error:
                raise InvalidInput(
                    f"{path.name}, line {rows.line_num}: {error}.", field=str(path)
                ) from None
            query_id = ids.setdefault(query, str(len(ids) + 1))
            qrels.setdefault(query_id, {})[name] = relevance
    return make_judged_queries({ids[query]: query for query in ids}, qrels, where=str(path))


def _parse_csv_row(row: Mapping[str | None, Any]) -> tuple[str, str, int]:
    if None in row:
        raise ValueError("it has more columns than the first line")
    query, artifact = ((row[name] or "").strip() for name in ("query", "artifact"))
    if not query or not artifact:
        raise ValueError("each line needs a query and an artifact")
    page, relevance = ((row.get(name) or "").strip() for name in ("page", "relevance"))
    if page and (not page.isdecimal() or int(page) < 1):
        raise ValueError(f"{page[:20]!r} is not a page number")
    if relevance and not relevance.isdecimal():
        raise ValueError(f"{relevance[:20]!r} is not a relevance grade")
    name = format_page_name(artifact, int(page) - 1) if page else artifact
    return query, name, int(relevance or 1)


def _read_beir_lines(path: Path) -> Iterator[dict[str, Any]]:
    _require_file(path)
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
                    f"{path.name}, line {number}: the line must be a JSON object with an _id.",
                    field=str(path),
                )
            yield content


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidInput(
            f"{path} does not exist.",
            field=str(path),
            fix="A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv; a CSV file "
            "ends in .csv.",
        )


# --- Resolving names -------------------------------------------------------------------------


def resolve_artifact_ids(index: str, judged_queries: JudgedQueries) -> JudgedQueries:
    """Replace the names in the qrels by artifact ids. A judged document that is not in the index
    keeps its name: it cannot be found, and counts as missed.

    Raises:
        InvalidInput: no judged document is in the index.
    """
    names = {split_page_name(name)[0] for each in judged_queries.qrels.values() for name in each}
    ids_by_name = _find_artifact_ids(index, sorted(names))
    if not ids_by_name:
        raise InvalidInput(
            f"The index {index} holds none of the judged documents.",
            field="qrels",
            fix="Name the documents by their external ids or artifact ids.",
        )

    def resolve_name(name: str) -> str:
        artifact, page = split_page_name(name)
        return ids_by_name.get(artifact, artifact) + page

    qrels = {
        query_id: {resolve_name(name): grade for name, grade in each.items()}
        for query_id, each in judged_queries.qrels.items()
    }
    return JudgedQueries(judged_queries.queries, qrels)


def _find_artifact_ids(index: str, names: Sequence[str]) -> dict[str, str]:
    """Name -> artifact id, for names in the index; external ids take precedence over ids."""
    found: dict[str, str] = {}
    artifacts = Artifact.objects.filter(index=index)
    for part in slices(names, _IDS_PER_QUERY):
        ids = [each for each in map(_parse_uuid, part) if each is not None]
        found |= {
            str(pk): str(pk) for pk in artifacts.filter(pk__in=ids).values_list("pk", flat=True)
        }
        by_name = find_by_external_ids(index, part)
        found |= {name: str(artifact.pk) for name, artifact in by_name.items()}
    return found


def _parse_uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None

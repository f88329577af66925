"""Measuring an index against human judgements, in the BEIR layout and ir_measures notation.

A folder holds ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.jsonl`` (``_id``,
``text``) and ``qrels/test.tsv`` (query, document, relevance; with a header).
"""

import csv
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documents.exceptions import InvalidInput
from documents.models import Artifact
from retrieval.search import MAX_ARTIFACTS, MAX_LIMIT, MAX_OFFSET

# Search parameters as the API takes them -> the answer as the API gives it.
Search = Callable[[dict[str, Any]], dict[str, Any]]

# What can be measured -> which search answers, and what it is asked besides.
MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "dense": ("pages", {"mode": "dense"}),
    "sparse": ("pages", {"mode": "sparse"}),
    "hybrid": ("pages", {"mode": "hybrid"}),
    "summaries": ("summaries", {}),
    "questions": ("questions", {}),
    "hierarchical": ("hierarchical", {}),
}
RANKED_ARTIFACTS = 100  # per query: what recall@100 looks at
DEFAULT_MEASURES = ("nDCG@10", "R@100")


@dataclass(frozen=True, slots=True)
class Judgements:
    """The queries that were judged, and how: query id -> document id -> relevance."""

    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Figures:
    """How one mode did. ``p50_ms``: a first page of ten verified hits, as a user asks for it."""

    mode: str
    measures: dict[str, float]
    p50_ms: float
    query_count: int


@dataclass(frozen=True, slots=True)
class CorpusText:
    id: str
    title: str
    text: str


def read_corpus(folder: Path) -> Iterator[CorpusText]:
    """
    Raises:
        InvalidInput: the file is missing, or a line is not as it must be.
    """
    for line in _read_lines(folder / "corpus.jsonl"):
        yield CorpusText(str(line["_id"]), line.get("title") or "", line.get("text") or "")


def read_judgements(folder: Path) -> Judgements:
    """
    Raises:
        InvalidInput: a file is missing, or a line is not as it must be.
    """
    qrels: dict[str, dict[str, int]] = {}
    path = folder / "qrels" / "test.tsv"
    _require(path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows, None)  # the header
        for row in rows:
            try:
                query_id, document_id, relevance = row[:3]
                qrels.setdefault(query_id, {})[document_id] = int(relevance)
            except ValueError:
                raise InvalidInput(
                    f"{path.name}, line {rows.line_num}: not a query, a document and a number.",
                    field=str(path),
                ) from None
    texts = {
        str(line["_id"]): line.get("text") or "" for line in _read_lines(folder / "queries.jsonl")
    }
    queries = {query_id: texts[query_id] for query_id in qrels if texts.get(query_id, "").strip()}
    if not queries:
        raise InvalidInput(f"No query of {folder} is judged in {path.name}.", field=str(path))
    return Judgements(queries, {query_id: qrels[query_id] for query_id in queries})


def parse_measures(names: Iterable[str]) -> list[Any]:
    """
    Raises:
        InvalidInput: a name ir_measures does not know.
    """
    import ir_measures

    measures = []
    for name in names:
        try:
            measures.append(ir_measures.parse_measure(name))
        except (NameError, ValueError, SyntaxError):
            raise InvalidInput(
                f"{name!r} is no measure.",
                field="measures",
                fix="Name them as ir_measures does: nDCG@10, R@100, RR, P@5.",
            ) from None
    return measures


def evaluate_mode(
    search: Search,
    judgements: Judgements,
    *,
    index: str,
    mode: str,
    measures: Sequence[Any],
    advance: Callable[[int], None] = lambda count: None,
) -> Figures:
    """Rank artifacts for every judged query and measure the rankings.

    ``advance`` is called with 1 after each query. Raises whatever ``search`` does.
    """
    import ir_measures

    run: dict[str, dict[str, float]] = {}
    milliseconds = []
    kind, asked = MODES[mode]
    rank = rank_groups if kind == "hierarchical" else rank_artifacts
    parameters = {"index": index, **asked}
    search({**parameters, "query": next(iter(judgements.queries.values()))})  # loads the model
    for query_id, query in judgements.queries.items():
        started = time.perf_counter()
        search({**parameters, "query": query})
        milliseconds.append((time.perf_counter() - started) * 1_000)
        run[query_id] = rank(search, {**parameters, "query": query})
        advance(1)
    found = ir_measures.calc_aggregate(list(measures), judgements.qrels, run)
    return Figures(
        mode=mode,
        measures={str(measure): float(found[measure]) for measure in measures},
        p50_ms=statistics.median(milliseconds),
        query_count=len(judgements.queries),
    )


def rank_artifacts(search: Search, parameters: Mapping[str, Any]) -> dict[str, float]:
    """External id -> score of the best hit, for the best artifacts; pages on until there are
    enough of them, since a few artifacts can fill a page with their chunks."""
    best: dict[str, float] = {}
    for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
        page = {"limit": MAX_LIMIT, "offset": offset, "verify": False}
        hits = search({**parameters, **page})["hits"]
        for hit in hits:
            external_id = hit["artifact"]["external_id"]
            if external_id is not None:
                best.setdefault(external_id, hit["score"])
        if len(hits) < MAX_LIMIT or len(best) >= RANKED_ARTIFACTS:
            break
    return dict(list(best.items())[:RANKED_ARTIFACTS])


def rank_groups(search: Search, parameters: Mapping[str, Any]) -> dict[str, float]:
    """``rank_artifacts`` for answers that are grouped by artifact already: the best 50."""
    groups = search({**parameters, "limit": MAX_ARTIFACTS, "verify": False})["artifacts"]
    found = Artifact.objects.filter(pk__in=[group["artifact_id"] for group in groups])
    external_ids = {
        str(pk): external_id for pk, external_id in found.values_list("pk", "external_id")
    }
    return {
        external_id: group["score"]
        for group in groups
        if (external_id := external_ids.get(group["artifact_id"])) is not None
    }


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
            fix="A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv.",
        )

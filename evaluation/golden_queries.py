"""The golden queries of an index: its folder's queries merged with people's judgements."""

import csv
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from django.conf import settings

from evaluation.judged_queries import JudgedQueries, format_page_name, read_judged_queries
from evaluation.models import Judgement

_QUERY_ID_CHARS = 12  # length of an id made from a query's hash


# --- Golden queries --------------------------------------------------------------------------


def golden_queries_folder(index: str) -> Path:
    return settings.STRATA_GOLDEN_DIR / index


def read_golden_queries(index: str) -> JudgedQueries | None:
    """The golden queries of an index: those of its folder and those that people judged; None if
    there are neither.

    Raises:
        InvalidInput: the folder cannot be read.
    """
    folder = golden_queries_folder(index)
    from_folder = read_judged_queries(folder) if folder.is_dir() else JudgedQueries({}, {})
    golden = _merge_judgements(from_folder, index)
    return golden if golden.queries else None


def write_golden_queries(index: str) -> JudgedQueries | None:
    """Write an index's golden queries into its folder, each file atomically; None if there are
    none.

    Raises:
        InvalidInput: the folder cannot be read.
    """
    golden = read_golden_queries(index)
    if golden is None:
        return None
    folder = golden_queries_folder(index)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)

    def write_queries(file: IO[str]) -> None:
        for query_id, text in golden.queries.items():
            file.write(json.dumps({"_id": query_id, "text": text}, ensure_ascii=False) + "\n")

    def write_qrels(file: IO[str]) -> None:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(["query-id", "corpus-id", "score"])
        for query_id, judged in golden.qrels.items():
            rows.writerows([query_id, name, grade] for name, grade in judged.items())

    _write_file_atomically(folder / "queries.jsonl", write_queries)
    _write_file_atomically(folder / "qrels" / "test.tsv", write_qrels)
    return golden


def _merge_judgements(from_folder: JudgedQueries, index: str) -> JudgedQueries:
    """Merge people's latest judgements into the folder's qrels. A good judgement keeps the folder's
    relevance grade if there is one; a bad one sets it to 0."""
    queries = dict(from_folder.queries)
    qrels = {query_id: dict(judged) for query_id, judged in from_folder.qrels.items()}
    ids = {text: query_id for query_id, text in queries.items()}
    stored_judgements = (
        Judgement.objects.filter(index=index).select_related("artifact").order_by("judged_at")
    )
    for each in stored_judgements:
        query_id = ids.setdefault(each.query, each.query_hash[:_QUERY_ID_CHARS])
        queries.setdefault(query_id, each.query)
        judged = qrels.setdefault(query_id, {})
        name = _format_judged_name(each)
        judged[name] = max(judged.get(name, 0), 1) if each.is_good else 0
    # A query without a relevant document cannot be measured.
    measurable = [query_id for query_id, judged in qrels.items() if _has_relevant(judged)]
    return JudgedQueries(
        {query_id: queries[query_id] for query_id in measurable},
        {query_id: qrels[query_id] for query_id in measurable},
    )


def _has_relevant(judged: Mapping[str, int]) -> bool:
    return any(grade > 0 for grade in judged.values())


def _format_judged_name(judgement: Judgement) -> str:
    artifact = judgement.artifact.external_id or str(judgement.artifact_id)
    if judgement.page_index is None:
        return artifact
    return format_page_name(artifact, judgement.page_index)


def _write_file_atomically(path: Path, write: Callable[[IO[str]], None]) -> None:
    """Replace a file in one step; concurrent readers see the old content or the new."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            write(file)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

"""The golden queries of an index: its folder's queries merged with people's judgements."""

import csv
import json
from io import StringIO
from pathlib import Path

from django.conf import settings

from core.atomic_files import write_file
from evaluation.judged_queries import JudgedQueries, format_page_name, read_judged_queries
from evaluation.models import Judgement

_QUERY_ID_CHARS = 12  # length of an id made from a query's hash


def golden_queries_folder(index: str) -> Path:
    return settings.STRATA_GOLDEN_DIR / index


def read_golden_queries(index: str) -> JudgedQueries | None:
    """The golden queries of an index: those of its folder and those that people judged; None if
    there are neither. Raises ``InvalidInput``: the folder cannot be read."""
    folder = golden_queries_folder(index)
    from_folder = read_judged_queries(folder) if folder.is_dir() else JudgedQueries({}, {})
    golden = _merge_judgements(from_folder, index)
    return golden if golden.queries else None


def write_golden_queries(index: str) -> JudgedQueries | None:
    """Write an index's golden queries into its folder, each file atomically; None if there are
    none. Raises ``InvalidInput``: the folder cannot be read."""
    golden = read_golden_queries(index)
    if golden is None:
        return None
    folder = golden_queries_folder(index)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"_id": query_id, "text": text}, ensure_ascii=False) + "\n"
        for query_id, text in golden.queries.items()
    ]
    write_file(folder / "queries.jsonl", "".join(lines).encode())
    table = StringIO()
    rows = csv.writer(table, delimiter="\t", lineterminator="\n")
    rows.writerow(["query-id", "corpus-id", "score"])
    for query_id, judged in golden.qrels.items():
        rows.writerows([query_id, name, grade] for name, grade in judged.items())
    write_file(folder / "qrels" / "test.tsv", table.getvalue().encode())
    return golden


def _merge_judgements(from_folder: JudgedQueries, index: str) -> JudgedQueries:
    """Merge people's latest judgements into the folder's qrels. A good judgement keeps the folder's
    relevance grade if there is one; a bad one sets it to 0."""
    queries = dict(from_folder.queries)
    qrels = {query_id: dict(judged) for query_id, judged in from_folder.qrels.items()}
    ids = {text: query_id for query_id, text in queries.items()}
    stored_judgements = Judgement.objects.filter(index=index).select_related("artifact")
    for each in stored_judgements.order_by("judged_at"):
        query_id = ids.setdefault(each.query, each.query_hash[:_QUERY_ID_CHARS])
        queries.setdefault(query_id, each.query)
        judged = qrels.setdefault(query_id, {})
        name = each.artifact.external_id or str(each.artifact_id)
        if each.page_index is not None:
            name = format_page_name(name, each.page_index)
        judged[name] = max(judged.get(name, 0), 1) if each.is_good else 0
    # A query without a relevant document cannot be measured.
    measurable = (query_id for query_id, judged in qrels.items() if max(judged.values()) > 0)
    return JudgedQueries(queries, qrels).select(measurable)

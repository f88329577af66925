"""Verdicts kept from real use, and an index's golden queries, which grow from them."""

import csv
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from django.conf import settings

from evaluation.judgements import Judgements, name_page, read_judgements
from evaluation.models import Judgement

_ID_CHARS = 12  # of a query's hash: its id where it has no other


# --- Golden queries --------------------------------------------------------------------------


def golden_folder(index: str) -> Path:
    return settings.STRATA_GOLDEN_DIR / index


def read_golden(index: str) -> Judgements | None:
    """The golden queries of an index: those of its folder and those that verdicts were kept for;
    None where there are neither.

    Raises:
        InvalidInput: the folder cannot be read.
    """
    folder = golden_folder(index)
    written = read_judgements(folder) if folder.is_dir() else Judgements({}, {})
    golden = _add_kept(written, index)
    return golden if golden.queries else None


def write_golden(index: str) -> Judgements | None:
    """Write an index's golden queries into its folder, each file in one step; None where there
    are none.

    Raises:
        InvalidInput: the folder cannot be read.
    """
    golden = read_golden(index)
    if golden is None:
        return None
    folder = golden_folder(index)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)

    def write_queries(file: IO[str]) -> None:
        for query_id, text in golden.queries.items():
            file.write(json.dumps({"_id": query_id, "text": text}, ensure_ascii=False) + "\n")

    def write_qrels(file: IO[str]) -> None:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(["query-id", "corpus-id", "score"])
        for query_id, judged in golden.qrels.items():
            rows.writerows([query_id, name, grade] for name, grade in judged.items())

    _replace_file(folder / "queries.jsonl", write_queries)
    _replace_file(folder / "qrels" / "test.tsv", write_qrels)
    return golden


def _add_kept(written: Judgements, index: str) -> Judgements:
    """What people said last counts; how good a thing is, where they agree that it is, the folder
    says more finely."""
    queries = dict(written.queries)
    qrels = {query_id: dict(judged) for query_id, judged in written.qrels.items()}
    ids = {text: query_id for query_id, text in queries.items()}
    kept = Judgement.objects.filter(index=index).select_related("artifact").order_by("judged_at")
    for each in kept:
        query_id = ids.setdefault(each.query, each.query_hash[:_ID_CHARS])
        queries.setdefault(query_id, each.query)
        judged = qrels.setdefault(query_id, {})
        name = _name_place(each)
        judged[name] = max(judged.get(name, 0), 1) if each.is_good else 0
    # One that nothing answers measures nothing.
    answered = [query_id for query_id, judged in qrels.items() if _is_answered(judged)]
    return Judgements(
        {query_id: queries[query_id] for query_id in answered},
        {query_id: qrels[query_id] for query_id in answered},
    )


def _is_answered(judged: Mapping[str, int]) -> bool:
    return any(grade > 0 for grade in judged.values())


def _name_place(judgement: Judgement) -> str:
    artifact = judgement.artifact.external_id or str(judgement.artifact_id)
    if judgement.page_index is None:
        return artifact
    return name_page(artifact, judgement.page_index)


def _replace_file(path: Path, write: Callable[[IO[str]], None]) -> None:
    """Whoever reads it meanwhile reads the old one."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            write(file)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

"""Verdicts kept from real use, and an index's golden queries, which grow from them."""

import csv
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from core.exceptions import InvalidInput, UnknownIndex
from core.text import hash_text
from documents.exceptions import UnknownArtifact
from documents.models import Artifact, Page
from indexing.models import Index, Node
from retrieval.evaluation.judgements import Judgements, name_page, read_judgements
from retrieval.exceptions import UnknownJudgement
from retrieval.models import Judgement
from retrieval.search.request import check_query

_ID_CHARS = 12  # of a query's hash: its id where it has no other


def judge(
    index: str,
    query: str,
    *,
    is_good: bool,
    judged_by: str,
    node_id: UUID | None = None,
    artifact_id: UUID | None = None,
) -> tuple[Judgement, bool]:
    """Keep a verdict on one hit, or on a whole artifact; and whether it is the first on it.

    A hit stands for its page, where its artifact has several, and else for the artifact.

    Raises:
        UnknownIndex, UnknownArtifact: there is none.
        InvalidInput: no query, neither a hit nor an artifact or both, or no such hit.
    """
    check_query([index], query)
    if not Index.objects.filter(pk=index).exists():
        names = Index.objects.values_list("name", flat=True)
        raise UnknownIndex(f"There is no index {index[:100]!r}.", field="index", allowed=names)
    if (node_id is None) == (artifact_id is None):
        raise InvalidInput("Name a hit or an artifact, and not both.", field="node_id")
    page_index = None
    if node_id is not None:
        artifact_id, page_index = _find_hit(index, node_id)
    assert artifact_id is not None
    artifact = Artifact.objects.documents().filter(pk=artifact_id, index=index).first()
    if artifact is None:
        raise UnknownArtifact(f"{index} has no artifact with this id.", field="artifact_id")
    place: dict[str, Any] = {
        "index_id": index, "query_hash": hash_text(query), "artifact": artifact,
        "page_index": page_index,
    }  # fmt: skip
    said = {"query": query, "is_good": is_good, "judged_by": judged_by[:150], "node_id": node_id}
    try:
        with transaction.atomic():
            return Judgement.objects.update_or_create(**place, defaults=said)
    except IntegrityError:
        # Someone else judged the same between our look and our write: ours is the last.
        return Judgement.objects.update_or_create(**place, defaults=said)


def take_back(judgement_id: UUID) -> None:
    """
    Raises:
        UnknownJudgement: there is none of this id.
    """
    if not Judgement.objects.filter(pk=judgement_id).delete()[0]:
        raise UnknownJudgement(field="id")


def _find_hit(index: str, node_id: UUID) -> tuple[UUID, int | None]:
    """Its artifact and, where that has several pages, the index of its page."""
    node = Node.objects.filter(point_id=node_id, build__index=index).first()
    if node is None:
        raise InvalidInput(
            f"{index} has no hit with this id.",
            field="node_id",
            fix="Give the node_id of a hit as a search of this index answers it.",
        )
    pages = dict(Page.objects.filter(artifact=node.artifact_id).values_list("pk", "index"))
    if node.page_id is None or len(pages) < 2:
        return node.artifact_id, None
    return node.artifact_id, pages.get(node.page_id)


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

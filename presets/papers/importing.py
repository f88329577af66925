"""Add papers of the ACL Anthology to an index."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.db import transaction

from core.exceptions import InvalidInput
from documents.connectors.local_files import AddResult
from documents.identity import find_by_external_ids
from documents.models import Artifact
from documents.services import AddOutcome, add_artifact
from presets.papers.anthology import Paper

PAPERS_PER_TRANSACTION = 50  # each commit waits for the disk, and blocks other writers


def add_papers(index: str, papers: Iterable[Paper | InvalidInput]) -> Iterator[AddResult]:
    """Add each paper that has an abstract, with its Anthology id as external id; report the others.

    Unchanged papers are skipped with one query per transaction, so a killed run can be repeated
    quickly.

    Raises:
        DiskFull: there is too little room left; papers added before stay.
    """
    remaining = iter(papers)
    while group := list(islice(remaining, PAPERS_PER_TRANSACTION)):
        with transaction.atomic():
            results = _add_group(index, group)
        yield from results


def _add_group(index: str, group: Sequence[Paper | InvalidInput]) -> list[AddResult]:
    existing = find_by_external_ids(index, [each.id for each in group if isinstance(each, Paper)])
    return [
        _add_paper(index, each, existing.get(each.id))
        if isinstance(each, Paper)
        else AddResult(each.field or index, error=each)
        for each in group
    ]


def _add_paper(index: str, paper: Paper, existing: Artifact | None) -> AddResult:
    if not paper.abstract:
        return AddResult(paper.id)
    document = paper.to_artifact_arguments()
    if existing is not None and _is_unchanged(existing, document):
        return AddResult(paper.id, existing.pk, AddOutcome.UNCHANGED)
    try:
        # A savepoint, so that a refused paper does not roll back the others.
        with transaction.atomic():
            artifact, verdict = add_artifact(index, **document)
    except InvalidInput as error:
        return AddResult(paper.id, error=error)
    return AddResult(paper.id, artifact.pk, verdict)


def _is_unchanged(existing: Artifact, document: dict[str, Any]) -> bool:
    return (
        existing.state != Artifact.State.FAILED
        and existing.sha256 == document["content"].sha256
        and all(getattr(existing, name) == document[name] for name in ("title", "url", "metadata"))
    )

"""Papers of the ACL Anthology, given to an index in groups."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.db import transaction

from core.exceptions import InvalidInput
from documents.importing import Given
from documents.models import Artifact
from documents.services import Verdict, add_artifact, find_given
from presets.papers.anthology import Paper

PAPERS_PER_TRANSACTION = 50  # a commit waits for the disk, and others for the commit


def add_papers(index: str, papers: Iterable[Paper | InvalidInput]) -> Iterator[Given]:
    """Give each paper that has an abstract, under its Anthology id; what is wrong stays out.

    Those an index has already, to the letter, cost one query for hundreds: a run that was killed
    is begun anew and soon where it was.

    Raises:
        DiskFull: there is too little room left; what was given before stays.
    """
    remaining = iter(papers)
    while group := list(islice(remaining, PAPERS_PER_TRANSACTION)):
        with transaction.atomic():
            given = _add_group(index, group)
        yield from given


def _add_group(index: str, group: Sequence[Paper | InvalidInput]) -> list[Given]:
    known = find_given(index, [each.id for each in group if isinstance(each, Paper)])
    return [
        _add_paper(index, each, known.get(each.id))
        if isinstance(each, Paper)
        else Given(each.field or index, error=each)
        for each in group
    ]


def _add_paper(index: str, paper: Paper, known: Artifact | None) -> Given:
    if not paper.abstract:
        return Given(paper.id)
    document = paper.as_artifact()
    if known is not None and _is_same(known, document):
        return Given(paper.id, known.pk, Verdict.UNCHANGED)
    try:
        # A savepoint of its own: a paper that is refused takes no other with it.
        with transaction.atomic():
            artifact, verdict = add_artifact(index, **document)
    except InvalidInput as error:
        return Given(paper.id, error=error)
    return Given(paper.id, artifact.pk, verdict)


def _is_same(known: Artifact, document: dict[str, Any]) -> bool:
    return (
        known.state != Artifact.State.FAILED
        and known.sha256 == document["content"].sha256
        and all(getattr(known, name) == document[name] for name in ("title", "url", "metadata"))
    )

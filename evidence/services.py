"""Adds evidence, and detects duplicates by URL and by meaning.

embed               the chunks of each finding, without a lock or transaction
then, for one request at a time in each index, in one transaction
  compare           with all stored findings, and with the earlier ones of the request
  store             as an artifact, and its vectors until the vector store holds them
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput, UnknownIndex
from core.text import hash_text
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.services import TextContent, add_artifact, find_by_external_ids
from evidence.duplicates import DuplicateFinder, embed_contents, hash_vector_space
from evidence.models import RecentEvidence, Vectors
from indexing.losses import make_loss_error
from indexing.models import Index, IndexBuild
from retrieval.event_loop import run_in_thread

MAX_ITEMS = 100
MAX_EXTERNAL_ID_CHARS = 255
PRUNE_BATCH_SIZE = 500


class EvidenceVerdict(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"  # it, or one with the same meaning, was already stored
    UPDATED = "updated"  # its URL was known, with other content or another citation


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """A finding as the caller sends it. ``citation`` holds its source, date and authors."""

    url: str
    content: str
    title: str | None = None
    citation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EvidenceDecision:
    """``artifact_id``: the artifact that holds the finding, for a duplicate the stored one.

    ``similarity``: the cosine, for a duplicate. ``revision``: of the artifact as it is now, for
    searches that must show it.
    """

    url: str
    verdict: EvidenceVerdict
    artifact_id: UUID
    revision: int
    similarity: float | None = None


def make_external_id(url: str) -> str:
    """The external id for a URL: the URL itself, or its hash if it is too long."""
    return url if len(url) <= MAX_EXTERNAL_ID_CHARS else f"sha256 {hash_text(url)}"


def find_evidence_build(index: str) -> IndexBuild:
    """The live build of an index that accepts evidence.

    Raises:
        UnknownIndex: with the names there are.
        InvalidInput: it takes none; with those that do.
        PointsLost: the store has lost points of it.
    """
    names = get_catalog().index_names()
    if index not in names:
        raise UnknownIndex(
            f"There is no index named {index[:100]!r}.", field="index", allowed=names
        )
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None or build.spec.evidence is None:
        raise InvalidInput(
            f"The index {index} does not take evidence.",
            field="index",
            allowed=[
                each.index_id
                for each in IndexBuild.objects.live()
                if each.spec.evidence is not None
            ],
            fix="Set evidence: true in its spec.",
        )
    if build.lost_at is not None:  # duplicates of what was lost would not be found
        raise make_loss_error(index)
    return build


def add_evidence(
    index: str,
    items: Sequence[EvidenceInput],
    *,
    threshold: float | None = None,
    grant: Grant = EVERYTHING,
) -> list[EvidenceDecision]:
    """Store the new findings and return a decision for each, in order. After an error none is
    stored.

    ``threshold``: the cosine from which two findings are duplicates; by default that of the index.
    Only findings that the grant includes count as stored.

    Raises:
        ContentConflict: the URL of an item is stored, and the grant does not include it.
        UnknownIndex: there is no such index.
        InvalidInput: the index accepts no evidence, or an item is not valid; nothing was stored.
        EmbeddingUnavailable, StoreUnavailable, DiskFull: nothing was stored; retry helps.
    """
    contents = [(item.title or "", TextContent((item.content,))) for item in items]
    while True:
        build = find_evidence_build(index)
        findings = embed_contents(contents, build)
        for position, vectors in enumerate(findings):
            if not len(vectors):
                raise InvalidInput(
                    "The evidence contains no text.", field=f"items.{position}.content"
                )
        with transaction.atomic():
            # One request at a time: the second must see what the first has stored. The lock still
            # lets other transactions insert rows that refer to the index.
            locked = Index.objects.select_for_update(no_key=True).get(pk=index)
            if locked.live_build_id == build.pk:
                return _add_findings(build, items, findings, threshold, grant)


async def aadd_evidence(
    index: str, items: Sequence[EvidenceInput], *, threshold: float | None = None
) -> list[EvidenceDecision]:
    """``add_evidence`` in a thread, for callers in an event loop."""
    return await run_in_thread(add_evidence, index, items, threshold=threshold)


def _add_findings(
    build: IndexBuild,
    items: Sequence[EvidenceInput],
    findings: Sequence[Vectors],
    threshold: float | None,
    grant: Grant,
) -> list[EvidenceDecision]:
    assert build.spec.evidence is not None
    _delete_indexed_vectors(build.index_id)
    known = DuplicateFinder(
        build, build.spec.evidence.threshold if threshold is None else threshold, grant
    )
    known.search_store(findings)
    return [
        _add_finding(build, known, position, item, vectors, grant)
        for position, (item, vectors) in enumerate(zip(items, findings, strict=True))
    ]


def _add_finding(
    build: IndexBuild,
    known: DuplicateFinder,
    position: int,
    item: EvidenceInput,
    vectors: Vectors,
    grant: Grant,
) -> EvidenceDecision:
    external_id = make_external_id(item.url)
    content = TextContent((item.content,))
    given = find_by_external_ids(build.index_id, [external_id]).get(external_id)
    if given is None:
        while twin := known.find_exact_duplicate(content) or known.find_near_duplicate(
            position, vectors
        ):
            # Locked: if the stored finding were deleted now, this one would be lost, too.
            duplicate_artifact = (
                Artifact.objects.select_for_update().filter(pk=twin.artifact_id).first()
            )
            if duplicate_artifact is not None:
                return EvidenceDecision(
                    item.url,
                    EvidenceVerdict.DUPLICATE,
                    duplicate_artifact.pk,
                    duplicate_artifact.revision,
                    similarity=twin.similarity,
                )
            known.remove(twin.artifact_id)
    try:
        artifact, _ = add_artifact(
            build.index_id,
            content,
            title=item.title,
            metadata=item.citation,
            external_id=external_id,
            url=item.url,
            grant=grant,
        )
    except InvalidInput as error:
        field = error.field or ""
        raise InvalidInput(
            error.detail.replace("metadata.", "citation."),
            field=f"items.{position}.{field.replace('metadata', 'citation', 1)}",
            allowed=error.allowed,
            fix=error.fix,
        ) from None
    if given is not None and given.revision == artifact.revision:
        return EvidenceDecision(
            item.url, EvidenceVerdict.DUPLICATE, artifact.pk, artifact.revision, similarity=1.0
        )
    known.add(artifact.pk, vectors)
    RecentEvidence.objects.update_or_create(
        artifact=artifact,
        defaults={
            "vector_space_hash": hash_vector_space(build.spec),
            "vectors": vectors.tobytes(),
            "vector_count": len(vectors),
        },
    )
    verdict = EvidenceVerdict.ADDED if given is None else EvidenceVerdict.UPDATED
    return EvidenceDecision(item.url, verdict, artifact.pk, artifact.revision)


def _delete_indexed_vectors(index: str) -> None:
    """Delete the recent vectors of findings that the vector store already holds."""
    recent = Artifact.objects.filter(index=index, recent_evidence__isnull=False)
    ready = get_catalog().with_status(recent, index).filter(Q(status="ready")).order_by("pk")
    held = list(ready.values_list("pk", flat=True)[:PRUNE_BATCH_SIZE])
    RecentEvidence.objects.filter(pk__in=held).delete()

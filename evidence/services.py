"""Adding evidence: each finding once, by its URL and by what it says.

embed               what the index would embed of each; nothing is held meanwhile
then, one at a time in each index, in one transaction
  compare           with all that is known, and with the batch's own so far
  store             as an artifact, and its vectors until the vector store holds them
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from core.exceptions import InvalidInput, UnknownIndex
from core.text import hash_text
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.services import TextContent, add_artifact, find_by_external_ids
from evidence.comparing import Known, embed_contents, name_space
from evidence.models import RecentEvidence, Vectors
from indexing.models import Index, IndexBuild
from retrieval.awaiting import in_thread

MAX_ITEMS = 100
MAX_IDENTITY_CHARS = 255
PRUNED_AT_ONCE = 500


class Verdict(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"  # it, or one that says the same, was there already
    UPDATED = "updated"  # its URL was known, with other content or another citation


@dataclass(frozen=True, slots=True)
class Item:
    """A finding as it is given. ``citation``: what was said of source, date and authors."""

    url: str
    content: str
    title: str | None = None
    citation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """``artifact_id``: what holds the finding now, for a duplicate its twin.

    ``similarity``: the cosine, for a duplicate. ``revision``: of the artifact as it is now, for
    searches that must show it.
    """

    url: str
    verdict: Verdict
    artifact_id: UUID
    revision: int
    similarity: float | None = None


def identify(url: str) -> str:
    """The external id of evidence from this URL; of one too long for that, its hash."""
    return url if len(url) <= MAX_IDENTITY_CHARS else f"sha256 {hash_text(url)}"


def find_evidence_build(index: str) -> IndexBuild:
    """The live build of an index that takes evidence.

    Raises:
        UnknownIndex: with the names there are.
        InvalidInput: it takes none; with those that do.
    """
    names = get_catalog().index_names()
    if index not in names:
        raise UnknownIndex(f"There is no index {index[:100]!r}.", field="index", allowed=names)
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None or build.spec.evidence is None:
        raise InvalidInput(
            f"The index {index} takes no evidence.",
            field="index",
            allowed=[
                each.index_id
                for each in IndexBuild.objects.live()
                if each.spec.evidence is not None
            ],
            fix="Write evidence: true into its spec.",
        )
    return build


def add_evidence(
    index: str, items: Sequence[Item], *, threshold: float | None = None
) -> list[Decision]:
    """Decide on each item, in order, and store what is new. All of them, or where it raises none.

    ``threshold``: the cosine from which two findings say the same; the index's own by default.

    Raises:
        UnknownIndex: there is no such index.
        InvalidInput: the index takes no evidence, or an item is none; nothing was stored.
        EmbeddingUnavailable, StoreUnavailable, DiskFull: nothing was stored; retry helps.
    """
    contents = [(item.title or "", TextContent((item.content,))) for item in items]
    while True:
        build = find_evidence_build(index)
        findings = embed_contents(contents, build)
        for position, vectors in enumerate(findings):
            if not len(vectors):
                raise InvalidInput("There is no text in it.", field=f"items.{position}.content")
        with transaction.atomic():
            # One at a time: who comes second must see what the first has stored. Rows may go on
            # to name the index meanwhile.
            locked = Index.objects.select_for_update(no_key=True).get(pk=index)
            if locked.live_build_id == build.pk:
                return _decide(build, items, findings, threshold)


async def aadd_evidence(
    index: str, items: Sequence[Item], *, threshold: float | None = None
) -> list[Decision]:
    """``add_evidence`` off the event loop."""
    return await in_thread(add_evidence, index, items, threshold=threshold)


def _decide(
    build: IndexBuild,
    items: Sequence[Item],
    findings: Sequence[Vectors],
    threshold: float | None,
) -> list[Decision]:
    assert build.spec.evidence is not None
    _prune(build.index_id)
    known = Known(build, build.spec.evidence.threshold if threshold is None else threshold)
    known.look_up(findings)
    return [
        _decide_one(build, known, position, item, vectors)
        for position, (item, vectors) in enumerate(zip(items, findings, strict=True))
    ]


def _decide_one(
    build: IndexBuild, known: Known, position: int, item: Item, vectors: Vectors
) -> Decision:
    external_id = identify(item.url)
    content = TextContent((item.content,))
    given = find_by_external_ids(build.index_id, [external_id]).get(external_id)
    if given is None:
        while twin := known.find_same(content) or known.find_twin(position, vectors):
            # Locked: a twin that is deleted at this moment would take the finding with it.
            held = Artifact.objects.select_for_update().filter(pk=twin.artifact_id).first()
            if held is not None:
                return Decision(
                    item.url, Verdict.DUPLICATE, held.pk, held.revision, similarity=twin.similarity
                )
            known.forget(twin.artifact_id)
    try:
        artifact, _ = add_artifact(
            build.index_id,
            content,
            title=item.title,
            metadata=item.citation,
            external_id=external_id,
            url=item.url,
        )
    except InvalidInput as error:
        said = error.field or ""
        raise InvalidInput(
            error.detail.replace("metadata.", "citation."),
            field=f"items.{position}.{said.replace('metadata', 'citation', 1)}",
            allowed=error.allowed,
            fix=error.fix,
        ) from None
    if given is not None and given.revision == artifact.revision:
        return Decision(item.url, Verdict.DUPLICATE, artifact.pk, artifact.revision, similarity=1.0)
    known.add(artifact.pk, vectors)
    RecentEvidence.objects.update_or_create(
        artifact=artifact,
        defaults={
            "space": name_space(build.spec),
            "vectors": vectors.tobytes(),
            "count": len(vectors),
        },
    )
    verdict = Verdict.ADDED if given is None else Verdict.UPDATED
    return Decision(item.url, verdict, artifact.pk, artifact.revision)


def _prune(index: str) -> None:
    """Forget the vectors of what the vector store holds by now."""
    recent = Artifact.objects.filter(index=index, recent_evidence__isnull=False)
    ready = get_catalog().with_status(recent, index).filter(Q(status="ready")).order_by("pk")
    held = list(ready.values_list("pk", flat=True)[:PRUNED_AT_ONCE])
    RecentEvidence.objects.filter(pk__in=held).delete()

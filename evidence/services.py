"""Adds evidence, and detects duplicates by URL and by meaning.

check               each finding by itself
embed               the chunks of each finding, without a lock or transaction
then, for one request at a time in each index, in one transaction
  compare           with all stored findings, and with the earlier ones of the request
  store             as an artifact, and its vectors until the vector store holds them, with links to
                    similar findings; a repeat as a reference of the finding that it repeats
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput, StrataError
from core.text import clean_text, hash_text
from documents.exceptions import ContentConflict
from documents.groups import choose_groups_of_new_document
from documents.identity import find_by_external_ids
from documents.index_catalog import get_catalog, require_index
from documents.models import Artifact
from documents.services import TextContent, add_artifact
from evidence.duplicates import (
    DuplicateFinder,
    StoredFinding,
    embed_contents,
    hash_vector_space,
    join_pages,
)
from evidence.links import delete_references, link_similar_findings
from evidence.models import EvidenceReference, RecentEvidence, Vectors, vector_values
from evidence.spec import EvidenceSpec
from indexing.losses import make_loss_error
from indexing.models import Index, IndexBuild
from indexing.spec.dates import read_date
from retrieval.event_loop import run_in_thread

MAX_ITEMS = 100
MAX_EXTERNAL_ID_CHARS = 255
PRUNE_BATCH_SIZE = 500

# What a citation may write instead of RFC 3339, without dots and commas; PubMed's begin with the
# year. The first day that it means is stored.
DATE_FORMATS = ["%Y", "%Y-%m", "%Y/%m", "%Y/%m/%d"]
for month in ("%b", "%B"):
    DATE_FORMATS += [f"{month} %Y", f"%d {month} %Y", f"{month} %d %Y"]
    DATE_FORMATS += [f"%Y {month}", f"%Y {month} %d"]
UNKNOWN_DATES = frozenset(["", "unknown", "n.d.", "n/a"])
WRITTEN_DATE = "date_as_written"  # the citation's field that keeps such a date


class EvidenceVerdict(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"  # it, or one with the same meaning, was already stored
    UPDATED = "updated"  # its URL was known, with other content or another citation
    REJECTED = "rejected"  # it is invalid, or its URL is that of a document the caller may not see


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
    searches that must show it. A rejected finding has only ``error``.
    """

    url: str
    verdict: EvidenceVerdict
    artifact_id: UUID | None = None
    revision: int | None = None
    similarity: float | None = None
    similar: Sequence[StoredFinding] = ()  # to an added or updated finding, most similar first
    error: StrataError | None = None


def make_external_id(url: str) -> str:
    """The external id for a URL: the URL itself, or its hash if it is too long."""
    url = clean_text(url)
    return url if len(url) <= MAX_EXTERNAL_ID_CHARS else f"sha256 {hash_text(url)}"


def find_evidence_build(index: str) -> IndexBuild:
    """The live build of an index that accepts evidence.

    Raises:
        UnknownIndex: lists the known names.
        InvalidInput: the index accepts no evidence; lists those that do.
        PointsLost: the store has lost points of it.
    """
    require_index(index)
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None or EvidenceSpec.of(build.spec) is None:
        raise InvalidInput(
            f"The index {index} keeps no findings.",
            field="index",
            allowed=[
                each.index_id
                for each in IndexBuild.objects.live().readable()
                if EvidenceSpec.of(each.spec)
            ],
            fix="Set evidence: true in its spec.",
        )
    if build.lost_at is not None:  # duplicates of what was lost would not be found
        raise make_loss_error(index)
    return build


def add_evidence(
    index: str,
    items: Sequence[EvidenceInput | EvidenceDecision],
    *,
    threshold: float | None = None,
    grant: Grant = EVERYTHING,
) -> list[EvidenceDecision]:
    """Store the new findings and return a decision for each, in order. A finding that is not valid
    is rejected by itself; one that the caller has rejected already is given as that decision.
    After an error none is stored.

    ``threshold``: the cosine from which two findings are duplicates; by default that of the index.
    Only findings that the grant includes count as stored.

    Raises:
        UnknownIndex: there is no such index.
        InvalidInput: the index accepts no evidence.
        InvalidInput, ContentConflict: every item was rejected; the error of the first.
        EmbeddingUnavailable, StoreUnavailable, DiskFull: nothing was stored; retry helps.
    """
    if not items:
        return []
    while True:
        build = find_evidence_build(index)
        checked = [_check_item(build, position, item) for position, item in enumerate(items)]
        _raise_if_all_rejected(checked)
        valid = [item for item in checked if isinstance(item, EvidenceInput)]
        contents = [(item.title or "", TextContent((item.content,))) for item in valid]
        findings = embed_contents(contents, build)
        with transaction.atomic():
            # One request at a time: the second must see what the first has stored. The lock still
            # lets other transactions insert rows that refer to the index.
            locked = Index.objects.select_for_update(no_key=True).get(pk=index)
            if locked.live_build_id == build.pk:
                decisions = _add_findings(build, checked, findings, threshold, grant)
                _raise_if_all_rejected(decisions)
                return decisions


async def aadd_evidence(
    index: str, items: Sequence[EvidenceInput], *, threshold: float | None = None
) -> list[EvidenceDecision]:
    """``add_evidence`` in a thread, for callers in an event loop."""
    return await run_in_thread(add_evidence, index, items, threshold=threshold)


def _raise_if_all_rejected(items: Sequence[EvidenceInput | EvidenceDecision]) -> None:
    errors = [each.error for each in items if isinstance(each, EvidenceDecision) and each.error]
    if len(errors) == len(items):
        raise errors[0]


def _check_item(
    build: IndexBuild, position: int, item: EvidenceInput | EvidenceDecision
) -> EvidenceInput | EvidenceDecision:
    """Convert a finding's citation to the stored form, or reject the finding."""
    if isinstance(item, EvidenceDecision):
        return item
    try:
        if not clean_text(item.content).strip():
            raise InvalidInput("The finding contains no text.", field="content")
        if item.citation is None:
            return item
        citation = item.citation
        if (date := build.spec.metadata.get("date")) is not None and date.type == "datetime":
            citation = _read_date(citation)
        return replace(item, citation=get_catalog().clean_metadata(build.index_id, citation))
    except InvalidInput as error:
        field = (error.field or "").replace("metadata", "citation", 1)
        rejection = InvalidInput(
            error.detail.replace("metadata.", "citation."),
            field=f"items.{position}.{field}",
            allowed=error.allowed,
            fix=error.fix,
        )
        return EvidenceDecision(item.url, EvidenceVerdict.REJECTED, error=rejection)


def _read_date(citation: dict[str, Any]) -> dict[str, Any]:
    """Convert a date such as ``2021`` or ``Mar 2021`` to its first day, and keep it as written."""
    written = citation.get("date")
    if not isinstance(written, str):
        return citation
    cleaned = clean_text(written).strip()
    if cleaned.lower() in UNKNOWN_DATES:
        undated = {name: value for name, value in citation.items() if name != "date"}
        return {**undated, WRITTEN_DATE: written}
    plain = re.sub(r"[.,]\s*", " ", cleaned).strip()
    for format in DATE_FORMATS:
        with suppress(ValueError):
            day = datetime.strptime(plain, format).date()
            return {**citation, "date": day.isoformat(), WRITTEN_DATE: written}
    try:
        read_date(written, "citation.date")
    except InvalidInput:
        raise InvalidInput(
            f"citation.date is not a date: {written[:100]!r}.",
            field="citation.date",
            fix="Write it as 2021-05-14, 2021-05, 2021, May 2021, 14 May 2021 or 2021 May 14.",
        ) from None
    return citation


def _add_findings(
    build: IndexBuild,
    items: Sequence[EvidenceInput | EvidenceDecision],
    findings: Sequence[Vectors],
    threshold: float | None,
    grant: Grant,
) -> list[EvidenceDecision]:
    """``findings``: the vectors of the items that are not rejected."""
    section = EvidenceSpec.of(build.spec)
    assert section is not None
    _delete_indexed_vectors(build.index_id)
    duplicates = DuplicateFinder(
        build, section.threshold if threshold is None else threshold, grant
    )
    duplicates.search_store(findings)
    decisions: list[EvidenceDecision] = []
    remaining = iter(enumerate(findings))
    for position, item in enumerate(items):
        if isinstance(item, EvidenceDecision):
            decisions.append(item)
            continue
        finding_index, vectors = next(remaining)
        try:
            with transaction.atomic():
                decisions.append(_add_finding(duplicates, finding_index, item, vectors))
        except ContentConflict as error:
            error.field = f"items.{position}.url"
            decisions.append(EvidenceDecision(item.url, EvidenceVerdict.REJECTED, error=error))
    return decisions


def _add_finding(
    duplicates: DuplicateFinder, finding_index: int, item: EvidenceInput, vectors: Vectors
) -> EvidenceDecision:
    index, grant = duplicates.build.index_id, duplicates.grant
    stored_vectors = vector_values(vectors, hash_vector_space(duplicates.build.spec))
    external_id = make_external_id(item.url)
    content = TextContent((item.content,))
    known_artifact = find_by_external_ids(index, [external_id]).get(external_id)
    near = duplicates.find_near(finding_index, content, vectors)
    groups = choose_groups_of_new_document(grant, None)
    if known_artifact is None:
        while duplicate := duplicates.find_exact_duplicate(content) or near.duplicate:
            # Locked: if the stored finding were deleted now, this one would be lost, too.
            stored = Artifact.objects.select_for_update().filter(pk=duplicate.artifact_id).first()
            if stored is not None:
                # A repeat is kept as a reference, in place of earlier ones with its URL.
                reference, _ = EvidenceReference.objects.update_or_create(
                    artifact=stored,
                    external_id=external_id,
                    groups=groups,
                    defaults={
                        "repeated_sha256": stored.sha256,
                        "similarity": duplicate.similarity,
                        "url": item.url,
                        "title": item.title or "",
                        "content": join_pages(content.pages),
                        "citation": item.citation or {},
                        **stored_vectors,
                    },
                )
                delete_references(index, external_id, grant, groups, except_for=reference)
                return EvidenceDecision(
                    item.url,
                    EvidenceVerdict.DUPLICATE,
                    stored.pk,
                    stored.revision,
                    similarity=duplicate.similarity,
                )
            duplicates.remove(duplicate.artifact_id)
            near = duplicates.find_near(finding_index, content, vectors)
        delete_references(index, external_id, grant, groups)
    artifact, _ = add_artifact(
        index,
        content,
        title=item.title,
        metadata=item.citation,
        external_id=external_id,
        url=item.url,
        grant=grant,
    )
    if known_artifact is not None and known_artifact.revision == artifact.revision:
        return EvidenceDecision(
            item.url, EvidenceVerdict.DUPLICATE, artifact.pk, artifact.revision, similarity=1.0
        )
    similar = link_similar_findings(artifact, near.all)
    duplicates.add(artifact.pk, vectors)
    RecentEvidence.objects.update_or_create(artifact=artifact, defaults=stored_vectors)
    if known_artifact is not None and known_artifact.sha256 != artifact.sha256:
        duplicates.read_recent()  # a repeat of its earlier content may have taken its place
    verdict = EvidenceVerdict.ADDED if known_artifact is None else EvidenceVerdict.UPDATED
    return EvidenceDecision(item.url, verdict, artifact.pk, artifact.revision, similar=similar)


def _delete_indexed_vectors(index: str) -> None:
    """Delete the recent vectors of findings that the vector store already holds."""
    recent = Artifact.objects.filter(index=index, recent_evidence__isnull=False)
    ready = get_catalog().with_status(recent, index).filter(Q(status="ready")).order_by("pk")
    indexed_ids = list(ready.values_list("pk", flat=True)[:PRUNE_BATCH_SIZE])
    RecentEvidence.objects.filter(pk__in=indexed_ids).delete()

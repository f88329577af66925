"""Finding concepts in the sources of an index whose spec asks for it.

A row for each source is its place in the queue, as it is for what is written about documents:
due, claimed with a lease, written or failed.
"""

import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from concepts.evidence import add_instance
from concepts.models import Extraction
from concepts.quoting import find_quote
from concepts.services import (
    MAX_LABEL_CHARS,
    MAX_NAME_CHARS,
    create_concept,
    create_relationship_type,
    find_concept,
    find_relationship_type,
    relate,
)
from concepts.writers import (
    Findings,
    FoundConcept,
    FoundRelationship,
    Outcome,
    SourceInput,
    get_writer,
)
from core.exceptions import StrataError
from core.text import hash_text
from documents.models import Artifact, Source
from indexing.models import IndexBuild, lease_end
from indexing.spec import IndexSpec
from indexing.throughput import LANGUAGE_MODEL, note_throughput
from summaries import llm
from summaries.services import LEASE_SECONDS, SUSPECT_ATTEMPTS, spend
from summaries.writers import batch_size

logger = logging.getLogger(__name__)

State = Extraction.State
PLANNED_AT_ONCE = 500  # sources


def hash_recipe(spec: IndexSpec) -> str:
    """Of what decides what is found in a source."""
    assert spec.concepts is not None
    return hash_text(json.dumps(spec.concepts.model_dump(mode="json"), sort_keys=True))


def unplanned_sources(build: IndexBuild) -> QuerySet[Source]:
    """Sources of the index of which it is not yet said that anything is due."""
    known = Extraction.objects.filter(
        source=OuterRef("pk"),
        source_hash=OuterRef("content_hash"),
        recipe_hash=hash_recipe(build.spec),
    )
    sources = Source.objects.filter(
        artifact__index=build.index_id,
        artifact__role=Artifact.Role.DOCUMENT,
        artifact__state=Artifact.State.PARSED,
    )
    return sources.filter(~Exists(known)).exclude(content_hash=None)


def is_extracted(build: IndexBuild) -> bool:
    """Whether concepts are found in this build's documents: for the live build alone, since they
    belong to the index."""
    concepts = build.spec.concepts
    return concepts is not None and concepts.extract and build.index.live_build_id == build.pk


def has_work(build: IndexBuild) -> bool:
    if not is_extracted(build):
        return False
    return _claimable(build).exists() or unplanned_sources(build).exists()


def extract_concepts(build: IndexBuild, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Claim one batch of sources, have concepts found in them, and keep what is found; how many
    sources were claimed.

    Raises:
        LanguageModelUnavailable, LanguageModelMisconfigured, …: what was not come to is as it
            was, its attempt given back; calling again later is safe.
    """
    if should_stop() or not is_extracted(build):
        return 0
    _plan(build)
    _claimable(build).filter(attempts__gte=settings.STRATA_MAX_ATTEMPTS).update(
        state=State.FAILED, last_error="Its worker died at each attempt."
    )
    claim = _claim(build)
    if not claim.rows:
        return 0
    outage: StrataError | None = None
    started, call_count = time.monotonic(), 0
    try:
        inputs = {
            pk: SourceInput(row.source.text, row.source.heading, row.is_asked_anew)
            for pk, row in claim.rows.items()
        }
        for outcome in get_writer().find(inputs, build.spec):
            spend(build, outcome.cost)
            call_count += outcome.cost.call_count
            error = outcome.error
            if error is not None and (error.is_retryable or error.is_about_setup):
                outage = error
            elif error is not None or outcome.findings is not None:
                _keep_or_note(build, claim, outcome)
            if should_stop():
                break
    finally:
        _release(claim.token)
        if llm.is_configured() and call_count:
            note_throughput(LANGUAGE_MODEL, call_count, time.monotonic() - started)
    if outage is not None:
        raise outage
    return len(claim.rows)


def extract_again(rows: QuerySet[Extraction]) -> int:
    """Have concepts looked for anew in the sources of these rows, whatever was answered before;
    how many. What was found stays."""
    return rows.update(
        state=State.DUE, attempts=0, last_error="", is_asked_anew=True, lease_token=None,
        leased_until=None,
    )  # fmt: skip


def release_leases() -> None:
    """Let go of every claim. Only for the one process that owns all work."""
    held = Extraction.objects.filter(lease_token__isnull=False)
    held.update(lease_token=None, leased_until=None)


# --- Claiming --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Claim:
    token: UUID
    rows: Mapping[UUID, Extraction]


def _plan(build: IndexBuild) -> None:
    recipe_hash = hash_recipe(build.spec)
    sources = unplanned_sources(build).order_by("pk").values_list("pk", "content_hash")
    rows = [
        Extraction(source_id=pk, source_hash=content_hash or "", recipe_hash=recipe_hash)
        for pk, content_hash in sources[:PLANNED_AT_ONCE]
    ]
    Extraction.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["source"],
        update_fields=[
            "source_hash", "recipe_hash", "state", "attempts", "last_error", "is_asked_anew",
            "lease_token", "leased_until",
        ],
    )  # fmt: skip


def _claimable(build: IndexBuild) -> QuerySet[Extraction]:
    free = Q(leased_until=None) | Q(leased_until__lt=Now())
    return Extraction.objects.filter(free, state=State.DUE, source__artifact__index=build.index_id)


def _claim(build: IndexBuild) -> _Claim:
    """Take a lease on a batch; the attempt is counted now. Rows that saw their worker die are
    taken one at a time."""
    token = uuid.uuid4()
    with transaction.atomic():
        rows = _claimable(build).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        fresh = rows.filter(attempts__lt=SUSPECT_ATTEMPTS)[: batch_size()]
        ids = list(fresh.values_list("pk", flat=True))
        if not ids:
            suspects = rows.filter(attempts__lt=settings.STRATA_MAX_ATTEMPTS)[:1]
            ids = list(suspects.values_list("pk", flat=True))
        Extraction.objects.filter(pk__in=ids).update(
            attempts=F("attempts") + 1, lease_token=token, leased_until=lease_end(LEASE_SECONDS)
        )
    held = Extraction.objects.filter(lease_token=token).select_related("source__artifact")
    return _Claim(token, {row.pk: row for row in held} if ids else {})


def _release(token: UUID) -> None:
    """Give back what was not come to, with its attempt."""
    held = Extraction.objects.filter(lease_token=token)
    held.update(attempts=F("attempts") - 1, lease_token=None, leased_until=None)


# --- Keeping ---------------------------------------------------------------------------------


def _keep_or_note(build: IndexBuild, claim: _Claim, outcome: Outcome) -> None:
    """What cannot be kept costs its source an attempt, and the others nothing."""
    try:
        _keep(build, claim, outcome)
    except Exception as error:
        logger.warning("What was found in source %s cannot be kept", outcome.key, exc_info=True)
        Extraction.objects.filter(pk=outcome.key, lease_token=claim.token).update(
            last_error=f"{type(error).__name__}: {error}", lease_token=None, leased_until=None
        )


def _keep(build: IndexBuild, claim: _Claim, outcome: Outcome) -> None:
    with transaction.atomic():
        held = Extraction.objects.select_for_update(of=("self",)).select_related("source__artifact")
        row = held.filter(pk=outcome.key, lease_token=claim.token).first()
        if row is None:
            return  # gone with its source, or claimed anew
        row.lease_token = row.leased_until = None
        row.is_asked_anew = False
        if outcome.findings is None:
            row.state, row.last_error = State.FAILED, str(outcome.error)
        else:
            row.state, row.last_error, row.attempts = State.WRITTEN, "", 0
            row.model_name, row.written_at = outcome.findings.model_name, Now()
            row.concept_count, row.refused_count = _take(
                build.index_id, row.source, outcome.findings
            )
        row.save()


def _take(index: str, source: Source, findings: Findings) -> tuple[int, int]:
    """How many concepts the source bears, and how many quotes and relationships were refused:
    quotes that do not stand in it, and what rests on none that does."""
    taken = refused = 0
    for found in findings.concepts:
        there = [quote for quote in found.quotes if find_quote(source.text, quote) is not None]
        refused += len(found.quotes) - len(there)
        if not there or not _is_usable(found.label, MAX_LABEL_CHARS):
            refused += not found.quotes
            continue
        _take_concept(index, source, found, there)
        taken += 1
    for relationship in findings.relationships:
        refused += not _take_relationship(index, relationship)
    return taken, refused


def _take_concept(index: str, source: Source, found: FoundConcept, quotes: list[str]) -> None:
    concept = find_concept(index, found.label)
    if concept is None:
        # What people wrote of a concept is theirs; of a new one, what was found.
        concept = create_concept(index, found.label, description=found.description[:1_000])
    for quote in quotes:
        add_instance(concept.pk, quote, source_id=source.pk)


def _take_relationship(index: str, found: FoundRelationship) -> bool:
    ends = [find_concept(index, label) for label in (found.source, found.target)]
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return False
    if not _is_usable(found.type, MAX_NAME_CHARS):
        return False
    kind = find_relationship_type(index, found.type)
    if kind is None:
        category = found.category if len(found.category) <= 60 else ""
        kind = create_relationship_type(index, found.type, category=category)
    relate(index, ends[0].pk, kind.pk, ends[1].pk)
    return True


def _is_usable(name: str, most: int) -> bool:
    return 0 < len(" ".join(name.split())) <= most

"""Extracts concepts from the sources of an index whose spec asks for it.

Each source has one Extraction row, which is also the queue: due, claimed with a lease, written
or failed.
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

from concepts.extractors import (
    ExtractedConcept,
    ExtractedRelationship,
    ExtractionInput,
    ExtractionOutcome,
    ExtractionResult,
    get_extractor,
)
from concepts.instances import add_instance
from concepts.models import Extraction
from concepts.quote_matching import find_quote
from concepts.services import (
    MAX_LABEL_CHARS,
    MAX_NAME_CHARS,
    create_concept,
    create_relationship_type,
    find_concept,
    find_relationship_type,
    relate_concepts,
)
from core.exceptions import StrataError
from core.text import hash_text
from documents.models import Artifact, Source
from indexing.models import IndexBuild, lease_expiry
from indexing.spec import IndexSpec
from indexing.throughput import LANGUAGE_MODEL_CALLS, add_throughput_sample
from summaries import llm
from summaries.services import ATTEMPTS_BEFORE_ISOLATION, LEASE_SECONDS, add_cost_to_build
from summaries.writers import get_claim_batch_size

logger = logging.getLogger(__name__)

State = Extraction.State
PLAN_BATCH_SIZE = 500  # sources


def hash_concept_spec(spec: IndexSpec) -> str:
    """Hash of the spec's ``concepts`` section: a change makes every source due again."""
    assert spec.concepts is not None
    return hash_text(json.dumps(spec.concepts.model_dump(mode="json"), sort_keys=True))


def sources_without_extraction(build: IndexBuild) -> QuerySet[Source]:
    """Sources without an Extraction row for their current content and the build's spec."""
    known = Extraction.objects.filter(
        source=OuterRef("pk"),
        source_hash=OuterRef("content_hash"),
        recipe_hash=hash_concept_spec(build.spec),
    )
    sources = Source.objects.filter(
        artifact__index=build.index_id,
        artifact__role=Artifact.Role.DOCUMENT,
        artifact__state=Artifact.State.PARSED,
    )
    return sources.filter(~Exists(known)).exclude(content_hash=None)


def is_extraction_enabled(build: IndexBuild) -> bool:
    """Whether the spec asks for extraction and the build is live. Only the live build extracts,
    since concepts belong to the index."""
    concepts = build.spec.concepts
    return concepts is not None and concepts.extract and build.index.live_build_id == build.pk


def has_pending_extractions(build: IndexBuild) -> bool:
    if not is_extraction_enabled(build):
        return False
    return _claimable_extractions(build).exists() or sources_without_extraction(build).exists()


def extract_concepts(build: IndexBuild, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Claim one batch of sources, extract concepts from them and store the result; return how many
    sources were claimed.

    Raises:
        LanguageModelUnavailable, LanguageModelMisconfigured, …: what was not come to is as it
            was, its attempt given back; calling again later is safe.
    """
    if should_stop() or not is_extraction_enabled(build):
        return 0
    _plan_extractions(build)
    _claimable_extractions(build).filter(attempts__gte=settings.STRATA_MAX_ATTEMPTS).update(
        state=State.FAILED, last_error="Its worker died at each attempt."
    )
    claim = _claim_batch(build)
    if not claim.rows:
        return 0
    outage: StrataError | None = None
    started, call_count = time.monotonic(), 0
    try:
        inputs = {
            pk: ExtractionInput(row.source.text, row.source.heading, row.is_cache_bypassed)
            for pk, row in claim.rows.items()
        }
        for outcome in get_extractor().extract(inputs, build.spec):
            add_cost_to_build(build, outcome.cost)
            call_count += outcome.cost.call_count
            error = outcome.error
            if error is not None and (error.is_retryable or error.is_about_setup):
                outage = error
            elif error is not None or outcome.findings is not None:
                _save_result_or_error(build, claim, outcome)
            if should_stop():
                break
    finally:
        _release_unfinished(claim.token)
        if llm.is_configured() and call_count:
            add_throughput_sample(LANGUAGE_MODEL_CALLS, call_count, time.monotonic() - started)
    if outage is not None:
        raise outage
    return len(claim.rows)


def requeue_extractions(rows: QuerySet[Extraction]) -> int:
    """Make these extractions due again, bypassing stored completions; return how many. Concepts
    found before stay."""
    return rows.update(
        state=State.DUE, attempts=0, last_error="", is_cache_bypassed=True, lease_token=None,
        leased_until=None,
    )  # fmt: skip


def release_all_leases() -> None:
    """Release every lease. Only for the one process that does all work."""
    held = Extraction.objects.filter(lease_token__isnull=False)
    held.update(lease_token=None, leased_until=None)


# --- Claiming --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SourceClaim:
    token: UUID
    rows: Mapping[UUID, Extraction]


def _plan_extractions(build: IndexBuild) -> None:
    recipe_hash = hash_concept_spec(build.spec)
    sources = sources_without_extraction(build).order_by("pk").values_list("pk", "content_hash")
    rows = [
        Extraction(source_id=pk, source_hash=content_hash or "", recipe_hash=recipe_hash)
        for pk, content_hash in sources[:PLAN_BATCH_SIZE]
    ]
    Extraction.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["source"],
        update_fields=[
            "source_hash", "recipe_hash", "state", "attempts", "last_error", "is_cache_bypassed",
            "lease_token", "leased_until",
        ],
    )  # fmt: skip


def _claimable_extractions(build: IndexBuild) -> QuerySet[Extraction]:
    free = Q(leased_until=None) | Q(leased_until__lt=Now())
    return Extraction.objects.filter(free, state=State.DUE, source__artifact__index=build.index_id)


def _claim_batch(build: IndexBuild) -> _SourceClaim:
    """Lease a batch of due rows and count the attempt now. Rows whose worker died before are
    claimed one at a time."""
    token = uuid.uuid4()
    with transaction.atomic():
        rows = _claimable_extractions(build).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        fresh = rows.filter(attempts__lt=ATTEMPTS_BEFORE_ISOLATION)[: get_claim_batch_size()]
        ids = list(fresh.values_list("pk", flat=True))
        if not ids:
            retried_rows = rows.filter(attempts__lt=settings.STRATA_MAX_ATTEMPTS)[:1]
            ids = list(retried_rows.values_list("pk", flat=True))
        Extraction.objects.filter(pk__in=ids).update(
            attempts=F("attempts") + 1, lease_token=token, leased_until=lease_expiry(LEASE_SECONDS)
        )
    held = Extraction.objects.filter(lease_token=token).select_related("source__artifact")
    return _SourceClaim(token, {row.pk: row for row in held} if ids else {})


def _release_unfinished(token: UUID) -> None:
    """Release the claimed rows that were not processed, and give back their attempt."""
    held = Extraction.objects.filter(lease_token=token)
    held.update(attempts=F("attempts") - 1, lease_token=None, leased_until=None)


# --- Keeping ---------------------------------------------------------------------------------


def _save_result_or_error(
    build: IndexBuild, claim: _SourceClaim, outcome: ExtractionOutcome
) -> None:
    """Store one result; if that fails, note the error on its source's row and go on."""
    try:
        _save_result(build, claim, outcome)
    except Exception as error:
        logger.warning("What was found in source %s cannot be kept", outcome.key, exc_info=True)
        Extraction.objects.filter(pk=outcome.key, lease_token=claim.token).update(
            last_error=f"{type(error).__name__}: {error}", lease_token=None, leased_until=None
        )


def _save_result(build: IndexBuild, claim: _SourceClaim, outcome: ExtractionOutcome) -> None:
    with transaction.atomic():
        held = Extraction.objects.select_for_update(of=("self",)).select_related("source__artifact")
        row = held.filter(pk=outcome.key, lease_token=claim.token).first()
        if row is None:
            return  # gone with its source, or claimed anew
        row.lease_token = row.leased_until = None
        row.is_cache_bypassed = False
        if outcome.findings is None:
            row.state, row.last_error = State.FAILED, str(outcome.error)
        else:
            row.state, row.last_error, row.attempts = State.WRITTEN, "", 0
            row.model_name, row.written_at = outcome.findings.model_name, Now()
            row.concept_count, row.refused_count = _add_extracted(
                build.index_id, row.source, outcome.findings
            )
        row.save()


def _add_extracted(index: str, source: Source, findings: ExtractionResult) -> tuple[int, int]:
    """Add what was extracted; return the number of concepts added, and of quotes and relationships
    refused: quotes that the source does not contain, and what has no valid quote."""
    added_count = refused = 0
    for found in findings.concepts:
        found_quotes = [
            quote for quote in found.quotes if find_quote(source.text, quote) is not None
        ]
        refused += len(found.quotes) - len(found_quotes)
        if not found_quotes or not _is_valid_name(found.label, MAX_LABEL_CHARS):
            refused += not found.quotes
            continue
        _add_concept(index, source, found, found_quotes)
        added_count += 1
    for relationship in findings.relationships:
        refused += not _add_relationship(index, relationship)
    return added_count, refused


def _add_concept(index: str, source: Source, found: ExtractedConcept, quotes: list[str]) -> None:
    concept = find_concept(index, found.label)
    if concept is None:
        # What people wrote of a concept is theirs; of a new one, what was found.
        concept = create_concept(index, found.label, description=found.description[:1_000])
    for quote in quotes:
        add_instance(concept.pk, quote, source_id=source.pk)


def _add_relationship(index: str, found: ExtractedRelationship) -> bool:
    ends = [find_concept(index, label) for label in (found.source, found.target)]
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return False
    if not _is_valid_name(found.type, MAX_NAME_CHARS):
        return False
    kind = find_relationship_type(index, found.type)
    if kind is None:
        category = found.category if len(found.category) <= 60 else ""
        kind = create_relationship_type(index, found.type, category=category)
    relate_concepts(index, ends[0].pk, kind.pk, ends[1].pk)
    return True


def _is_valid_name(name: str, max_chars: int) -> bool:
    return 0 < len(" ".join(name.split())) <= max_chars

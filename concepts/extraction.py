"""Extracts concepts from the sources of an index whose spec asks for it, if a language model is
configured. Rules would find key phrases, which are not concepts.

Each source has one Extraction row, which is also the queue: due, claimed with a lease, written
or failed.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, Min, OuterRef, QuerySet
from django.db.models.functions import Now
from pydantic import BaseModel, Field, create_model

from concepts.models import Concept, Extraction, RelationshipType
from concepts.quote_matching import find_quote
from concepts.quotes import add_quote
from concepts.services import (
    MAX_CHARS,
    create_concept,
    create_relationship_type,
    find_entity,
    relate_concepts,
)
from concepts.spec import ConceptSpec
from core.leases import FRESH, NO_LEASE, Claim, describe_error
from core.text import hash_text
from documents.models import Artifact, Source
from indexing.hooks import Fault
from indexing.models import IndexBuild, Node
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.spec import IndexSpec
from language_models import llm
from language_models.prompts import render_prompt
from language_models.response_schemas import max_chars, max_items
from summaries.services import limit_to_calls_left, save_outcomes
from summaries.writers import (
    CompletionOutcome,
    LanguageModelWriter,
    ModelCall,
    get_claim_batch_size,
)

logger = logging.getLogger(__name__)

State = Extraction.State
PLAN_BATCH_SIZE = 500  # sources
QUOTES_PER_CONCEPT = 3
MAX_RELATIONSHIPS = 100


class ConceptResponse(BaseModel):
    label: Annotated[str, max_chars(MAX_CHARS["label"])] = Field(min_length=1)
    description: Annotated[str, max_chars(1_000)] = ""
    quotes: Annotated[list[Annotated[str, max_chars(1_000)]], max_items(QUOTES_PER_CONCEPT)] = []


class RelationshipResponse(BaseModel):
    source: Annotated[str, max_chars(MAX_CHARS["label"])]  # a concept's label
    type: Annotated[str, max_chars(MAX_CHARS["name"])] = Field(min_length=1)
    category: Annotated[str, max_chars(MAX_CHARS["category"])] = ""
    target: Annotated[str, max_chars(MAX_CHARS["label"])]


class ExtractionResponse(BaseModel):
    concepts: list[ConceptResponse]
    relationships: Annotated[list[RelationshipResponse], max_items(MAX_RELATIONSHIPS)] = []


@cache
def make_extraction_schema(concept_count: int) -> type[BaseModel]:
    """With at most so many concepts."""
    concepts: Any = (Annotated[list[ConceptResponse], max_items(concept_count)], ...)
    return create_model("ExtractionResponse", __base__=ExtractionResponse, concepts=concepts)


def hash_concept_spec(spec: IndexSpec) -> str:
    """Hash of the spec's ``concepts`` section: a change makes every source due again."""
    section = ConceptSpec.of(spec)
    assert section is not None
    return hash_text(json.dumps(section.model_dump(mode="json"), sort_keys=True))


def sources_without_extraction(build: IndexBuild) -> QuerySet[Source]:
    """Sources without an Extraction row for their current content and the build's spec."""
    extractions = Extraction.objects.filter(
        source=OuterRef("pk"),
        source_hash=OuterRef("content_hash"),
        recipe_hash=hash_concept_spec(build.spec),
    )
    sources = Source.objects.filter(
        artifact__index=build.index_id, artifact__state=Artifact.State.PARSED
    )
    return sources.filter(~Exists(extractions)).exclude(content_hash=None)


def is_extraction_enabled(build: IndexBuild) -> bool:
    """Whether the spec asks for extraction, the build is live and a language model is configured.
    Only the live build extracts, since concepts belong to the index."""
    section = ConceptSpec.of(build.spec)
    is_asked = section is not None and section.extract
    return llm.is_configured() and is_asked and build.index.live_build_id == build.pk


def count_unfinished_extractions(index: str, artifact_ids: Collection[UUID]) -> int:
    """How many sources of these documents wait for their concepts, and how many nodes of concepts,
    relationship types and relationships of the index are not synced yet."""
    build = IndexBuild.objects.live().filter(index=index, paused_at=None).first()
    if build is None or not is_extraction_enabled(build):
        return 0
    count = 0
    for part in slices(sorted(artifact_ids), ROWS_PER_STATEMENT):
        due = Extraction.objects.filter(
            state=State.DUE, source__artifact__in=part, source__is_current=True
        )
        count += due.count() + sources_without_extraction(build).filter(artifact__in=part).count()
    kinds = ["concept", "relationship_type", "relationship"]
    nodes = Node.objects.filter(build=build, kind__in=kinds)
    return count + nodes.filter(state=Node.State.PENDING).count()


def find_extraction_faults(artifacts: QuerySet[Artifact]) -> Iterator[tuple[UUID, Fault]]:
    """The artifacts from some of whose sources no concepts could be extracted."""
    for artifact_id, count, reason in (
        _find_failed_extractions(artifacts)
        .order_by()
        .values_list("source__artifact")
        .annotate(count=Count("pk"), reason=Min("last_error"))
    ):
        detail = f"No concepts from {count} of its sources: {reason}"
        yield artifact_id, {"code": "concepts_missing", "detail": detail}


def retry_failed_extractions(artifacts: QuerySet[Artifact]) -> int:
    return requeue_extractions(_find_failed_extractions(artifacts))


def _find_failed_extractions(artifacts: QuerySet[Artifact]) -> QuerySet[Extraction]:
    ids = artifacts.order_by().values("pk")
    return Extraction.objects.filter(
        state=State.FAILED, source__artifact__in=ids, source__is_current=True
    )


def has_pending_extractions(build: IndexBuild) -> bool:
    if not is_extraction_enabled(build):
        return False
    return (
        Extraction.objects.claimable(build.index_id).exists()
        or sources_without_extraction(build).exists()
    )


def extract_concepts(build: IndexBuild, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Claim one batch of sources, extract concepts from them and store the result; return how many
    sources were claimed.

    Raises:
        LanguageModelUnavailable, LanguageModelMisconfigured, LanguageModelCallsSpent, …: sources
            not processed stay due and their attempt is not counted; calling again later is safe.
    """
    if should_stop() or not is_extraction_enabled(build):
        return 0
    _plan_extractions(build)
    claimable = Extraction.objects.claimable(build.index_id).order_by("pk")
    claimable.give_up_exhausted()
    if not claimable.exists():
        return 0
    claim = claimable.claim_batch(limit_to_calls_left(build, get_claim_batch_size()))
    if claim is None:
        return 0
    rows = claim.rows.select_related("source__artifact")
    calls = {row.pk: _make_call(row, build.spec) for row in rows}
    save_outcomes(
        build,
        claim,
        LanguageModelWriter().complete(calls),
        lambda outcome: _save_outcome(build, claim, outcome),
        should_stop,
    )
    return len(calls)


def _make_call(row: Extraction, spec: IndexSpec) -> ModelCall:
    section = ConceptSpec.of(spec)
    assert section is not None
    prompt = render_prompt(
        section.prompt,
        row.source.text[: settings.STRATA_LLM_CONTEXT_CHARS],
        heading=row.source.heading,
        count=section.per_source,
    )
    return ModelCall(
        prompt,
        make_extraction_schema(section.per_source),
        section.model,
        row.is_cache_bypassed,
        row.source.artifact_id,
    )


def requeue_extractions(rows: QuerySet[Extraction]) -> int:
    """Make these extractions due again, without stored completions. Their concepts stay."""
    return rows.update(state=State.DUE, is_cache_bypassed=True, **FRESH)


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


# --- Saving ----------------------------------------------------------------------------------


def _save_outcome(
    build: IndexBuild, claim: Claim[Extraction], outcome: CompletionOutcome[UUID]
) -> None:
    """Store one answer; if that fails, store the error on the Extraction row and continue."""
    key, answer = outcome.key, outcome.value
    try:
        with transaction.atomic():
            rows = claim.rows.select_for_update(of=("self",)).select_related("source__artifact")
            row = rows.filter(pk=key).first()
            if row is None:
                return  # deleted with its source, or claimed by another worker
            row.lease_token = row.leased_until = None
            row.is_cache_bypassed = False
            if answer is None:
                row.state, row.last_error = State.FAILED, str(outcome.error)
            else:
                row.state, row.last_error, row.attempts = State.WRITTEN, "", 0
                row.model_name, row.written_at = answer.model_name, Now()
                response: Any = answer.value
                row.concept_count, row.refused_count = _add_extracted(build, row.source, response)
            row.save()
    except Exception as failure:
        logger.warning("Could not save the result of extraction %s", key, exc_info=True)
        claim.rows.filter(pk=key).update(last_error=describe_error(failure), **NO_LEASE)


def _add_extracted(
    build: IndexBuild, source: Source, response: ExtractionResponse
) -> tuple[int, int]:
    """Add the extracted concepts and relationships; return the number of concepts added, and the
    number of quotes, relationships and concepts without quotes that were refused."""
    section = ConceptSpec.of(build.spec)
    assert section is not None
    index = build.index_id
    added_count = refused_count = 0
    for found in response.concepts[: section.per_source]:
        quotes = found.quotes[:QUOTES_PER_CONCEPT]
        found_quotes = [quote for quote in quotes if find_quote(source.text, quote) is not None]
        refused_count += len(quotes) - len(found_quotes)
        if not found_quotes or not _is_valid_name("label", found.label):
            refused_count += not quotes
            continue
        concept = find_entity(Concept, index, found.label)
        if concept is None:
            # Only a new concept gets the extracted description: people may have edited others.
            concept = create_concept(index, found.label, description=found.description[:1_000])
        for quote in found_quotes:
            add_quote(concept.pk, quote, source_id=source.pk)
        added_count += 1
    for relationship in response.relationships:
        refused_count += not _add_relationship(index, source, relationship)
    return added_count, refused_count


def _add_relationship(index: str, source: Source, found: RelationshipResponse) -> bool:
    ends = [find_entity(Concept, index, label) for label in (found.source, found.target)]
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return False
    if source.artifact.groups and not all(
        end.quotes.filter(artifact=source.artifact).exists() for end in ends if end is not None
    ):
        # A relationship is hidden with its concepts, and these only if the document quotes them.
        return False
    if not _is_valid_name("name", found.type):
        return False
    relationship_type = find_entity(RelationshipType, index, found.type)
    if relationship_type is None:
        category = found.category if len(found.category) <= MAX_CHARS["category"] else ""
        relationship_type = create_relationship_type(index, found.type, category=category)
    relate_concepts(index, ends[0].pk, relationship_type.pk, ends[1].pk)
    return True


def _is_valid_name(field: str, name: str) -> bool:
    return 0 < len(" ".join(name.split())) <= MAX_CHARS[field]

"""Adds quotes of concepts, and relocates them after edits."""

import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import transaction

from access.grants import EVERYTHING, Grant
from concepts.exceptions import QuoteNotFound
from concepts.models import Concept, Instance
from concepts.quote_matching import find_quote
from concepts.services import lock_entity
from core.exceptions import InvalidInput
from core.text import hash_text
from documents.groups import is_visible
from documents.models import Artifact, Source

logger = logging.getLogger(__name__)

MAX_QUOTE_CHARS = 5_000


@transaction.atomic
def add_quote(
    concept_id: UUID,
    quote: str,
    *,
    source_id: UUID | None = None,
    artifact_id: UUID | None = None,
    grant: Grant = EVERYTHING,
) -> tuple[Instance, bool]:
    """Add a quote of a concept; return it and whether it is new. The quote
    is looked up in one source, or in all sources of a document; the source's wording is stored.

    Raises:
        UnknownConcept: there is no concept with this id.
        QuoteNotFound: no source contains the quote, even after normalisation.
        InvalidInput: the concept's index has no such source or document.
    """
    if len(quote) > MAX_QUOTE_CHARS:
        raise InvalidInput(f"quote must have at most {MAX_QUOTE_CHARS} characters.", field="quote")
    concept = lock_entity(Concept, concept_id, grant)
    sources = _select_sources(concept.index, source_id, artifact_id, grant)
    for source in sources:
        span = find_quote(source.text, quote)
        if span is not None:
            start, end = span
            return Instance.objects.get_or_create(
                concept=concept,
                source=source,
                start_offset=start,
                end_offset=end,
                defaults={
                    "artifact_id": source.artifact_id,
                    "quote": source.text[start:end],
                    "source_hash": hash_text(source.text),
                },
            )
    raise QuoteNotFound(
        field="quote", fix="Copy the quote from the text; case and white space may differ."
    )


def relocate_quotes(artifact_id: UUID) -> int:
    """Search a changed document for its quotes again; return how many were found. A quote that the
    document no longer contains is kept and marked lost.

    A quote is deleted if its concept already has another one at the new position.
    """
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().filter(pk=artifact_id).first()
        if artifact is None or artifact.state != Artifact.State.PARSED:
            return 0
        instances = Instance.objects.filter(artifact=artifact)
        stale_or_lost = list(
            (instances.stale() | instances.filter(is_lost=True)).select_for_update(of=("self",))
        )
        if not stale_or_lost:
            return 0
        sources = list(Source.objects.filter(artifact=artifact).order_by("ordinal"))
        return sum(_relocate(instance, sources) for instance in stale_or_lost)


def find_artifacts_with_stale_quotes() -> Iterable[UUID]:
    """Ids of parsed documents with quotes not yet relocated since the document changed."""
    stale = Instance.objects.stale().filter(artifact__state=Artifact.State.PARSED)
    return stale.order_by().values_list("artifact_id", flat=True).distinct()


def _select_sources(
    index: str, source_id: UUID | None, artifact_id: UUID | None, grant: Grant
) -> Iterable[Source]:
    if (source_id is None) == (artifact_id is None):
        raise InvalidInput(
            "Give either the source or the artifact that the quote is from.", field="source"
        )
    sources = Source.objects.filter(is_visible(grant, "artifact__"), artifact__index=index)
    sources = sources.order_by("ordinal")
    if source_id is not None:
        field, sources = "source", sources.filter(pk=source_id)
    else:
        field, sources = "artifact", sources.filter(artifact=artifact_id)
    if not sources.exists():
        raise InvalidInput(
            f"The index {index} has no {field} with this id, or its text has not been read yet.",
            field=field,
        )
    return sources


def _relocate(instance: Instance, sources: Sequence[Source]) -> bool:
    # Search the previous source first, because a document may contain a quote twice.
    ordered_sources = sorted(sources, key=lambda source: source.pk != instance.source_id)
    for source in ordered_sources:
        start, end = instance.start_offset, instance.end_offset
        if source.text[start:end] != instance.quote:
            span = find_quote(source.text, instance.quote)
            if span is None:
                continue
            start, end = span
        same_place = Instance.objects.filter(
            concept=instance.concept_id, source=source, start_offset=start, end_offset=end
        )
        if same_place.exclude(pk=instance.pk).exists():
            instance.delete()
            return True
        instance.source, instance.start_offset, instance.end_offset = source, start, end
        instance.quote, instance.source_hash = source.text[start:end], hash_text(source.text)
        instance.is_lost = False
        instance.save()
        return True
    logger.info("The quote %s is lost", instance.pk)
    instance.source, instance.is_lost = None, True
    instance.save()
    return False

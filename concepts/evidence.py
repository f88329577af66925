"""Writes to instances: taking a quote as evidence of a concept, and finding it again."""

import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import transaction

from concepts.exceptions import QuoteNotFound
from concepts.models import Instance
from concepts.quoting import find_quote
from concepts.services import lock_concept
from core.exceptions import InvalidInput
from core.text import hash_text
from documents.models import Artifact, Source

logger = logging.getLogger(__name__)

MAX_QUOTE_CHARS = 5_000


@transaction.atomic
def add_instance(
    concept_id: UUID, quote: str, *, source_id: UUID | None = None, artifact_id: UUID | None = None
) -> tuple[Instance, bool]:
    """Take a quote as evidence, and whether it is new. It is from one source, or from whichever
    source of a document says it first; what is kept is how it stands there.

    Raises:
        UnknownConcept: there is none of this id.
        QuoteNotFound: the text does not say it, to the letter or nearly.
        InvalidInput: the concept's index has no such source or document.
    """
    if len(quote) > MAX_QUOTE_CHARS:
        raise InvalidInput(f"A quote has {MAX_QUOTE_CHARS} characters at most.", field="quote")
    concept = lock_concept(concept_id)
    sources = _sources_of(concept.artifact.index, source_id, artifact_id)
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
        field="quote", fix="Quote the text as it stands there; case and white space do not count."
    )


def relocate_instances(artifact_id: UUID) -> int:
    """Look anew for what was quoted from a document and does not stand where it did; how many
    stand again. What the document does not say any more is marked lost, and kept.

    A row goes where another of its concept already has its place.
    """
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().filter(pk=artifact_id).first()
        if artifact is None or artifact.state != Artifact.State.PARSED:
            return 0
        mine = Instance.objects.filter(artifact=artifact)
        wanting = list(
            (mine.displaced() | mine.filter(is_lost=True)).select_for_update(of=("self",))
        )
        if not wanting:
            return 0
        sources = list(Source.objects.filter(artifact=artifact).order_by("ordinal"))
        return sum(_relocate(instance, sources) for instance in wanting)


def displaced_artifacts() -> Iterable[UUID]:
    """Documents from which something is quoted that no one has looked for since they changed."""
    displaced = Instance.objects.displaced().filter(artifact__state=Artifact.State.PARSED)
    return displaced.order_by().values_list("artifact_id", flat=True).distinct()


def _sources_of(index: str, source_id: UUID | None, artifact_id: UUID | None) -> Iterable[Source]:
    if (source_id is None) == (artifact_id is None):
        raise InvalidInput("Name the source or the artifact it is from.", field="source")
    sources = Source.objects.filter(artifact__index=index).order_by("ordinal")
    if source_id is not None:
        field, sources = "source", sources.filter(pk=source_id)
    else:
        field, sources = "artifact", sources.filter(artifact=artifact_id)
    if not sources.exists():
        raise InvalidInput(f"{index} has no such {field}, or it is not read yet.", field=field)
    return sources


def _relocate(instance: Instance, sources: Sequence[Source]) -> bool:
    # Where it stood before anything else: a document may say it twice.
    nearest = sorted(sources, key=lambda source: source.pk != instance.source_id)
    for source in nearest:
        span = _find_near(source.text, instance)
        if span is None:
            continue
        start, end = span
        taken = Instance.objects.filter(
            concept=instance.concept_id, source=source, start_offset=start, end_offset=end
        )
        if taken.exclude(pk=instance.pk).exists():
            instance.delete()
            return True
        instance.source, instance.start_offset, instance.end_offset = source, start, end
        instance.quote, instance.source_hash = source.text[start:end], hash_text(source.text)
        instance.is_lost = False
        instance.save()
        return True
    logger.info("The quote of instance %s is lost", instance.pk)
    instance.source, instance.is_lost = None, True
    instance.save()
    return False


def _find_near(text: str, instance: Instance) -> tuple[int, int] | None:
    start, end = instance.start_offset, instance.end_offset
    if text[start:end] == instance.quote:
        return start, end
    return find_quote(text, instance.quote)

"""Writes the pages and sources of artifacts, in one reading or in several."""

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Case, Exists, F, OuterRef, QuerySet, Subquery, Value, When

from core.text import hash_text
from documents.models import TEXTS_OF_PAGE, Artifact, Page, Reading, Source, is_last_reading
from documents.parsing import REASONS, ParsedPage
from documents.running_lines import find_bodies
from documents.source_splitting import split_into_sources


def replace_pages(
    artifact: Artifact, pages: Sequence[ParsedPage], *, with_unseen: bool = False
) -> None:
    """Replace an artifact's pages and sources in all readings, inside the caller's transaction. The
    artifact has the warnings of the new pages."""
    page_rows, source_rows = cut_pages(artifact, pages, with_unseen=with_unseen)
    old_pages = Page.every_reading.filter(artifact=artifact)
    if old_pages.exists():
        old_sources = Source.every_reading.filter(artifact=artifact)
        kept = {row.pk for row in (*page_rows, *source_rows)}
        for rows in (old_sources, old_pages):
            vanished = [pk for pk in rows.values_list("pk", flat=True) if pk not in kept]
            rows.model._base_manager.filter(pk__in=vanished).delete()
        # Ordinals are unique: move the old ones out of the way of the new ones.
        old_sources.update(ordinal=F("ordinal") + 1_000_000_000)
        Reading.objects.filter(artifact=artifact).delete()
    _write_pages(page_rows, source_rows)


def add_reading(
    artifact: Artifact, pages: Sequence[ParsedPage], number: int, *, with_unseen: bool = False
) -> None:
    """Add what a reader made of an artifact, whose row the caller has locked, as its reading of
    this number, which is not current. The artifact's ``reader`` and ``warnings``, which are not
    saved, are those of the reading.

    No pages are added if they and their sources equal those that a build of this number sees.
    """
    page_rows, source_rows = cut_pages(artifact, pages, number, with_unseen=with_unseen)
    made_by = {"reader": artifact.reader, "warnings": artifact.warnings}
    stored = Artifact.objects.filter(pk=artifact.pk)
    readings = Reading.objects.filter(artifact=artifact)
    last = readings.filter(number__lte=number).order_by("-number").first()
    seen_pages = list(Page.every_reading.seen_by(number).filter(artifact=artifact))
    seen_sources = Source.every_reading.seen_by(number).filter(artifact=artifact)
    if _list_texts(page_rows, source_rows) == _list_texts(
        seen_pages, seen_sources.select_related("page").defer(*TEXTS_OF_PAGE)
    ):
        if all(page.is_current for page in seen_pages):
            stored.update(**made_by)
        if last is not None:
            readings.filter(pk=last.pk).update(**made_by)
        return
    if last is None:
        readings.create(artifact=artifact, number=0, **stored.values("reader", "warnings").get())
    readings.create(artifact=artifact, number=number, **made_by)
    _write_pages(page_rows, source_rows)


def _list_texts(pages: Iterable[Page], sources: Iterable[Source]) -> list[tuple[object, ...]]:
    """What builds use of them, and what is shown beside them."""
    return [
        *sorted(
            (each.index, each.label, each.text, each.unseen, each.unreadable_count, each.warnings)
            for each in pages
        ),
        *sorted(
            (each.ordinal, each.page.index, each.start, each.end, each.heading, each.text)
            for each in sources
        ),
    ]


def show_readings(index: str, number: int) -> None:
    """Make what a build of this number sees current in an index, inside the transaction that makes
    the build live."""
    artifacts = Reading.objects.filter(artifact__index=index).values("artifact")
    is_seen = Case(When(is_last_reading(number), then=Value(True)), default=Value(False))
    for model in (Page, Source):
        model.every_reading.filter(artifact__in=artifacts).update(is_current=is_seen)
    readings = Reading.objects.filter(artifact=OuterRef("pk"), number__lte=number)
    last = readings.order_by("-number")
    Artifact.objects.filter(pk__in=artifacts).update(
        reader=Subquery(last.values("reader")[:1]), warnings=Subquery(last.values("warnings")[:1])
    )


def find_unseen_readings(index: str, numbers: Iterable[int]) -> QuerySet[Reading]:
    """The readings of an index that no build of these numbers sees."""
    unseen = Reading.objects.filter(artifact__index=index)
    for number in numbers:
        unseen = unseen.exclude(is_last_reading(number, "number"))
    return unseen


def delete_readings(readings: QuerySet[Reading]) -> int:
    """Delete these readings with their pages and sources, inside the caller's transaction; return
    how many."""
    artifact_ids = {reading.pk: reading.artifact_id for reading in readings}
    deleted = Reading.objects.filter(pk__in=artifact_ids)
    is_deleted = Exists(deleted.filter(artifact=OuterRef("artifact"), number=OuterRef("reading")))
    for model in (Source, Page):
        model.every_reading.filter(is_deleted, artifact__in=artifact_ids.values()).delete()
    deleted.delete()
    return len(artifact_ids)


def _write_pages(page_rows: Sequence[Page], source_rows: Sequence[Source]) -> None:
    rows: Any
    for model, rows in ((Page, page_rows), (Source, source_rows)):
        model._default_manager.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=[each.name for each in model._meta.fields if each.name != "id"],
            batch_size=500,
        )


def cut_pages(
    artifact: Artifact,
    pages: Sequence[ParsedPage],
    reading: int = 0,
    *,
    with_unseen: bool = False,
) -> tuple[list[Page], list[Source]]:
    """Make the unsaved rows of an artifact's pages and of their sources, in order. A page's id
    depends on its index, a source's on its text. Whatever cuts a text as the index does uses this.
    Those of another reading than 0 have other ids and are not current.

    ``with_unseen``: the text of each page goes on with what is not seen there, in sources of its
    own.
    """
    prefix = f"reading {reading} " if reading else ""
    common: dict[str, Any] = {"reading": reading, "is_current": not reading}
    page_rows: list[Page] = []
    source_rows: list[Source] = []
    occurrences: Counter[str] = Counter()
    texts = [page.text for page in pages]
    is_pdf = artifact.media_type == "application/pdf"  # others' pages have no headers
    bodies = find_bodies(texts) if is_pdf else [(0, len(text)) for text in texts]
    for index, (page, body) in enumerate(zip(pages, bodies, strict=True)):
        page_text, parts = _append_unseen(page) if with_unseen else (page.text, [])
        page_row = Page(
            id=uuid.uuid5(artifact.pk, f"{prefix}page {index}"),
            artifact=artifact,
            index=index,
            label=page.label[:300],
            text=page_text,
            ocr_lines=page.ocr_lines,
            unseen=[list(each) for each in page.unseen],
            unseen_start=len(page.text) if parts else None,
            unreadable_count=page.unreadable_chars,
            warnings=[
                each["code"] for each in artifact.warnings if index in each.get("page_indexes", ())
            ],
            content_hash=hash_text(page_text),
            **common,
        )
        page_rows.append(page_row)
        spans = [
            span
            for start, end in (body, *parts)
            for span in split_into_sources(
                page_text[:end], start=start, overlap=settings.STRATA_SOURCE_OVERLAP_WORDS
            )
        ]
        for span in spans:
            text = page_text[span.start : span.end]
            content_hash = hash_text(text)
            occurrences[content_hash] += 1
            source_rows.append(
                Source(
                    id=uuid.uuid5(
                        artifact.pk, f"{prefix}source {content_hash} {occurrences[content_hash]}"
                    ),
                    artifact=artifact,
                    page=page_row,
                    ordinal=len(source_rows),
                    start=span.start,
                    end=span.end,
                    heading=(span.heading or page.label)[:300],
                    text=text,
                    content_hash=content_hash,
                    **common,
                )
            )
    return page_rows, source_rows


def _append_unseen(page: ParsedPage) -> tuple[str, list[tuple[int, int]]]:
    """A page's text with what is not seen there after it, below a heading for each reason, and
    where each of these parts begins and ends."""
    text, parts = page.text, []
    for reason in dict.fromkeys(each.reason for each in page.unseen):
        unseen = [each.text for each in page.unseen if each.reason == reason]
        text += f"\n\n## Not seen on the page: {REASONS[reason]}\n\n"
        start = len(text)
        text += "\n\n".join(unseen)
        parts.append((start, len(text)))
    return text, parts

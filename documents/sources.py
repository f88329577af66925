"""Makes the rows of pages and their sources. Whatever cuts a text as the index does uses this."""

import uuid
from collections import Counter
from collections.abc import Sequence

from django.conf import settings

from core.text import hash_text
from documents.models import Artifact, Page, Source
from documents.parsing import ParsedPage
from documents.source_splitting import split_into_sources


def cut_pages(artifact: Artifact, pages: Sequence[ParsedPage]) -> tuple[list[Page], list[Source]]:
    """Make the unsaved rows of an artifact's pages and of their sources, in order. A page's id
    depends on its index, a source's on its text."""
    page_rows: list[Page] = []
    source_rows: list[Source] = []
    occurrences: Counter[str] = Counter()
    for index, page in enumerate(pages):
        page_row = Page(
            id=uuid.uuid5(artifact.pk, f"page {index}"),
            artifact=artifact,
            index=index,
            label=page.label[:300],
            text=page.text,
            content_hash=hash_text(page.text),
        )
        page_rows.append(page_row)
        for span in split_into_sources(page.text, overlap=settings.STRATA_SOURCE_OVERLAP_WORDS):
            text = page.text[span.start : span.end]
            content_hash = hash_text(text)
            occurrences[content_hash] += 1
            source_rows.append(
                Source(
                    id=uuid.uuid5(
                        artifact.pk, f"source {content_hash} {occurrences[content_hash]}"
                    ),
                    artifact=artifact,
                    page=page_row,
                    ordinal=len(source_rows),
                    start=span.start,
                    end=span.end,
                    heading=(span.heading or page.label)[:300],
                    text=text,
                    content_hash=content_hash,
                )
            )
    return page_rows, source_rows

"""Index the corpus of a BEIR folder in this process, through the ordinary services."""

from pathlib import Path

from django.core.management.base import CommandError
from django.db import transaction

from core.exceptions import UnknownIndex
from core.progress_bars import progress_bar
from documents.services import TextContent, add_artifact
from evaluation.judged_queries import read_corpus
from indexing import services
from indexing.models import IndexBuild, Node
from indexing.services.batches import slices
from summaries import services as writing

TEXTS_PER_TRANSACTION = 200  # each commit waits for the disk


def index_corpus(name: str, folder: Path) -> None:
    """Index the corpus of a BEIR folder. This process must own the vector engine.

    Raises:
        UnknownIndex: there is no such spec.
        InvalidInput: the corpus cannot be read.
        CommandError: some texts could not be indexed.
    """
    build = IndexBuild.objects.live().filter(index=name).first()
    if build is None:
        names = IndexBuild.objects.live().values_list("index", flat=True)
        raise UnknownIndex(f"There is no spec named {name!r}.", allowed=names)
    texts = list(read_corpus(folder))
    with progress_bar("Reading", len(texts)) as advance:
        for batch in slices(texts, TEXTS_PER_TRANSACTION):
            with transaction.atomic():
                for text in batch:
                    content = TextContent(pages=(text.text,))
                    artifact, _ = add_artifact(name, content, title=text.title, external_id=text.id)
                    services.plan_nodes(artifact.pk, build)
                    advance(1)
    if build.spec.has_generated_texts:
        _write_summaries_and_questions(build)
    with progress_bar("Indexing", Node.objects.unsynced(build).count()) as advance:
        while count := services.sync_nodes(build):
            advance(count)
    failed = Node.objects.filter(build=build, state=Node.State.FAILED)
    if failed.exists():
        raise CommandError(f"{failed.count()} passages failed: {failed[0].last_error}")


def _write_summaries_and_questions(build: IndexBuild) -> None:
    """Write the due summaries and questions, and plan their nodes."""
    planner = services.DocumentPlanner()
    with progress_bar("Writing", writing.count_due_texts(build)) as advance:
        while True:
            written = writing.WriteBatchResult()
            writing.write_due_texts(build, written)
            if not written.row_count:
                break
            while planner.plan_next(build):
                pass
            advance(written.row_count)

"""Summaries and questions for tests: rows as a writer leaves them."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from core.text import hash_text
from documents.models import Artifact
from indexing.drafting.chunk import draft_chunks
from indexing.models import Index, IndexBuild
from indexing.services import store_search_settings
from indexing.spec import IndexSpec, dump_recipe
from summaries.models import Annotation, Summary, WrittenText
from summaries.services import hash_inputs
from tests.factories import sync

WRITER = "a hand in the tests"

# Settings that make a spec request nodes of every kind.
ALL_KINDS: dict[str, Any] = {
    "page_summaries": True,
    "artifact_summaries": True,
    "questions": {"count": 3},
}


def make_build(name: str, **settings: Any) -> IndexBuild:
    """The live build of a new index with this spec."""
    spec = IndexSpec.model_validate({"name": name, **settings})
    index = Index.objects.create(name=name)
    store_search_settings(index, spec)
    index.live_build = IndexBuild.objects.create(
        index=index,
        number=1,
        recipe=dump_recipe(spec),
        fingerprint=spec.fingerprint,
        state=IndexBuild.State.LIVE,
    )
    index.save()
    return index.live_build


def summarise(build: IndexBuild, artifact: Artifact, *, words: int = 12) -> None:
    """Summarise each page by its first words, and the artifact by its title and those of its first
    page."""
    firsts = []
    for page in artifact.pages.order_by("index"):
        text = f"Summary: {' '.join(page.text.split()[:words])}"
        firsts.append(text)
        write_summary(build, artifact, text, page=page, input_hash=hash_text(page.text))
    if build.spec.artifact_summaries is not None and firsts:
        text = f"In short, {artifact.title}. {firsts[0]}"
        write_summary(build, artifact, text, input_hash=hash_inputs(firsts))


def write_summary(
    build: IndexBuild, artifact: Artifact, text: str, *, input_hash: str, page: Any = None
) -> Summary:
    summary, _ = Summary.objects.update_or_create(
        build=build,
        artifact=artifact,
        page=page,
        defaults={"text": text, **_written(input_hash)},
    )
    return summary


def question(
    build: IndexBuild, artifact: Artifact, *, count: int = 3, fields: dict[str, Any] | None = None
) -> list[Annotation]:
    """Add this many questions about each chunk of the artifact."""
    artifact = Artifact.objects.with_sources().get(pk=artifact.pk)
    annotations = []
    for chunk in draft_chunks(artifact, artifact.sources.all(), build):
        questions = [f"{start} {chunk.text[:300]}?" for start in STARTS[:count]]
        answered: dict[str, Any] = {
            "artifact": artifact,
            "page": chunk.source.page,
            "source": chunk.source,
            "source_hash": chunk.source_hash,
            "strategy": chunk.strategy,
            "chunk_index": chunk.index,
            "start_offset": chunk.start,
            "end_offset": chunk.end,
            "text": chunk.text,
            "questions": questions,
            "summary": chunk.text[:40],
            "fields": fields or {},
            "output_hash": hash_text(repr(questions)),
            **_written(hash_text(chunk.text)),
        }
        annotation, _ = Annotation.objects.update_or_create(
            build=build, chunk_id=chunk.id, defaults=answered
        )
        annotations.append(annotation)
    return annotations


STARTS: Sequence[str] = ("Who says that", "Why is it so that", "Is it true that", "Where")


def write_all(build: IndexBuild, *artifacts: Artifact, **asked: Any) -> None:
    """Write the texts that the build's recipe requires for these artifacts, and sync the build."""
    for artifact in artifacts:
        if build.spec.page_summaries is not None:
            summarise(build, artifact)
        if build.spec.questions is not None:
            question(build, artifact, **asked)
    sync(build, *artifacts)


def _written(input_hash: str) -> dict[str, Any]:
    return {
        "input_hash": input_hash,
        "written_input_hash": input_hash,
        "model_name": WRITER,
        "state": WrittenText.State.WRITTEN,
        "written_at": timezone.now(),
    }

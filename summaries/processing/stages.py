"""The stages themselves: each reads what the one before left in the folder, and leaves its own."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from django.utils import timezone

from core.exceptions import InvalidInput, StrataError, UnknownIndex
from core.text import clean_text, hash_text
from documents.models import Artifact, Page, Source
from documents.originals import save_incoming_file
from documents.parsing import ParsedPage, parse_file
from documents.sources import split_into_sources
from indexing.exceptions import InvalidSpec
from indexing.kinds.chunk import draft_chunks
from indexing.models import Index, IndexBuild, Node
from indexing.services import plan_nodes
from summaries.processing.chunks import (
    CHUNKS,
    WrittenChunk,
    format_chunks,
    key_names,
    read_chunks,
)
from summaries.processing.folder import (
    Costs,
    Counts,
    DocumentNote,
    EmbeddedNote,
    Folder,
    Manifest,
    WriterNote,
    describe_file,
)
from summaries.processing.pages import PARSED, format_pages, read_pages
from summaries.processing.taking import TakenDocument, take_document
from summaries.prompts import read_template
from summaries.writers import (
    BY_HAND,
    EXTRACTIVE,
    AnnotationDraft,
    AnnotationInput,
    Cost,
    get_writer,
)

READ_BYTES = 1 << 20

Advance = Callable[[int], None]


@dataclass(slots=True)
class Inspection:
    """One file, on its way into one index, with the folder of its stages."""

    file_path: Path
    build: IndexBuild
    folder: Folder

    @classmethod
    def open(
        cls, file_path: Path, index: str, out: Path, *, may_begin_anew: bool = True
    ) -> "Inspection":
        """
        Args:
            file_path: the file.
            index: the name of an index; its live build's recipe is followed.
            out: the folder, made when there is something to write.
            may_begin_anew: whether files made from other content of the file may go.

        Raises:
            UnknownIndex: there is no such index.
            InvalidInput: there is no such file, or the folder is not for this.
        """
        build = IndexBuild.objects.live().filter(index=index).first()
        if build is None:
            names = list(Index.objects.values_list("name", flat=True))
            raise UnknownIndex(
                f"There is no index named {index!r}; there are: {', '.join(names)}.",
                fix="A new one is one YAML file in specs/.",
            )
        manifest = Manifest(
            file=describe_file(file_path),
            index=index,
            spec_fingerprint=build.fingerprint,
            embedding_model=build.spec.embedding.model,
        )
        return cls(file_path, build, Folder.open(out, manifest, may_begin_anew=may_begin_anew))

    @property
    def manifest(self) -> Manifest:
        return self.folder.manifest

    def require_questions(self) -> None:
        """Raise ``InvalidSpec`` where the index asks for nothing to be written about chunks."""
        if self.build.spec.questions is None:
            name = self.build.index_id
            raise InvalidSpec(
                f"specs/{name}.yaml has no questions, so nothing is written about the chunks of "
                f"{name}.",
                fix="Add 'questions: true' to the spec of an index that is still empty; "
                "--parse-only and --chunk-only work without, and manage.py add embeds.",
            )

    def parse(self) -> None:
        """Read the file into ``parsed.md``.

        Raises:
            Unparsable: it cannot be read as a document.
            InvalidInput: a ``parsed.md`` that was edited by hand is there.
        """
        self.folder.require_unedited(PARSED)
        with self._stage("parse") as warnings:
            parsed = parse_file(self.file_path, file_name=self.manifest.file.name)
            warnings += [f"{warning.detail} [{warning.code}]" for warning in parsed.warnings]
        self.folder.write(PARSED, format_pages(parsed.pages))
        self.manifest.document = DocumentNote(
            title=clean_text(parsed.title).strip()[:1_000],
            media_type=parsed.media_type[:150],
            encoding=parsed.encoding and parsed.encoding[:40],
            warnings=[{"code": each.code, "detail": each.detail} for each in parsed.warnings],
        )
        self._count_pages(parsed.pages, draft_sources(Artifact(), parsed.pages))
        self.folder.save_manifest()

    def cut(self) -> None:
        """Cut ``parsed.md`` into ``chunks.json``, with nothing written about the chunks yet.

        Raises:
            InvalidInput: ``parsed.md`` cannot be read back, or a ``chunks.json`` that was edited
                by hand is there.
        """
        self._require_chunks_can_be_made()
        chunks = self._cut().chunks
        self.manifest.writer = None
        self.manifest.cost = Costs()
        self._write_chunks(chunks, dropped_count=0)

    def write(self, advance: Advance = lambda count: None) -> None:
        """Cut as ``cut`` does, and have questions, summaries and fields written by whoever is
        configured to.

        Raises:
            InvalidSpec: the index has no questions.
            LanguageModelUnavailable, LanguageModelMisconfigured: run it again later; what was
                answered is kept, and asked no second time.
        """
        self.require_questions()
        self._require_chunks_can_be_made()
        chunks, dropped_count = self._write_about(self._cut().chunks, advance)
        self._write_chunks(chunks, dropped_count)

    def embed(self, advance: Advance = lambda count: None) -> Artifact:
        """Give the index the document, as ``parsed.md`` has it, and all that ``chunks.json`` says
        about its chunks; planned, but not synced. Where there is no ``chunks.json``, it is
        written first.

        Raises:
            InvalidInput: something in ``chunks.json`` is wrong, or the file changed meanwhile.
        """
        self.require_questions()
        if not self.folder.has(CHUNKS):
            self.write(advance)
        cut = self._cut()
        chunks = self._check(cut)
        if cut.sources and not any(chunk.questions for chunk in chunks):
            raise InvalidInput(
                f"{CHUNKS} holds no question, so none of its chunks would be found.",
                fix="Write some by hand, or move it away to have them written.",
            )
        with self._stage("plan"):
            model_name = self._model_name()
            artifact = self._take(cut, chunks, model_name)
            plan_nodes(artifact.pk, self.build)
        self.manifest.embedded = EmbeddedNote(
            artifact_id=str(artifact.pk),
            build=str(self.build),
            model_name=model_name,
            at=timezone.now().isoformat(timespec="seconds"),
        )
        self.folder.save_manifest()
        return artifact

    def warnings(self) -> list[str]:
        """Of every stage, as it was last done."""
        return [warning for stage in self.manifest.warnings.values() for warning in stage]

    def _require_chunks_can_be_made(self) -> None:
        key_names(self.build.spec)
        self.folder.require_unedited(CHUNKS)

    def _cut(self) -> "_Cut":
        """The document as ``parsed.md`` has it, in chunks; the file is read first where it has
        not been."""
        if self.manifest.document is None or not self.folder.has(PARSED):
            self.parse()
        with self._stage("cut") as warnings:
            pages = read_pages(self.folder.read(PARSED))
            if self.folder.is_edited(PARSED):
                warnings.append(f"{PARSED} was edited by hand; what it says now was cut.")
            artifact = self._artifact()
            sources = draft_sources(artifact, pages)
            drafts = draft_chunks(artifact, sources, self.build)
            cut = _Cut(pages, sources, [_as_cut(draft) for draft in drafts])
        self._count_pages(pages, sources)
        return cut

    def _artifact(self) -> Artifact:
        """As the index has it, or would have it: chunks are named after it, and may be cut by
        its title. Not saved."""
        file, index = self.manifest.file, self.build.index_id
        suffix = Path(file.name).suffix
        known = Artifact.objects.filter(
            index=index, sha256=file.sha256, file_name__iendswith=suffix
        ).first()
        document = self.manifest.document
        assert document is not None  # written with parsed.md
        title = document.title or Path(file.name).stem
        if known is not None:
            title = known.title if known.has_user_title else title
            return Artifact(pk=known.pk, index=index, title=title)
        name = f"strata {index} {file.sha256} {suffix.lower()}"
        return Artifact(pk=uuid.uuid5(uuid.NAMESPACE_OID, name), index=index, title=title)

    def _write_about(
        self, chunks: list[WrittenChunk], advance: Advance
    ) -> tuple[list[WrittenChunk], int]:
        """The chunks with what is said about them; how many values were dropped."""
        artifact = self._artifact()
        inputs = {
            key: AnnotationInput(chunk.text, chunk.heading, artifact.title)
            for key, chunk in enumerate(chunks)
        }
        written, model_names = list(chunks), set[str]()
        total, dropped_count = Cost(), 0
        outage: StrataError | None = None
        with self._stage("write") as warnings:
            for outcome in get_writer().annotate(inputs, self.build.spec):
                _add_cost(total, outcome.cost)
                advance(1)
                chunk, draft, error = chunks[outcome.key], outcome.draft, outcome.error
                if isinstance(draft, AnnotationDraft):
                    model_names.add(draft.model_name)
                    dropped_count += draft.dropped_count
                    written[outcome.key] = replace(
                        chunk,
                        questions=list(draft.questions),
                        summary=draft.summary,
                        fields=dict(draft.fields),
                    )
                elif error is not None and (error.is_retryable or error.is_about_setup):
                    outage = error
                else:
                    warnings.append(f"Nothing is written about chunk {chunk.chunk_id}: {error}")
        if outage is not None:
            raise outage
        self.manifest.writer = self._writer_note(model_names)
        self.manifest.cost = Costs(
            calls=total.call_count,
            reused=total.reused_count,
            failures=total.failure_count,
            prompt_tokens=total.prompt_tokens,
            completion_tokens=total.completion_tokens,
        )
        return written, dropped_count

    def _writer_note(self, model_names: set[str]) -> WriterNote:
        about = self.build.spec.questions
        assert about is not None
        model_name = ", ".join(sorted(model_names))[:200]
        if model_name in {"", EXTRACTIVE}:
            return WriterNote(model_name=model_name, prompt=None, prompt_fingerprint=None)
        return WriterNote(
            model_name=model_name,
            prompt=about.prompt,
            prompt_fingerprint=hash_text(read_template(about.prompt)),
        )

    def _write_chunks(self, chunks: list[WrittenChunk], dropped_count: int) -> None:
        manifest, spec = self.manifest, self.build.spec
        for stage in ("check",) if manifest.writer else ("check", "write"):  # of other chunks
            manifest.seconds.pop(stage, None)
            manifest.warnings.pop(stage, None)
        manifest.spec_fingerprint = self.build.fingerprint
        manifest.embedding_model = spec.embedding.model
        self.folder.write(CHUNKS, format_chunks(chunks, spec))
        self._count(chunks, dropped_count)
        self.folder.save_manifest()

    def _check(self, cut: "_Cut") -> list[WrittenChunk]:
        with self._stage("check") as warnings:
            text = self.folder.read(CHUNKS)
            chunks, differences = read_chunks(text, self.build.spec, cut.sources)
            warnings += differences
            if self.manifest.spec_fingerprint != self.build.fingerprint:
                warnings.append(
                    f"{CHUNKS} was made by another recipe than {self.build} has; every value in "
                    "it fits this one."
                )
        self._count(chunks, self.manifest.counts.dropped_values)
        return chunks

    def _count_pages(self, pages: Sequence[ParsedPage], sources: Sequence[Source]) -> None:
        self.manifest.counts.pages, self.manifest.counts.sources = len(pages), len(sources)

    def _count(self, chunks: list[WrittenChunk], dropped_count: int) -> None:
        self.manifest.counts = Counts(
            pages=self.manifest.counts.pages,
            sources=self.manifest.counts.sources,
            chunks=len(chunks),
            questions=sum(len(chunk.questions) for chunk in chunks),
            dropped_values=dropped_count,
        )

    def _model_name(self) -> str:
        """Who says what ``chunks.json`` says."""
        writer, kept = self.manifest.writer, self.manifest.files.get(CHUNKS)
        if writer is None or kept is None or kept.edited_sha256 is not None:
            return BY_HAND
        return writer.model_name

    def _take(self, cut: "_Cut", chunks: list[WrittenChunk], model_name: str) -> Artifact:
        note = self.manifest.document
        assert note is not None
        with self.file_path.open("rb") as file:
            name = self.manifest.file.name
            content = save_incoming_file(name, iter(lambda: file.read(READ_BYTES), b""))
        try:
            if content.sha256 != self.manifest.file.sha256:
                raise InvalidInput(f"{self.file_path} changed meanwhile.", fix="Run it again.")
            document = TakenDocument(
                pages=cut.pages,
                title=note.title,
                media_type=note.media_type,
                encoding=note.encoding or "",
                warnings=note.warnings,
            )
            return take_document(self.build, content, document, cut.chunks, chunks, model_name)
        finally:
            content.discard()

    @contextmanager
    def _stage(self, name: str) -> Iterator[list[str]]:
        """Time a stage, and keep its warnings."""
        warnings: list[str] = []
        started = time.monotonic()
        yield warnings
        self.manifest.seconds[name] = round(time.monotonic() - started, 3)
        self.manifest.warnings.pop(name, None)
        if warnings:
            self.manifest.warnings[name] = warnings


@dataclass(frozen=True, slots=True)
class _Cut:
    pages: list[ParsedPage]
    sources: list[Source]
    chunks: list[WrittenChunk]  # with nothing said about them


def draft_sources(artifact: Artifact, pages: Sequence[ParsedPage]) -> list[Source]:
    """The sources ``documents.services.replace_pages`` would make of these pages, unsaved and
    under ids of their own."""
    sources: list[Source] = []
    for index, page in enumerate(pages):
        row = Page(artifact=artifact, index=index, label=page.label[:300], text=page.text)
        for span in split_into_sources(page.text):
            sources.append(
                Source(
                    artifact=artifact,
                    page=row,
                    ordinal=len(sources),
                    start=span.start,
                    end=span.end,
                    heading=(span.heading or page.label)[:300],
                    text=page.text[span.start : span.end],
                )
            )
    return sources


def _as_cut(draft: Node) -> WrittenChunk:
    source, page = draft.source, draft.page
    # A chunk's node has all of its place.
    assert source is not None
    assert page is not None
    assert draft.chunk_index is not None
    assert draft.start_offset is not None
    assert draft.end_offset is not None
    return WrittenChunk(
        chunk_id=str(draft.point_id),
        text=draft.text,
        page_index=page.index,
        source_ordinal=source.ordinal,
        start_offset=draft.start_offset,
        end_offset=draft.end_offset,
        strategy=draft.strategy,
        chunk_index=draft.chunk_index,
        heading=source.heading,
    )


def _add_cost(total: Cost, cost: Cost) -> None:
    for name in Cost.__slots__:
        setattr(total, name, getattr(total, name) + getattr(cost, name))

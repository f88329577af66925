"""The stages of processing a file. Each reads the previous stage's files and writes its own."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from django.utils import timezone

from core.exceptions import InvalidInput, StrataError, UnknownIndex
from core.text import clean_text, hash_text
from documents.models import Artifact, Source
from documents.originals import save_incoming_file
from documents.parsing import ParsedPage, parse_file, title_from_file_name
from documents.services import cut_pages
from indexing.drafting.chunk import draft_chunks
from indexing.exceptions import InvalidSpec
from indexing.models import Index, IndexBuild
from indexing.services import plan_nodes
from summaries import llm
from summaries.models import EXTRACTIVE_MODEL_NAME
from summaries.processing.chunks import (
    CHUNKS_FILE_NAME,
    AnnotatedChunk,
    check_field_names,
    format_chunks,
    read_chunks,
)
from summaries.processing.folder import (
    InspectionFolder,
    Manifest,
    ManifestCosts,
    ManifestCounts,
    ManifestDocument,
    ManifestEmbedding,
    ManifestWriter,
    describe_file,
)
from summaries.processing.pages import PARSED_FILE_NAME, format_pages, read_pages
from summaries.processing.saving import DocumentToSave, save_document
from summaries.prompts import read_prompt_template
from summaries.writers import (
    BY_HAND_MODEL_NAME,
    AnnotationDraft,
    AnnotationInput,
    LanguageModelCost,
    get_writer,
)

READ_CHUNK_BYTES = 1 << 20

AdvanceProgress = Callable[[int], None]


@dataclass(slots=True)
class FileInspection:
    """One file processed for one index, and the folder that holds the stages' files."""

    file_path: Path
    build: IndexBuild
    folder: InspectionFolder

    @classmethod
    def open(
        cls, file_path: Path, index: str, out: Path, *, may_discard_outdated: bool = True
    ) -> "FileInspection":
        """Open the folder for a file, or prepare a new one.

        Args:
            file_path: the file.
            index: the name of an index; the stages use its live build's recipe.
            out: the folder, created by the first write.
            may_discard_outdated: whether files made from other content of the file may be deleted.

        Raises:
            UnknownIndex: there is no such index.
            InvalidInput: there is no such file, or the folder belongs to another file or index.
        """
        build = IndexBuild.objects.live().filter(index=index).first()
        if build is None:
            names = list(Index.objects.values_list("name", flat=True))
            raise UnknownIndex(
                f"There is no index named {index!r}; allowed: {', '.join(names)}.",
                fix="To make a new one, add a YAML file to specs/.",
            )
        manifest = Manifest(
            file=describe_file(file_path),
            index=index,
            spec_fingerprint=build.fingerprint,
            embedding_model=build.spec.embedding.model,
        )
        return cls(
            file_path,
            build,
            InspectionFolder.open(out, manifest, may_discard_outdated=may_discard_outdated),
        )

    @property
    def manifest(self) -> Manifest:
        return self.folder.manifest

    def require_questions_in_spec(self) -> None:
        """Raise ``InvalidSpec`` if the spec has no ``questions`` section."""
        if self.build.spec.questions is None:
            name = self.build.index_id
            raise InvalidSpec(
                f"{name}.yaml has no questions section, so process has no questions to write.",
                fix="Add 'questions: true' to the spec of an index that is still empty, or use "
                "--parse-only, --chunk-only or strata add, which need no questions.",
            )

    def parse(self) -> None:
        """Parse the file and write its pages to ``parsed.md``.

        Raises:
            Unparsable: the file cannot be read as a document.
            InvalidInput: there is a ``parsed.md`` that was edited by hand.
        """
        self.folder.require_unedited(PARSED_FILE_NAME)
        with self._measure_stage("parse") as warnings:
            parsed = parse_file(self.file_path, file_name=self.manifest.file.name)
            warnings += [f"{warning.detail} [{warning.code}]" for warning in parsed.warnings]
        self.folder.write(PARSED_FILE_NAME, format_pages(parsed.pages))
        self.manifest.document = ManifestDocument(
            title=clean_text(parsed.title).strip()[:1_000],
            media_type=parsed.media_type[:150],
            encoding=parsed.encoding and parsed.encoding[:40],
            warnings=[{"code": each.code, "detail": each.detail} for each in parsed.warnings],
        )
        self._set_page_counts(parsed.pages, cut_pages(Artifact(), parsed.pages)[1])
        self.folder.save_manifest()

    def write_unannotated_chunks(self) -> None:
        """Cut ``parsed.md`` into chunks, and write them to ``chunks.json`` without annotations.

        Raises:
            InvalidInput: ``parsed.md`` cannot be read, or there is a ``chunks.json`` that was
                edited by hand.
        """
        self._require_writable_chunks_file()
        chunks = self._cut_document().chunks
        self.manifest.writer = None
        self.manifest.cost = ManifestCosts()
        self._save_chunks(chunks, dropped_value_count=0)

    def write_annotated_chunks(self, advance: AdvanceProgress = lambda count: None) -> None:
        """Cut ``parsed.md`` into chunks, have the configured writer write their questions,
        summaries and fields, and write all of it to ``chunks.json``.

        Raises:
            InvalidSpec: the index has no questions.
            LanguageModelUnavailable, LanguageModelMisconfigured: run it again later; completed
                calls are stored and not repeated.
        """
        self.require_questions_in_spec()
        self._require_writable_chunks_file()
        cut = self._cut_document()
        chunks, dropped_value_count = self._annotate_chunks(cut, advance)
        self._save_chunks(chunks, dropped_value_count)

    def add_to_index(self) -> Artifact:
        """Add the document of ``parsed.md`` and the annotations of ``chunks.json`` to the index,
        and plan its nodes. The nodes are not embedded here. A missing ``chunks.json`` is written
        first.

        Raises:
            InvalidInput: ``chunks.json`` is invalid, or the file changed meanwhile.
        """
        self.require_questions_in_spec()
        if not self.folder.has(CHUNKS_FILE_NAME):
            self.write_annotated_chunks()
        cut = self._cut_document()
        chunks = self._read_checked_chunks(cut)
        has_questions = any(chunk.questions for chunk in chunks)
        if cut.sources and llm.is_configured() and not has_questions:
            raise InvalidInput(
                f"{CHUNKS_FILE_NAME} holds no questions.",
                fix="Write questions into the file, or move it away to have them written.",
            )
        with self._measure_stage("plan"):
            model_name = self._get_model_name()
            artifact = self._save_document(cut, chunks, model_name)
            plan_nodes(artifact.pk, self.build)
        self.manifest.embedded = ManifestEmbedding(
            artifact_id=str(artifact.pk),
            build=str(self.build),
            model_name=model_name,
            at=timezone.now().isoformat(timespec="seconds"),
        )
        self.folder.save_manifest()
        return artifact

    def list_warnings(self) -> list[str]:
        """The warnings of every stage's last run."""
        return [warning for stage in self.manifest.warnings.values() for warning in stage]

    def _require_writable_chunks_file(self) -> None:
        check_field_names(self.build.spec)
        self.folder.require_unedited(CHUNKS_FILE_NAME)

    def _cut_document(self) -> "_CutDocument":
        """Cut the document of ``parsed.md`` into sources and chunks; parse the file first if
        needed."""
        if self.manifest.document is None or not self.folder.has(PARSED_FILE_NAME):
            self.parse()
        with self._measure_stage("cut") as warnings:
            pages = read_pages(self.folder.read(PARSED_FILE_NAME))
            if self.folder.is_edited(PARSED_FILE_NAME):
                warnings.append(f"{PARSED_FILE_NAME} was edited by hand; its present text was cut.")
            artifact = self._make_unsaved_artifact()
            _, sources = cut_pages(artifact, pages)
            drafts = draft_chunks(artifact, sources, self.build)
            cut = _CutDocument(pages, sources, [AnnotatedChunk(draft) for draft in drafts])
        self._set_page_counts(pages, sources)
        return cut

    def _make_unsaved_artifact(self) -> Artifact:
        """Make an unsaved artifact with the id and title it has, or would get, in the index: chunk
        ids depend on its id, and the cutting may depend on its title."""
        file, index = self.manifest.file, self.build.index_id
        suffix = Path(file.name).suffix
        existing = Artifact.objects.filter(
            index=index, sha256=file.sha256, file_name__iendswith=suffix
        ).first()
        document = self.manifest.document
        assert document is not None  # written with parsed.md
        title = document.title or title_from_file_name(file.name)
        if existing is not None:
            title = existing.title if existing.has_user_title else title
            return Artifact(pk=existing.pk, index=index, title=title)
        return Artifact(pk=self._content_id, index=index, title=title)

    @property
    def _content_id(self) -> uuid.UUID:
        """The artifact's id until the document is in the index."""
        file = self.manifest.file
        suffix = Path(file.name).suffix.lower()
        name = f"strata {self.build.index_id} {file.sha256} {suffix}"
        return uuid.uuid5(uuid.NAMESPACE_OID, name)

    def _annotate_chunks(
        self, cut: "_CutDocument", advance: AdvanceProgress
    ) -> tuple[list[AnnotatedChunk], int]:
        """Return the chunks with their annotations, and the number of values dropped."""
        artifact = self._make_unsaved_artifact()
        inputs = {
            key: AnnotationInput(
                each.chunk.text,
                each.chunk.source.heading,
                artifact.title,
                page_label=cut.pages[each.chunk.source.page.index].label,
            )
            for key, each in enumerate(cut.chunks)
        }
        chunks = cut.chunks
        written, model_names = list(chunks), set[str]()
        total, dropped_value_count = LanguageModelCost(), 0
        outage: StrataError | None = None
        with self._measure_stage("write") as warnings:
            for outcome in get_writer().annotate(inputs, self.build.spec):
                _add_cost(total, outcome.cost)
                advance(1)
                chunk, draft, error = chunks[outcome.key], outcome.draft, outcome.error
                if isinstance(draft, AnnotationDraft):
                    model_names.add(draft.model_name)
                    dropped_value_count += draft.dropped_value_count
                    if draft.note:
                        warnings.append(f"Chunk {chunk.id}: {draft.note}")
                    written[outcome.key] = replace(
                        chunk,
                        questions=list(draft.questions),
                        summary=draft.summary,
                        fields=dict(draft.fields),
                    )
                elif error is not None and error.is_expected:
                    outage = error
                else:
                    warnings.append(f"Nothing is written about chunk {chunk.id}: {error}")
        if outage is not None:
            raise outage
        self.manifest.writer = self._make_manifest_writer(model_names)
        self.manifest.cost = ManifestCosts(
            calls=total.call_count,
            reused=total.reused_count,
            failures=total.failure_count,
            prompt_tokens=total.prompt_tokens,
            completion_tokens=total.completion_tokens,
        )
        return written, dropped_value_count

    def _make_manifest_writer(self, model_names: set[str]) -> ManifestWriter:
        question_spec = self.build.spec.questions
        assert question_spec is not None
        model_name = ", ".join(sorted(model_names))[:200]
        if model_name in {"", EXTRACTIVE_MODEL_NAME}:
            return ManifestWriter(model_name=model_name, prompt=None, prompt_fingerprint=None)
        return ManifestWriter(
            model_name=model_name,
            prompt=question_spec.prompt,
            prompt_fingerprint=hash_text(read_prompt_template(question_spec.prompt)),
        )

    def _save_chunks(self, chunks: list[AnnotatedChunk], dropped_value_count: int) -> None:
        manifest, spec = self.manifest, self.build.spec
        for stage in (
            ("check",) if manifest.writer else ("check", "write")
        ):  # their warnings are outdated
            manifest.seconds.pop(stage, None)
            manifest.warnings.pop(stage, None)
        manifest.spec_fingerprint = self.build.fingerprint
        manifest.embedding_model = spec.embedding.model
        self.folder.write(CHUNKS_FILE_NAME, format_chunks(chunks, spec))
        self._set_counts(chunks, dropped_value_count)
        self.folder.save_manifest()

    def _read_checked_chunks(self, cut: "_CutDocument") -> list[AnnotatedChunk]:
        with self._measure_stage("check") as warnings:
            text = self.folder.read(CHUNKS_FILE_NAME)
            chunks = read_chunks(text, self.build.spec, cut.chunks, self._content_id)
            if self.manifest.spec_fingerprint != self.build.fingerprint:
                warnings.append(
                    f"{CHUNKS_FILE_NAME} was made by another recipe than that of {self.build}; "
                    "all its values are valid in this one."
                )
        self._set_counts(chunks, self.manifest.counts.dropped_values)
        return chunks

    def _set_page_counts(self, pages: Sequence[ParsedPage], sources: Sequence[Source]) -> None:
        self.manifest.counts.pages, self.manifest.counts.sources = len(pages), len(sources)

    def _set_counts(self, chunks: list[AnnotatedChunk], dropped_value_count: int) -> None:
        self.manifest.counts = ManifestCounts(
            pages=self.manifest.counts.pages,
            sources=self.manifest.counts.sources,
            chunks=len(chunks),
            questions=sum(len(chunk.questions) for chunk in chunks),
            dropped_values=dropped_value_count,
        )

    def _get_model_name(self) -> str:
        """The model name to store: the writer's, or ``by hand`` if ``chunks.json`` was edited."""
        writer, written_file = self.manifest.writer, self.manifest.files.get(CHUNKS_FILE_NAME)
        if writer is None or written_file is None or written_file.edited_sha256 is not None:
            return BY_HAND_MODEL_NAME
        return writer.model_name

    def _save_document(
        self, cut: "_CutDocument", chunks: list[AnnotatedChunk], model_name: str
    ) -> Artifact:
        note = self.manifest.document
        assert note is not None
        with self.file_path.open("rb") as file:
            name = self.manifest.file.name
            content = save_incoming_file(name, iter(lambda: file.read(READ_CHUNK_BYTES), b""))
        try:
            if content.sha256 != self.manifest.file.sha256:
                raise InvalidInput(
                    f"{self.file_path} changed while it was processed.", fix="Run process again."
                )
            document = DocumentToSave(
                pages=cut.pages,
                title=note.title,
                media_type=note.media_type,
                encoding=note.encoding or "",
                warnings=note.warnings,
            )
            return save_document(self.build, content, document, cut.chunks, chunks, model_name)
        finally:
            content.discard()

    @contextmanager
    def _measure_stage(self, name: str) -> Iterator[list[str]]:
        """Measure a stage, and keep its duration and warnings in the manifest."""
        warnings: list[str] = []
        started = time.monotonic()
        yield warnings
        self.manifest.seconds[name] = round(time.monotonic() - started, 3)
        self.manifest.warnings.pop(name, None)
        if warnings:
            self.manifest.warnings[name] = warnings


@dataclass(frozen=True, slots=True)
class _CutDocument:
    pages: list[ParsedPage]
    sources: list[Source]
    chunks: list[AnnotatedChunk]  # without annotations


def _add_cost(total: LanguageModelCost, cost: LanguageModelCost) -> None:
    for name in LanguageModelCost.__slots__:
        setattr(total, name, getattr(total, name) + getattr(cost, name))

"""The stages of processing a file. Each reads the previous stage's files and writes its own."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import InvalidInput, StrataError, UnknownIndex
from core.text import clean_name, hash_text
from documents.models import Artifact, Source
from documents.originals import save_incoming_file
from documents.pages import cut_pages, replace_pages
from documents.parsing import ParsedPage, parse_file
from documents.reading import SET_BY_HAND
from documents.services import (
    add_artifact,
    assign_next_revision,
    require_not_held,
)
from documents.titles import choose_title, set_title
from indexing.drafting.chunk import draft_chunks
from indexing.exceptions import InvalidSpec
from indexing.models import Index, IndexBuild
from indexing.services import plan_nodes
from language_models import llm
from language_models.exceptions import LanguageModelCost
from language_models.prompts import read_prompt_template
from processing.chunks import (
    CHUNKS_FILE_NAME,
    AnnotatedChunk,
    check_field_names,
    format_chunks,
    make_chunk_ids,
    read_chunks,
)
from processing.folder import (
    InspectionFolder,
    Manifest,
    ManifestCosts,
    ManifestDocument,
    ManifestEmbedding,
    ManifestWriter,
    describe_file,
)
from processing.pages import PARSED_FILE_NAME, format_pages, read_pages
from summaries.models import EXTRACTIVE_MODEL_NAME, Annotation, Segmentation, WrittenText
from summaries.segmenting import SegmentationInput, can_be_cut, find_boundaries
from summaries.services import ROWS_PER_STATEMENT, annotation_field_values, make_annotation
from summaries.writers import (
    BY_HAND_MODEL_NAME,
    AnnotationDraft,
    AnnotationInput,
    SegmentationDraft,
    get_writer,
)

READ_CHUNK_BYTES = 1 << 20


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
            raise UnknownIndex.named(
                index,
                Index.objects.values_list("name", flat=True),
                fix="To make a new one, add a YAML file to specs/.",
            )
        manifest = Manifest(
            file=describe_file(file_path),
            index=index,
            spec_fingerprint=build.fingerprint,
            embedding_model=build.spec.embedding.model,
        )
        folder = InspectionFolder.open(out, manifest, may_discard_outdated=may_discard_outdated)
        return cls(file_path, build, folder)

    @property
    def manifest(self) -> Manifest:
        return self.folder.manifest

    def parse(self) -> None:
        """Parse the file and write its pages to ``parsed.md``.

        Raises:
            Unparsable: the file cannot be read as a document.
            InvalidInput: there is a ``parsed.md`` that was edited by hand.
        """
        self.folder.require_unedited(PARSED_FILE_NAME)
        with self._measure_stage("parse") as warnings:
            parsed = parse_file(
                self.file_path,
                file_name=self.manifest.file.name,
                ocr_languages=self.build.spec.ocr_languages,
            )
            warnings += [f"{warning.detail} [{warning.code}]" for warning in parsed.warnings]
        self.folder.write(PARSED_FILE_NAME, format_pages(parsed.pages))
        self.manifest.document = ManifestDocument(
            title=clean_name(parsed.title).strip()[:1_000],
            media_type=parsed.media_type[:150],
            encoding=parsed.encoding and parsed.encoding[:40],
            warnings=[{"code": each.code, "detail": each.detail} for each in parsed.warnings],
        )
        self.manifest.counts.pages = len(parsed.pages)
        self.manifest.counts.sources = len(cut_pages(Artifact(), parsed.pages)[1])
        self.folder.save_manifest()

    def write_chunks(
        self, *, is_annotated: bool, advance: Callable[[int], None] = lambda count: None
    ) -> None:
        """Cut ``parsed.md`` into chunks, and write them to ``chunks.json``. If ``is_annotated``,
        have the configured writer write their questions, summaries and fields; ``advance`` is
        called with 1 after each chunk.

        Raises:
            InvalidSpec: the index has no questions to write.
            InvalidInput: ``parsed.md`` cannot be read, or there is a ``chunks.json`` that was
                edited by hand.
            LanguageModelUnavailable, LanguageModelMisconfigured: run it again later; completed
                calls are stored and not repeated.
        """
        if is_annotated:
            self._require_questions_in_spec()
        check_field_names(self.build.spec)
        self.folder.require_unedited(CHUNKS_FILE_NAME)
        manifest, cut = self.manifest, self._cut_document()
        manifest.writer, manifest.cost = None, ManifestCosts.of(cut.cost)
        outdated = ["check"] if is_annotated else ["check", "write"]
        for stage in outdated:
            manifest.seconds.pop(stage, None)
            manifest.warnings.pop(stage, None)
        chunks, dropped_value_count = cut.chunks, 0
        if is_annotated:
            chunks, dropped_value_count = self._annotate_chunks(cut, advance)
        manifest.spec_fingerprint = self.build.fingerprint
        manifest.embedding_model = self.build.spec.embedding.model
        self.folder.write(CHUNKS_FILE_NAME, format_chunks(chunks, self.build.spec))
        self._count_chunks(chunks, dropped_value_count)
        self.folder.save_manifest()

    def add_to_index(self) -> Artifact:
        """Add the document of ``parsed.md`` and the annotations of ``chunks.json`` to the index,
        and plan its nodes. The nodes are not embedded here.

        Raises:
            InvalidSpec: the index has no questions.
            InvalidInput: ``chunks.json`` is invalid, or the file changed meanwhile.
        """
        self._require_questions_in_spec()
        cut = self._cut_document()
        with self._measure_stage("check") as warnings:
            text = self.folder.read(CHUNKS_FILE_NAME)
            chunks = read_chunks(text, self.build.spec, cut.chunks, self.manifest.content_id)
            if self.manifest.spec_fingerprint != self.build.fingerprint:
                warnings.append(
                    f"{CHUNKS_FILE_NAME} was made by another recipe than that of {self.build}; "
                    "all its values are valid in this one."
                )
        self._count_chunks(chunks, self.manifest.counts.dropped_values)
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

    def _require_questions_in_spec(self) -> None:
        if self.build.spec.questions is None:
            name = self.build.index_id
            raise InvalidSpec(
                f"{name}.yaml has no questions section, so process has no questions to write.",
                fix="Add 'questions: true' to the spec of an index that is still empty, or use "
                "--parse-only, --chunk-only or strata add, which need no questions.",
            )

    def _cut_document(self) -> "_CutDocument":
        """Cut the document of ``parsed.md``, made first if needed, into sources and chunks."""
        if self.manifest.document is None or not self.folder.has(PARSED_FILE_NAME):
            self.parse()
        with self._measure_stage("cut") as warnings:
            pages = read_pages(self.folder.read(PARSED_FILE_NAME))
            if self.folder.is_edited(PARSED_FILE_NAME):
                warnings.append(f"{PARSED_FILE_NAME} was edited by hand; its present text was cut.")
            artifact = self._make_unsaved_artifact()
            _, sources = cut_pages(artifact, pages)
            segmentations, cost = self._segment(sources, warnings)
            boundaries = {key: draft.boundaries for key, draft in segmentations.items()}
            drafts = draft_chunks(artifact, sources, self.build, boundaries=boundaries)
            chunks = [AnnotatedChunk(draft) for draft in drafts]
            cut = _CutDocument(pages, sources, chunks, artifact.title, segmentations, cost)
        self.manifest.counts.pages, self.manifest.counts.sources = len(pages), len(sources)
        return cut

    def _segment(
        self, sources: Sequence[Source], warnings: list[str]
    ) -> tuple[dict[str, SegmentationDraft], LanguageModelCost]:
        """Where a language model cuts the sources, by the hash of their text, if the recipe has it
        cut them; and what it cost."""
        strategy = self.build.spec.chunks.llm
        segmentations: dict[str, SegmentationDraft] = {}
        cost, outage = LanguageModelCost(), None
        if strategy is None:
            return segmentations, cost
        inputs = {
            hash_text(source.text): SegmentationInput(source.text)
            for source in sources
            if can_be_cut(source.text, strategy)
        }
        for outcome in find_boundaries(inputs, strategy):
            cost += outcome.cost
            outage = outage or outcome.error
            if outcome.value is not None:
                segmentations[outcome.key] = outcome.value
                warnings += filter(None, [outcome.value.note])
        if outage is not None:
            raise outage
        return segmentations, cost

    def _make_unsaved_artifact(self) -> Artifact:
        """Make an unsaved artifact with the id and title it has, or would get, in the index: chunk
        ids depend on its id, and the cutting may depend on its title."""
        file, index, document = self.manifest.file, self.build.index_id, self.manifest.document
        assert document is not None  # written with parsed.md
        existing = Artifact.objects.filter(
            index=index, sha256=file.sha256, file_name__iendswith=Path(file.name).suffix
        ).first()
        if existing is not None and existing.has_user_title:
            title = existing.title
        else:
            title = choose_title(index, file.name, document.title)
        return Artifact(
            pk=existing.pk if existing else self.manifest.content_id, index=index, title=title
        )

    def _annotate_chunks(
        self, cut: "_CutDocument", advance: Callable[[int], None]
    ) -> tuple[list[AnnotatedChunk], int]:
        """Return the chunks with their annotations, and the number of values dropped."""
        inputs = {
            key: AnnotationInput(
                each.chunk.text,
                each.chunk.source.heading,
                cut.title,
                page_label=cut.pages[each.chunk.source.page.index].label,
            )
            for key, each in enumerate(cut.chunks)
        }
        written, model_names = list(cut.chunks), set[str]()
        cost, dropped_value_count = cut.cost, 0
        outage: StrataError | None = None
        with self._measure_stage("write") as warnings:
            for outcome in get_writer().annotate(inputs, self.build.spec):
                cost += outcome.cost
                advance(1)
                chunk, draft, error = cut.chunks[outcome.key], outcome.value, outcome.error
                if isinstance(draft, AnnotationDraft):
                    model_names.add(draft.model_name)
                    dropped_value_count += draft.dropped_value_count
                    if draft.note:
                        warnings.append(f"Chunk {chunk.id}: {draft.note}")
                    written[outcome.key] = replace(
                        chunk, questions=draft.questions, summary=draft.summary, fields=draft.fields
                    )
                elif error is not None and error.is_expected:
                    outage = error
                else:
                    warnings.append(f"Nothing is written about chunk {chunk.id}: {error}")
        if outage is not None:
            raise outage
        self.manifest.writer = self._describe_writer(model_names)
        self.manifest.cost = ManifestCosts.of(cost)
        return written, dropped_value_count

    def _describe_writer(self, model_names: set[str]) -> ManifestWriter:
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

    def _count_chunks(self, chunks: Sequence[AnnotatedChunk], dropped_value_count: int) -> None:
        counts = self.manifest.counts
        counts.chunks, counts.dropped_values = len(chunks), dropped_value_count
        counts.questions = sum(len(chunk.questions) for chunk in chunks)

    def _get_model_name(self) -> str:
        """The model name to store: the writer's, or ``by hand`` if ``chunks.json`` was edited."""
        writer, written_file = self.manifest.writer, self.manifest.files.get(CHUNKS_FILE_NAME)
        if writer is None or written_file is None or written_file.edited_sha256 is not None:
            return BY_HAND_MODEL_NAME
        return writer.model_name

    def _save_document(
        self, cut: "_CutDocument", chunks: Sequence[AnnotatedChunk], model_name: str
    ) -> Artifact:
        """Save the document, the boundaries of its sources and the annotations of its chunks in one
        transaction, so that no worker starts in between and calls a language model for what already
        exists.

        Every annotated chunk becomes a row by hand, which no writer changes. Chunks of the recipe
        that were left out become empty rows without a writer, so that no search finds them.
        """
        with self.file_path.open("rb") as file:
            name = self.manifest.file.name
            content = save_incoming_file(name, iter(lambda: file.read(READ_CHUNK_BYTES), b""))
        try:
            if content.sha256 != self.manifest.file.sha256:
                raise InvalidInput(
                    f"{self.file_path} changed while it was processed.", fix="Run process again."
                )
            with transaction.atomic():
                added, _ = add_artifact(self.build.index_id, content)
                artifact = Artifact.objects.select_for_update().get(pk=added.pk)
                self._set_pages(artifact, cut.pages)
                artifact.save()  # even if unchanged: its receivers enqueue planning and syncing
                rows = self._make_annotations(artifact, cut.chunks, chunks, model_name)
                Annotation.objects.filter(build=self.build, artifact=artifact).delete()
                Annotation.objects.bulk_create(rows, batch_size=ROWS_PER_STATEMENT)
                self._save_segmentations(artifact, cut.segmentations)
            return artifact
        finally:
            content.discard()

    def _save_segmentations(
        self, artifact: Artifact, drafts: Mapping[str, SegmentationDraft]
    ) -> None:
        hashes = {source.pk: hash_text(source.text) for source in artifact.sources.all()}
        Segmentation.objects.filter(build=self.build, artifact=artifact).delete()
        Segmentation.objects.bulk_create(
            [
                Segmentation(
                    build=self.build,
                    artifact=artifact,
                    source_id=pk,
                    boundaries=drafts[text_hash].boundaries,
                    model_name=drafts[text_hash].model_name,
                    last_error=drafts[text_hash].note,
                    state=WrittenText.State.WRITTEN,
                    input_hash=text_hash,
                    written_input_hash=text_hash,
                    written_at=Now(),
                )
                for pk, text_hash in hashes.items()
                if text_hash in drafts
            ],
            batch_size=ROWS_PER_STATEMENT,
        )

    def _set_pages(self, artifact: Artifact, pages: Sequence[ParsedPage]) -> None:
        """Set the artifact's pages and mark it parsed, unless it has these pages already."""
        artifact.reader = SET_BY_HAND
        is_parsed = artifact.state == Artifact.State.PARSED
        new_pages = [(page.label[:300], page.text) for page in pages]
        if is_parsed and list(artifact.pages.values_list("label", "text")) == new_pages:
            return
        if is_parsed:
            require_not_held(artifact)
            assign_next_revision(artifact)  # so that planning from the old pages is abandoned
        replace_pages(artifact, pages)
        document = self.manifest.document
        assert document is not None  # written with parsed.md
        artifact.media_type, artifact.encoding = document.media_type, document.encoding or ""
        artifact.warnings = document.warnings
        set_title(artifact, document.title)
        artifact.state = Artifact.State.PARSED
        artifact.lease_token = artifact.leased_until = None

    def _make_annotations(
        self,
        artifact: Artifact,
        recipe_chunks: Sequence[AnnotatedChunk],
        annotated_chunks: Sequence[AnnotatedChunk],
        model_name: str,
    ) -> list[Annotation]:
        sources = list(artifact.sources.select_related("page").order_by("ordinal"))
        given = {each.id: each for each in annotated_chunks}
        rows = []
        ids = make_chunk_ids(artifact.pk, recipe_chunks)
        for each, chunk_id in zip(recipe_chunks, ids, strict=True):
            source = sources[each.chunk.source.ordinal]
            row = make_annotation(
                artifact, self.build, replace(each.chunk, id=chunk_id, source=source)
            )
            annotated = given.get(each.id, each)
            row.model_name = model_name if each.id in given else ""
            draft = AnnotationDraft(
                annotated.questions, annotated.summary, annotated.fields, row.model_name
            )
            for name, value in annotation_field_values(draft).items():
                setattr(row, name, value)
            row.state, row.is_by_hand = WrittenText.State.WRITTEN, True
            row.written_input_hash, row.written_at = row.input_hash, Now()
            rows.append(row)
        return rows

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
    title: str
    segmentations: dict[str, SegmentationDraft]  # by the hash of the source's text
    cost: LanguageModelCost  # of these

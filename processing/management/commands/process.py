from enum import Enum, auto
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiCommand
from core.commands import reported_errors
from core.progress_bars import progress_bar
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.serializers import render_artifacts
from indexing.management.waiting import wait_for_artifacts
from processing.choosing import choose_index, name_folders
from processing.chunks import CHUNKS_FILE_NAME
from processing.folder import MANIFEST_FILE_NAME, require_file
from processing.pages import PARSED_FILE_NAME
from processing.stages import FileInspection


class Stage(Enum):
    """Where to stop."""

    PARSE = auto()
    CHUNK = auto()
    WRITE = auto()
    EMBED = auto()


class Command(ApiCommand):
    help = (
        "Process files as an index would, and write the results as files to read and edit: the "
        "text (parsed.md) and the chunks with questions, summaries and fields (chunks.json). "
        "Nothing is embedded before --embed."
    )
    changes_data = True  # the rows of the chunks that a person has edited
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
        parser.add_argument(
            "--index",
            help="Default: the one that the output folder was made for, or else the only one, or "
            "the only one with documents, of those that have what the stage writes.",
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="Output folder; of several files, the folder in which each gets its own. Default: "
            "a folder with the name of the file, in the present one.",
        )
        stages = parser.add_mutually_exclusive_group()
        for flag, stage, description in (
            ("--parse-only", Stage.PARSE, "Stop after parsed.md."),
            (
                "--chunk-only",
                Stage.CHUNK,
                "Chunk parsed.md, edited or not, and write no questions or summaries.",
            ),
            (
                "--embed",
                Stage.EMBED,
                "Add the documents to the index, with each chunks.json as it is.",
            ),
        ):
            stages.add_argument(
                flag, dest="stage", action="store_const", const=stage, help=description
            )
        parser.set_defaults(stage=Stage.WRITE)

    def handle(
        self,
        *,
        files: list[Path],
        index: str | None,
        out: Path | None,
        stage: Stage,
        **options: Any,
    ) -> None:
        folders = dict(zip(files, name_folders(files, out), strict=True))
        if len(files) == 1:
            self._process(files[0], index, folders[files[0]], stage)
            return
        failed_count = 0
        for file, folder in folders.items():
            try:
                with reported_errors():
                    self._process(file, index, folder, stage)
            except CommandError as error:
                failed_count += 1
                self.stderr.write(self.style.ERROR(f"{file}: {error}"))
        if failed_count:
            raise CommandError(f"{failed_count} of {len(files)} files could not be processed.")

    def _process(self, file: Path, index: str | None, folder: Path, stage: Stage) -> None:
        try:
            require_file(file)
            if index is None:
                index = choose_index(folder, has_questions=stage in (Stage.WRITE, Stage.EMBED))
                self.stdout.write(f"Processing {file} for the index {index}")
            inspection = FileInspection.open(
                file, index, folder, may_discard_outdated=stage != Stage.EMBED
            )
            self._run_stage(inspection, stage)
        except OSError as error:
            where = error.filename or file
            reason = error.strerror or type(error).__name__
            raise CommandError(f"{where} cannot be read or written: {reason}.") from None
        for warnings in inspection.manifest.warnings.values():
            for warning in warnings:
                self.stderr.write(self.style.WARNING(warning))
        self._report(inspection)

    def _run_stage(self, inspection: FileInspection, stage: Stage) -> None:
        match stage:
            case Stage.PARSE:
                inspection.parse()
            case Stage.CHUNK:
                inspection.write_chunks(is_annotated=False)
            case Stage.WRITE:
                self._write_annotated_chunks(inspection)
            case Stage.EMBED:
                self._add_to_index_and_wait(inspection)

    def _write_annotated_chunks(self, inspection: FileInspection) -> None:
        with progress_bar("Writing questions and summaries", None) as advance:
            inspection.write_chunks(is_annotated=True, advance=advance)

    def _add_to_index_and_wait(self, inspection: FileInspection) -> None:
        if not inspection.folder.has(CHUNKS_FILE_NAME):
            self._write_annotated_chunks(inspection)
        with self.api.working() as works_here:
            artifact = inspection.add_to_index()
            self.stdout.write(f"Added to {inspection.build} as artifact {artifact.pk}")
            if self.api.has_server:
                self.api.wake_workers()
            elif not works_here:
                self.stdout.write("The workers embed it. To see progress: strata status")
                return
            wait_for_artifacts(inspection.build.index_id, {artifact.pk})
        added = get_catalog().with_status(Artifact.objects.filter(pk=artifact.pk))
        for each in render_artifacts(list(added)):
            if each["status"] == "failed":
                raise CommandError(
                    f"{each['file_name']} could not be embedded: {each['error']['detail']}"
                )

    def _report(self, inspection: FileInspection) -> None:
        counts, folder = inspection.manifest.counts, inspection.folder
        descriptions = {
            PARSED_FILE_NAME: f"{counts.pages} pages",
            CHUNKS_FILE_NAME: f"{counts.chunks} chunks, {counts.questions} questions",
            MANIFEST_FILE_NAME: "what they were made from",
        }
        for name, description in descriptions.items():
            if folder.has(name):
                self.stdout.write(f"{folder.path / name}: {description}")

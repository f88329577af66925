from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.progress_bars import progress_bar
from core.running_server import ServerUnreachable, find_server
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.serializers import render_artifacts
from indexing.management.base_command import StrataCommand, ensure_workers
from indexing.management.waiting import wait_for_artifacts
from summaries.processing import (
    CHUNKS_FILE_NAME,
    MANIFEST_FILE_NAME,
    PARSED_FILE_NAME,
    FileInspection,
)


class Command(StrataCommand):
    help = (
        "Process a file as an index would, and write the results as files to read and edit: its "
        "text (parsed.md) and its chunks with questions, summaries and fields (chunks.json). "
        "Nothing is embedded before --embed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--index", required=True)
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="Output folder.")
        stages = parser.add_mutually_exclusive_group()
        stages.add_argument("--parse-only", action="store_true", help="Stop after parsed.md.")
        stages.add_argument(
            "--chunk-only",
            action="store_true",
            help="Chunk parsed.md, edited or not, and write no questions or summaries.",
        )
        stages.add_argument(
            "--embed",
            action="store_true",
            help="Add the document to the index, with chunks.json as it is.",
        )

    def handle(
        self,
        *,
        file: Path,
        index: str,
        out: Path,
        parse_only: bool,
        chunk_only: bool,
        embed: bool,
        **options: Any,
    ) -> None:
        try:
            inspection = FileInspection.open(file, index, out, may_discard_outdated=not embed)
            if parse_only:
                inspection.parse()
            elif chunk_only:
                inspection.write_chunks(is_annotated=False)
            elif embed:
                self._add_to_index_and_wait(inspection)
            else:
                self._write_annotated_chunks(inspection)
        except OSError as error:
            where = error.filename or file
            reason = error.strerror or type(error).__name__
            raise CommandError(f"{where} cannot be read or written: {reason}.") from None
        for warnings in inspection.manifest.warnings.values():
            for warning in warnings:
                self.stderr.write(self.style.WARNING(warning))
        self._report(inspection)

    def _write_annotated_chunks(self, inspection: FileInspection) -> None:
        with progress_bar("Writing questions and summaries", None) as advance:
            inspection.write_chunks(is_annotated=True, advance=advance)

    def _add_to_index_and_wait(self, inspection: FileInspection) -> None:
        if not inspection.folder.has(CHUNKS_FILE_NAME):
            self._write_annotated_chunks(inspection)
        server = find_server()
        with ensure_workers() as works_here:
            artifact = inspection.add_to_index()
            self.stdout.write(f"Added to {inspection.build} as artifact {artifact.pk}")
            if server is not None:
                try:
                    server.reconcile()
                except ServerUnreachable as error:
                    raise CommandError(
                        f"{error} The document is saved; the next strata serve embeds it."
                    ) from None
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

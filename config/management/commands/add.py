from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from access.server import RunningServer, find_server
from config import embedded
from config.progress import follow_artifacts
from documents.importing import Given, add_file, iter_files
from documents.indexes import get_catalog
from documents.models import Artifact
from indexing.management.bars import progress_bar
from indexing.management.prepared import PreparedCommand
from indexing.models import Index

NUDGE_EVERY = 50  # documents; a running server is told to look, and begins while we still add


class Command(PreparedCommand):
    help = "Add files, folders and .jsonl files of documents to an index."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--index", required=True)
        parser.add_argument(
            "--wait",
            action="store_true",
            help="Return only when all of it can be searched, or has failed, which is said and "
            "no error of this command. Where no server runs, the work is done here and waited "
            "for anyway.",
        )

    def handle(self, *, paths: list[Path], index: str, wait: bool, **options: Any) -> None:
        if missing := [path for path in paths if not path.exists()]:
            raise CommandError(f"There is no {missing[0]}.")
        server = find_server()
        with ExitStack() as stack:
            if server is None and embedded.is_embedded():
                stack.enter_context(embedded.owning_store())
                stack.enter_context(embedded.working())
                wait = True
            names = list(Index.objects.values_list("name", flat=True))
            if index not in names:
                raise CommandError(
                    f"There is no index named {index!r}; there are: {', '.join(names)}. "
                    "A new one is one YAML file in specs/."
                )
            given = self._add(paths, index, server)
            accepted = {each.artifact_id for each in given if each.artifact_id is not None}
            self._report(given)
            if wait:
                follow_artifacts(index, accepted)
                self._report_state(accepted)
            elif server is not None:
                self.stdout.write("The running server indexes it now: manage.py status")
        if any(each.error for each in given):
            raise SystemExit(1)

    def _add(self, paths: list[Path], index: str, server: RunningServer | None) -> list[Given]:
        given: list[Given] = []
        with progress_bar("Adding", None) as advance:
            for path in iter_files(paths):
                for each in add_file(index, path):
                    given.append(each)
                    advance(1)
                    if server and len(given) % NUDGE_EVERY == 0:
                        server.request("POST", "/api/v1/sweep/")
        if server:
            server.request("POST", "/api/v1/sweep/")
        return given

    def _report(self, given: list[Given]) -> None:
        for each in given:
            if each.error is not None:
                self.stderr.write(f"{each.name}: {each.error} [{each.error.code}]")
        verdicts = Counter(str(each.verdict or "rejected") for each in given)
        said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        self.stdout.write(said or "There was nothing to add.")

    def _report_state(self, accepted: set[UUID]) -> None:
        failed = 0
        catalog = get_catalog()
        for artifact_id in accepted:
            artifacts = catalog.with_status(Artifact.objects.filter(pk=artifact_id))
            for artifact in artifacts.filter(Q(status="failed")):
                failed += 1
                name = artifact.file_name or artifact.title
                code = artifact.error_code or "node_failed"
                reason = artifact.error_detail or catalog.node_error(artifact_id)
                self.stderr.write(f"{name}: {reason} [{code}]")
        self.stdout.write(f"{len(accepted) - failed} ready, {failed} failed")

"""The base of commands that give documents to an index: who works them off, what is reported."""

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from core.local_workers import local_workers
from core.progress_bars import progress_bar
from core.running_server import RunningServer, find_server
from documents.importing import Given
from documents.index_catalog import get_catalog
from documents.models import Artifact
from indexing.management.prepared import PreparedCommand
from indexing.management.waiting import follow_artifacts
from indexing.models import Index
from indexing.stores.ownership import is_embedded, owning_store

NUDGE_EVERY = 50  # documents; a running server is told to look, and begins while we still add
LEFT_OUT = "without an abstract"
IDS_PER_QUERY = 500


class AddingCommand(PreparedCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--wait",
            action="store_true",
            help="Return only when all of it can be searched, or has failed, which is said and "
            "no error of this command. Where no server runs, the work is done here and waited "
            "for anyway.",
        )

    def add(
        self, index: str, stream: Iterable[Given], *, wait: bool, total: int | None = None
    ) -> None:
        """Work through ``stream``, which gives documents to the index as it is read.

        Raises:
            SystemExit: some were refused.
        """
        server = find_server()
        with ExitStack() as stack:
            if server is None and is_embedded():
                stack.enter_context(owning_store())
                stack.enter_context(local_workers())
                wait = True
            names = list(Index.objects.values_list("name", flat=True))
            if index not in names:
                raise CommandError(
                    f"There is no index named {index!r}; there are: {', '.join(names)}. "
                    "A new one is one YAML file in specs/."
                )
            accepted, refused = self._take(stream, total, server)
            if wait:
                follow_artifacts(index, accepted)
                self._report_state(accepted)
            elif server is not None:
                self.stdout.write("The running server indexes it now: manage.py status")
        if refused:
            raise SystemExit(1)

    def _take(
        self, stream: Iterable[Given], total: int | None, server: RunningServer | None
    ) -> tuple[set[UUID], list[Given]]:
        """What was accepted, and what was refused."""
        verdicts: Counter[str] = Counter()
        accepted: set[UUID] = set()
        refused: list[Given] = []
        with progress_bar("Adding", total) as advance:
            for each in stream:
                if each.artifact_id is not None:
                    accepted.add(each.artifact_id)
                if each.error is not None:
                    refused.append(each)
                verdicts[_say_verdict(each)] += 1
                advance(1)
                if server and verdicts.total() % NUDGE_EVERY == 0:
                    server.reconcile()
        if server:
            server.reconcile()
        for each in refused:
            assert each.error is not None
            self.stderr.write(f"{each.name}: {each.error} [{each.error.code}]")
        said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        self.stdout.write(said or "There was nothing to add.")
        return accepted, refused

    def _report_state(self, accepted: set[UUID]) -> None:
        failed = 0
        catalog = get_catalog()
        ids = sorted(accepted)
        for start in range(0, len(ids), IDS_PER_QUERY):
            given = Artifact.objects.filter(pk__in=ids[start : start + IDS_PER_QUERY])
            for artifact in catalog.with_status(given).filter(Q(status="failed")):
                failed += 1
                name = artifact.file_name or artifact.title
                code = artifact.error_code or "node_failed"
                reason = artifact.error_detail or catalog.node_error(artifact.pk)
                self.stderr.write(f"{name}: {reason} [{code}]")
        self.stdout.write(f"{len(accepted) - failed} ready, {failed} failed")


def _say_verdict(given: Given) -> str:
    if given.error is not None:
        return "rejected"
    return LEFT_OUT if given.verdict is None else str(given.verdict)

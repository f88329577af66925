"""Base class of commands that add documents to an index and report the outcome."""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiCommand
from core.progress_bars import progress_bar
from documents.connectors.local_files import AddResult
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.serializers import render_artifacts
from indexing.management.waiting import wait_for_artifacts
from indexing.models import Index
from indexing.services.batches import ROWS_PER_STATEMENT, slices

# A running server is told to reconcile after so many documents, so that it starts while more are
# added; then after twice as many, but at most so many later: it looks through the whole index.
FIRST_RECONCILIATION = 50
RECONCILE_EVERY_DOCUMENTS = 500
MAX_NOTES = 20  # lines that say what single documents replaced
SKIPPED_LABEL = "without an abstract"
NOTHING_TO_FIND = {"code": "no_text", "detail": "There is nothing in it to search."}


class AddDocumentsCommand(ApiCommand):
    """Writes the documents itself, because the API cannot know where the files of this machine
    lie. The API wakes the workers."""

    changes_data = True
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--wait",
            action="store_true",
            help="Wait until every document can be searched or has failed, and all other work on "
            "it is done; the exit status is 1 if any failed. Without a server, the command does "
            "the work and always waits.",
        )

    def add_documents(
        self, index: str, stream: Iterable[AddResult], *, wait: bool, total: int | None = None
    ) -> None:
        """Consume ``stream``, which adds documents as it is read. Wait for them if requested, and
        report. Raises ``SystemExit``: some were refused or, after waiting, failed."""
        names = list(Index.objects.values_list("name", flat=True))
        if index not in names:
            raise CommandError(
                f"There is no index named {index!r}; allowed: {', '.join(names)}. "
                "To make a new one, add a YAML file to specs/."
            )
        with self.api.working() as works_here:
            accepted, refused = self._add_stream(stream, total)
            failed_count = 0
            if wait or works_here:
                wait_for_artifacts(index, accepted)
                failed_count = self._report_failures(accepted)
            elif self.api.has_server:
                self.stdout.write(
                    "The running server indexes it now. To see progress: strata status"
                )
        if refused or failed_count:
            raise SystemExit(1)

    def _add_stream(
        self, stream: Iterable[AddResult], total: int | None
    ) -> tuple[set[UUID], list[AddResult]]:
        """Consume the stream; return accepted artifact ids and refused documents."""
        verdicts: Counter[str] = Counter()
        accepted: set[UUID] = set()
        refused: list[AddResult] = []
        notes: list[str] = []
        note_count = 0
        reconcile_at = FIRST_RECONCILIATION
        with progress_bar("Adding", total) as advance:
            for each in stream:
                if each.artifact_id is not None:
                    accepted.add(each.artifact_id)
                if each.error is not None:
                    refused.append(each)
                if each.note:
                    note_count += 1
                    notes = [*notes, each.note][:MAX_NOTES]
                verdicts[_outcome_label(each)] += 1
                advance(1)
                if self.api.has_server and verdicts.total() == reconcile_at:
                    reconcile_at += min(reconcile_at, RECONCILE_EVERY_DOCUMENTS)
                    self.api.wake_workers()
        if self.api.has_server:
            self.api.wake_workers()
        for each in refused:
            assert each.error is not None
            self.stderr.write(f"{each.name}: {each.error.with_fix()} [{each.error.code}]")
        summary = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        self.stdout.write(summary or "Nothing to add.")
        for note in notes:
            self.stdout.write(note)
        if note_count > MAX_NOTES:
            self.stdout.write(f"and {note_count - MAX_NOTES} more like these")
        return accepted, refused

    def _report_failures(self, accepted: set[UUID]) -> int:
        """Print why artifacts failed or hold nothing to find; return how many failed."""
        failed = empty = 0
        catalog = get_catalog()
        for ids in slices(sorted(accepted), ROWS_PER_STATEMENT):
            batch = Artifact.objects.filter(pk__in=ids)
            for rendered in render_artifacts(list(catalog.with_status(batch))):
                if rendered["status"] == "failed":
                    failed += 1
                    problems = [rendered["error"]]
                elif not rendered["nodes"]["synced"]:
                    empty += 1
                    problems = rendered["warnings"] or [NOTHING_TO_FIND]
                else:
                    continue
                name = rendered["file_name"] or rendered["title"]
                for problem in problems:
                    self.stderr.write(f"{name}: {problem['detail']} [{problem['code']}]")
        summary = f"{len(accepted) - failed - empty} ready, {failed} failed"
        self.stdout.write(f"{summary}, {empty} with nothing to find" if empty else summary)
        return failed


def _outcome_label(result: AddResult) -> str:
    if result.error is not None:
        return "rejected"
    return SKIPPED_LABEL if result.verdict is None else str(result.verdict)

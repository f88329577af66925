from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.api_client import open_api
from core.commands import StrataCommand, limit_database_cache
from indexing.health import RETRY_FIX
from indexing.hooks import describe_text_faults
from indexing.models import Index
from indexing.verification import FINDINGS


class Command(StrataCommand):
    help = (
        "Compare documents, ledger and vector store in both directions. "
        "Exits with 0 only if they agree and no node has failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--index", help="Only this index.")
        parser.add_argument(
            "--repair", action="store_true", help="Repair or remove everything that differs."
        )

    def handle(self, *, index: str | None, repair: bool, **options: Any) -> None:
        names = list(Index.objects.not_being_removed().values_list("name", flat=True))
        if index is not None and index not in names:
            raise CommandError(f"There is no index named {index!r}; allowed: {', '.join(names)}.")
        chosen = names if index is None else [index]
        limit_database_cache()
        reports = []
        with open_api() as api:  # a running server owns the vector engine
            for name in chosen:
                report = api.post(f"indexes/{name}/verify/", {"repair": repair})
                reports += [report, *report.pop("beside")]
        for report in reports:
            self._print_report(report, repairs=repair)
        for name in chosen:
            if described := describe_text_faults(name):
                self.stderr.write(self.style.WARNING(described[0]))
        if not all(report["is_sound"] for report in reports):
            self.stderr.write(
                "There are differences. Documents that are being indexed will be synced; for the "
                "rest, run verify --repair."
            )
            raise SystemExit(1)
        if not repair and any(report["failed_count"] for report in reports):
            self.stderr.write(f"Searches do not find failed nodes. {RETRY_FIX}")
            raise SystemExit(1)

    def _print_report(self, report: dict[str, Any], *, repairs: bool) -> None:
        self.stdout.write(
            f"{report['index']} #{report['build']}: {report['artifact_count']} artifacts, "
            f"{report['node_count']} nodes ({report['failed_count']} failed), "
            f"{report['point_count']} points"
        )
        for finding, count in report["findings"].items():
            invariant, meaning, remedy = FINDINGS[finding]
            examples = ", ".join(report["examples"][finding])
            self.stdout.write(f"  {invariant} {count} {meaning}: {examples}")
            if not repairs:
                self.stdout.write(f"     repair would {remedy}")
        if report["repaired_count"]:
            self.stdout.write(f"  repaired: {report['repaired_count']}")

from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandParser

from core.api_client import ApiCommand
from core.commands import limit_database_cache
from indexing.health import RETRY_FIX
from indexing.verification import FINDINGS


class Command(ApiCommand):
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
        names = [index] if index else self.api.list_indexes()
        if not self.api.has_server:
            limit_database_cache()
        reports = []
        for name in names:
            path = f"indexes/{quote(name, safe='')}/verify/"
            report = self.api.post(path, {"repair": repair})
            for warning in report["warnings"]:
                self.stderr.write(self.style.WARNING(warning))
            reports += [report, *report["beside"]]
        for report in reports:
            self._print_report(report, repairs=repair)
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

from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.commands import LocalCommand
from evaluation.golden_queries import golden_queries_folder, write_golden_queries
from indexing.models import Index


class Command(LocalCommand):
    help = (
        "Write the golden queries of an index into its folder: the queries already there, and "
        "the hits that people marked as good or bad."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")

    def handle(self, *, index: str, **options: Any) -> None:
        Index.objects.require(index)
        golden = write_golden_queries(index)
        if golden is None:
            raise CommandError(
                f"No hit of the index {index} is marked as good. Mark hits on the search page or "
                "with POST /api/v1/judgements/."
            )
        count = sum(len(judged) for judged in golden.qrels.values())
        folder = golden_queries_folder(index)
        self.stdout.write(f"{len(golden.queries)} queries, {count} judgements in {folder}")

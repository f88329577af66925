from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from indexing.management.add_command import AddDocumentsCommand
from presets.papers.anthology import open_anthology
from presets.papers.importing import add_papers


class Command(AddDocumentsCommand):
    help = (
        "Add papers of the ACL Anthology to an index, from its own XML and YAML or from JSON "
        "Lines. Papers without an abstract are skipped, and so are papers already in the index."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path",
            type=Path,
            help="A folder with xml/ and yaml/, the Anthology's repository, one of its .xml or "
            ".xml.gz files, or a .jsonl or .jsonl.gz file.",
        )
        parser.add_argument("--index", default="papers")
        super().add_arguments(parser)

    def handle(self, *, path: Path, index: str, wait: bool, **options: Any) -> None:
        anthology = open_anthology(path)
        papers = add_papers(index, anthology.iter_papers())
        self.add_documents(index, papers, wait=wait, total=anthology.count_papers())

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from core.progress_bars import progress_bar
from indexing.management.add_command import SKIPPED_LABEL, AddDocumentsCommand
from presets.papers.anthology import Anthology, Paper, download_anthology, open_anthology
from presets.papers.importing import add_papers


class Command(AddDocumentsCommand):
    help = (
        "Add papers of the ACL Anthology to an index, from its own XML and YAML or from JSON "
        "Lines. Papers without an abstract are skipped, and so are papers already in the index."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path",
            nargs="?",
            type=Path,
            help="A folder with xml/ and yaml/, the Anthology's repository, one of its .xml or "
            ".xml.gz files, or a .jsonl or .jsonl.gz file.",
        )
        parser.add_argument(
            "--download",
            action="store_true",
            help="Download the files from STRATA_ANTHOLOGY_URL instead.",
        )
        parser.add_argument("--index", help="Default: papers.")
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="Add nothing; write what would be added to this .jsonl file, which strata add and "
            "the API's batches read.",
        )
        super().add_arguments(parser)

    def handle(
        self,
        *,
        path: Path | None,
        download: bool,
        index: str | None,
        write: Path | None,
        wait: bool,
        **options: Any,
    ) -> None:
        if (path is None) is not download:
            raise CommandError("Give a PATH or --download, and not both.")
        if write is not None:
            _check_write_options(write, {"--index": index, "--wait": wait})
        with _files_at(path) as files:
            anthology = open_anthology(files)
            if write is not None:
                self._write(anthology, write)
                return
            papers = add_papers(index or "papers", anthology.iter_papers())
            self.add_documents(index or "papers", papers, wait=wait, total=anthology.count_papers())

    def _write(self, anthology: Anthology, path: Path) -> None:
        try:
            with path.open("w", encoding="utf-8") as file:
                written, skipped, refused = self._write_lines(anthology, file)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
        counts = {"written": written, SKIPPED_LABEL: skipped, "rejected": refused}
        self.stdout.write(", ".join(f"{n} {label}" for label, n in counts.items() if n) or "Empty.")
        if refused:
            raise SystemExit(1)

    def _write_lines(self, anthology: Anthology, file: IO[str]) -> tuple[int, int, int]:
        """Return how many papers were written, have no abstract, and could not be read."""
        written = skipped = refused = 0
        with progress_bar("Writing", anthology.count_papers()) as advance:
            for paper in anthology.iter_papers():
                advance(1)
                if not isinstance(paper, Paper):
                    refused += 1
                    self.stderr.write(f"{paper.field}: {paper.with_fix()} [{paper.code}]")
                elif paper.abstract:
                    written += 1
                    file.write(json.dumps(paper.to_document(), ensure_ascii=False) + "\n")
                else:
                    skipped += 1
        return written, skipped, refused


@contextmanager
def _files_at(path: Path | None) -> Iterator[Path]:
    """The path, or what is downloaded if there is none, until the block ends."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="anthology-") as folder:
        yield download_anthology(Path(folder))


def _check_write_options(path: Path, others: dict[str, object]) -> None:
    if path.suffix != ".jsonl":
        raise CommandError(f"{path} must end with .jsonl, so that strata add reads its lines.")
    if given := [name for name, value in others.items() if value]:
        raise CommandError(f"{given[0]} cannot be given with --write, which adds nothing.")

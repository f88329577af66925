import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from core.command_options import add_json_option, format_json, parse_json
from evidence.services import MAX_ITEMS
from indexing.management.waiting import wait_for_artifacts
from retrieval.management.answer_printing import AnswerCommand

STDIN = Path("-")


class Command(AnswerCommand):
    help = "Add findings to an index that keeps them, each once, and search them."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        adding = actions.add_parser(
            "add", help="Add findings, except those that are stored already."
        )
        adding.add_argument(
            "file", nargs="?", type=Path, metavar="FILE",
            help="One JSON object a line, with url, content and citation; - reads them from stdin.",
        )  # fmt: skip
        adding.add_argument("--url", help="URL of the one finding to add, instead of FILE.")
        adding.add_argument("--content", help="Text of that finding.")
        adding.add_argument(
            "--threshold", metavar="COSINE",
            help="Cosine from which two findings are duplicates; default: the index's setting.",
        )  # fmt: skip
        similar = actions.add_parser("similar", help="Find findings similar to a text.")
        related = actions.add_parser(
            "related", help="Find findings similar to a text, except those of some URLs."
        )
        related.add_argument(
            "--url", dest="urls", action="append", default=[], metavar="URL",
            help="Leave out the finding of this URL; may be given several times.",
        )  # fmt: skip
        for action in (similar, related):
            action.add_argument("query")
            action.add_argument("--limit", type=int)
            action.add_argument("--min-similarity", metavar="COSINE", help="Cosine, from -1 to 1.")
        for action in (adding, similar, related):
            action.add_argument("--index", required=True)
            add_json_option(action)

    def handle(self, *, action: str, index: str, json: bool, **options: Any) -> None:
        path = f"indexes/{quote(index, safe='')}/evidence/"
        if action == "add":
            self._add(index, path, json, options)
            return
        self.print_answer(self._search(path, action, options), as_json=json)

    def _add(self, index: str, path: str, json: bool, options: dict[str, Any]) -> None:
        """Add the findings in requests of ``MAX_ITEMS``, and print each verdict as it comes."""
        items = iter(_read_items(options["file"], options["url"], options["content"]))
        verdicts: list[dict[str, Any]] = []
        with self.api.working() as works_here:
            while batch := list(islice(items, MAX_ITEMS)):
                body: dict[str, Any] = {"items": batch}
                if options["threshold"] is not None:
                    body["threshold"] = options["threshold"]
                decided = self.api.post(path, body)["verdicts"]
                verdicts += decided
                if not json:
                    self._print_verdicts(decided)
            if works_here:
                ids = [each["artifact_id"] for each in verdicts if "artifact_id" in each]
                wait_for_artifacts(index, set(map(UUID, ids)))
        if json:
            self.stdout.write(format_json({"verdicts": verdicts}))
        else:
            counts = Counter(each["verdict"] for each in verdicts)
            summary = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
            self.stdout.write(summary or "Nothing to add.")

    def _search(self, path: str, action: str, options: dict[str, Any]) -> Any:
        shared = {name: options[name] for name in ("limit", "min_similarity")}
        if action == "similar":
            return self.api.get(f"{path}similar", q=options["query"], **shared)
        parameters = {name: value for name, value in shared.items() if value is not None}
        body = {"query": options["query"], "urls": options["urls"], **parameters}
        return self.api.post(f"{path}related", body)

    def _print_verdicts(self, verdicts: Sequence[dict[str, Any]]) -> None:
        for each in verdicts:
            line = f"{each['verdict']}: {each['url']}"
            if "duplicate_of" in each:
                line += f" repeats {each['duplicate_of']}, similarity {each['similarity']:.4f}"
            for similar in each.get("similar_to", []):
                line += f"\n  similar to {similar['artifact_id']}, {similar['similarity']:.4f}"
            self.stdout.write(line)


def _read_items(file: Path | None, url: str | None, content: str | None) -> list[Any]:
    """Read the findings of a file, or the one that the options give. Raises ``CommandError``:
    neither file nor finding is given, or the file cannot be read."""
    if (file is None) == (url is None) or (url is None) != (content is None):
        raise CommandError("Give a FILE, or --url with --content. [invalid]")
    if file is None:
        return [{"url": url, "content": content}]
    if file == STDIN:
        return list(_parse_lines(sys.stdin, "stdin"))
    try:
        with file.open(encoding="utf-8") as lines:
            return list(_parse_lines(lines, str(file)))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}. [invalid]") from None


def _parse_lines(lines: IO[str], name: str) -> Iterator[Any]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield parse_json(line, f"Line {number} of {name}")

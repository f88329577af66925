import json
import unicodedata
from textwrap import indent
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from retrieval.management.asking import asking
from retrieval.search import Mode


class Command(BaseCommand):
    help = "Search an index and print the best passages."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query")
        parser.add_argument("--index", required=True, help="One name, or several with commas.")
        parser.add_argument("--mode", choices=[str(mode) for mode in Mode], default="hybrid")
        parser.add_argument("--limit", type=int, default=10)
        parser.add_argument("--filter", help="JSON, as the API takes it.")
        parser.add_argument("--json", action="store_true", help="Print the API's own answer.")

    def handle(
        self,
        *,
        query: str,
        index: str,
        mode: str,
        limit: int,
        filter: str | None,
        json: bool,
        **options: Any,
    ) -> None:
        parameters = {"query": query, "index": index, "mode": mode, "limit": limit}
        if filter is not None:
            parameters["filter"] = _read_json(filter)
        with asking() as search:
            answer = search(parameters)
        if json:
            self.stdout.write(_write_json(answer))
        else:
            self._print(answer)

    def _print(self, answer: dict[str, Any]) -> None:
        console = Console(
            file=cast(IO[str], self.stdout), highlight=False, soft_wrap=not self.stdout.isatty()
        )
        if not answer["hits"]:
            console.print("Nothing found.")
        for rank, hit in enumerate(answer["hits"], start=1):
            line = Text(f"{rank}. ", style="bold")
            line.append(printable(hit["artifact"]["title"]) or "(untitled)")
            line.append(f"  page {hit['page']['index'] + 1}", style="cyan")
            line.append(f"  {hit['score_kind']} {hit['score']:.4f}", style="dim")
            if hit["verdict"] == "stale":
                line.append("  stale: the document has changed since", style="yellow")
            console.print(line)
            if self.stdout.isatty():
                console.print(Padding(Text(printable(hit["text"])), (0, 0, 1, 3)))
            else:
                self.stdout.write(indent(printable(hit["text"]), "   ") + "\n")


def printable(text: str) -> str:
    """Without the control characters by which a document could steer the terminal."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) != "Cc"
        else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n")
    )


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise CommandError("--filter is not JSON.") from None


def _write_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=2)

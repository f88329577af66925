import json
import unicodedata
from functools import cached_property
from textwrap import indent
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from retrieval.management.search_client import open_search
from retrieval.search import Mode
from retrieval.searches import SEARCHES

LISTS_OF_HITS = ("hits", "artifacts", "concepts", "sources", "relationship_types")


class Command(BaseCommand):
    help = "Search an index and print the best hits."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query", help="Query text; a SMILES with --kind structures.")
        parser.add_argument(
            "--index", required=True, help="One index name, or several separated by commas."
        )
        parser.add_argument("--kind", choices=list(SEARCHES), default="pages")
        parser.add_argument("--mode", choices=[str(mode) for mode in Mode], default="hybrid")
        parser.add_argument("--limit", type=int, default=10)
        parser.add_argument("--filter", help="A filter as JSON, as in the API.")
        parser.add_argument("--json", action="store_true", help="Print the API's response.")

    def handle(
        self,
        *,
        query: str,
        index: str,
        kind: str,
        mode: str,
        limit: int,
        filter: str | None,
        json: bool,
        **options: Any,
    ) -> None:
        fields = SEARCHES[kind].parameters().fields
        parameters: dict[str, Any] = {"index": index, "limit": limit}
        parameters["structure" if "structure" in fields else "query"] = query
        if "mode" in fields:
            parameters["mode"] = mode
        if filter is not None:
            parameters["filter"] = _parse_filter(filter)
        with open_search(kind) as search:
            answer = search(parameters)
        if json:
            self.stdout.write(_format_json(answer))
        else:
            self._print(answer)

    def _print(self, answer: dict[str, Any]) -> None:
        found = [hit for name in LISTS_OF_HITS for hit in answer.get(name, [])]
        if not found:
            self._console.print("Nothing found.")
        for rank, each in enumerate(found, start=1):
            if "pages" in each:
                self._print_artifact(rank, each)
            elif "structure" in each:
                self._print_structure(rank, each)
            elif "image" in each:
                self._print_image(rank, each)
            else:
                self._print_hit(rank, each)

    def _print_hit(self, rank: int, hit: dict[str, Any]) -> None:
        line = Text(f"{rank}. ", style="bold")
        line.append(_format_title(_get_title(hit)))
        if hit["page"] is not None:
            line.append(f"  page {hit['page']['index'] + 1}", style="cyan")
        line.append(f"  {hit['score_kind']} {hit['score']:.4f}", style="dim")
        self._print_heading(line, hit)
        if "question" in hit:
            self._console.print(
                Text(f"   {strip_control_characters(hit['question'])}", style="italic")
            )
        self._print_text(hit["text"] or "", 3)

    def _print_structure(self, rank: int, hit: dict[str, Any]) -> None:
        self._print_heading(_format_heading(rank, hit), hit["structure"])
        self._print_text(hit["structure"]["smiles"], 3)

    def _print_image(self, rank: int, hit: dict[str, Any]) -> None:
        line, image, passage = _format_heading(rank, hit), hit["image"], hit["passage"]
        if image is not None:
            line.append(f"  {image['media_type']}", style="cyan")
        self._print_heading(line, image or passage)
        if passage is not None:
            self._print_text(passage["text"], 3)

    def _print_artifact(self, rank: int, artifact: dict[str, Any]) -> None:
        """Print the artifact, then its pages, each followed by its chunks."""
        line = Text(f"{rank}. ", style="bold")
        line.append(_format_title(artifact["artifact_title"]))
        line.append(f"  {artifact['score']:.4f}", style="dim")
        self._console.print(line)
        if artifact["summary_snippet"]:
            self._print_text(artifact["summary_snippet"], 3)
        for page in artifact["pages"]:
            line = Text("   ")
            line.append(f"page {page['page_index'] + 1}", style="cyan")
            line.append(f"  {page['score']:.4f}", style="dim")
            self._console.print(line)
            if page["summary_snippet"]:
                self._print_text(page["summary_snippet"], 6)
            for chunk in page["supporting_chunks"]:
                line = Text("      ")
                line.append(f"{chunk['score_kind']} {chunk['score']:.4f}", style="dim")
                self._print_heading(line, chunk)
                self._print_text(chunk["text"], 9)

    def _print_heading(self, line: Text, hit: dict[str, Any]) -> None:
        if hit.get("verdict") == "stale" or hit.get("stale"):
            line.append("  stale: the document has changed since it was indexed", style="yellow")
        self._console.print(line)

    def _print_text(self, text: str, margin: int) -> None:
        if self.stdout.isatty():
            self._console.print(Padding(Text(strip_control_characters(text)), (0, 0, 1, margin)))
        else:
            self.stdout.write(indent(strip_control_characters(text), " " * margin) + "\n")

    @cached_property
    def _console(self) -> Console:
        return Console(
            file=cast(IO[str], self.stdout), highlight=False, soft_wrap=not self.stdout.isatty()
        )


def _get_title(hit: dict[str, Any]) -> str:
    """The title of the hit's artifact; for a concept or relationship type, its own title."""
    title: str = (hit["artifact"] or {}).get("title") or hit.get("label") or hit.get("name") or ""
    return title


def _format_heading(rank: int, hit: dict[str, Any]) -> Text:
    line = Text(f"{rank}. ", style="bold")
    line.append(_format_title(_get_title(hit)))
    line.append(f"  {hit['score_kind']} {hit['score']:.4f}", style="dim")
    return line


def _format_title(title: str) -> str:
    return strip_control_characters(title) or "(untitled)"


def strip_control_characters(text: str) -> str:
    """Replace control characters, so that a document cannot control the terminal."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) != "Cc"
        else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n")
    )


def _parse_filter(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise CommandError("--filter is not valid JSON.") from None


def _format_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=2)

"""Print the API's answers for people, or as JSON."""

import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property
from textwrap import indent
from typing import IO, Any, cast

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from core.api_client import ApiCommand
from core.command_options import format_json
from core.text import clean_name

# The lists of an answer, in the order in which they are printed.
SECTIONS = (
    "hits",
    "artifacts",
    "concepts",
    "sources",
    "relationship_types",
    "relationships",
    "neighbours",
    "paths",
    "results",
)


class AnswerCommand(ApiCommand):
    """A command that asks the API and prints the answer."""

    def print_answer(self, answer: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(format_json(answer))
        else:
            AnswerPrinter(self.stdout).print_answer(answer)


class AnswerPrinter:
    """Prints to a command's output; on a terminal with colours."""

    def __init__(self, stdout: OutputWrapper) -> None:
        self._stdout = stdout

    def print_answer(self, answer: dict[str, Any]) -> None:
        """Print every list of an answer. A heading precedes each if there are several."""
        if entry := answer.get("entry"):
            self._print_line(Text(f"Nearest: {entry['kind']} {entry['id']}"), entry)
        for note in answer.get("notes", ()):
            self._print_note(note, 0)
        filled = {name: answer[name] for name in SECTIONS if answer.get(name)}
        if not filled:
            self._console.print("Nothing found.")
        has_headings = sum(name in answer for name in SECTIONS) > 1
        for name, rows in filled.items():
            if has_headings:
                heading = name.replace("_", " ").capitalize()
                self._console.print(Text(heading, style="bold underline"))
            for rank, row in enumerate(rows, start=1):
                self._choose_printer(name, row)(rank, row)

    def print_text(self, text: str, margin: int = 0) -> None:
        """Print a text as it is, except for control characters."""
        if self._stdout.isatty():
            self._console.print(Padding(Text(strip_control_characters(text)), (0, 0, 1, margin)))
        else:
            self._stdout.write(indent(strip_control_characters(text), " " * margin) + "\n")

    def _choose_printer(self, section: str, row: dict[str, Any]) -> Callable[[int, Any], None]:
        for field, printer in (
            ("steps", self._print_path),
            ("pages", self._print_artifact),
            ("structure", self._print_artifact_hit),
            ("image", self._print_artifact_hit),
            ("target", self._print_relationship),
            ("quote", self._print_quote_hit),
            ("label", self._print_concept),
            ("relationships", self._print_relationship_type),
            ("ordinal", self._print_source),
        ):
            if field in row:
                return printer
        return self.print_hit

    # --- Passages ------------------------------------------------------------------------------

    def print_hit(self, rank: int, hit: dict[str, Any]) -> None:
        self._print_line(_format_heading(rank, _get_title(hit), hit.get("page")), hit)
        published = hit.get("citation", {}).get("source")  # of a finding
        for note in (hit.get("question"), hit.get("url"), published):
            if note:
                self._print_note(str(note), 3)
        self.print_text(hit.get("content") or hit["text"] or "", 3)
        for repeat in hit.get("references", ()):
            self._print_note(f"Repeated by {repeat['url']}", 3)

    def _print_artifact_hit(self, rank: int, hit: dict[str, Any]) -> None:
        """Print an artifact that was found by its structure, by an image or by a passage."""
        found, passage = hit.get("structure") or hit.get("image") or {}, hit["passage"]
        heading = _format_heading(rank, _get_title(hit))
        if "media_type" in found:
            heading.append(f"  {found['media_type']}", style="cyan")
        self._print_line(heading, hit, found or passage)
        if "smiles" in found:
            self.print_text(found["smiles"], 3)
        if passage is not None:
            self.print_text(passage["text"], 3)

    def _print_artifact(self, rank: int, artifact: dict[str, Any]) -> None:
        """Print the artifact, then its pages, each followed by its chunks."""
        self._print_line(_format_heading(rank, artifact["artifact_title"]), artifact)
        if artifact["summary_snippet"]:
            self.print_text(artifact["summary_snippet"], 3)
        for page in artifact["pages"]:
            heading = Text("   ").append(f"page {page['page_index'] + 1}", style="cyan")
            self._print_line(heading, page)
            if page["summary_snippet"]:
                self.print_text(page["summary_snippet"], 6)
            for chunk in page["supporting_chunks"]:
                self._print_line(Text("    "), chunk)
                self.print_text(chunk["text"], 9)

    # --- Concepts and sources ------------------------------------------------------------------

    def _print_concept(self, rank: int, concept: dict[str, Any]) -> None:
        heading = _format_heading(rank, concept["label"])
        heading.append(f"  {concept['id']}", style="dim")
        if "evidence_count" in concept:
            quotes = _count(concept["evidence_count"], "quote")
            heading.append(f"  {quotes}, {_count(concept['relationship_count'], 'relationship')}")
        self._print_line(heading, concept)
        if concept.get("description"):
            self._print_note(concept["description"], 3)
        self._print_quotes(concept.get("evidence", []))
        for relationship in concept.get("relationships", []):
            self.print_text(format_relationship(relationship), 3)

    def _print_relationship_type(self, rank: int, relationship_type: dict[str, Any]) -> None:
        self._print_line(_format_heading(rank, relationship_type["name"]), relationship_type)
        if relationship_type["description"]:
            self._print_note(relationship_type["description"], 3)
        for relationship in relationship_type["relationships"]:
            self.print_text(format_relationship(relationship), 3)

    def _print_source(self, rank: int, source: dict[str, Any]) -> None:
        self._print_line(_format_heading(rank, _get_title(source), source["page"]), source)
        neighbours = source.get("neighbours", [])
        for each in neighbours:
            if each["ordinal"] < source["ordinal"]:
                self._print_note(each["text"], 6)
        self.print_text(source["text"] or "", 3)
        for each in neighbours:
            if each["ordinal"] > source["ordinal"]:
                self._print_note(each["text"], 6)
        self._print_quotes(source.get("evidence", []))
        if concepts := source.get("concepts"):
            labels = ", ".join(concept["label"] for concept in concepts)
            self._print_note(f"Concepts: {labels}", 3)

    def _print_quote_hit(self, rank: int, quote: dict[str, Any]) -> None:
        self._print_line(_format_heading(rank, quote["artifact"]["title"]), quote)
        self.print_text(quote["quote"], 3)

    def _print_quotes(self, quotes: Iterable[dict[str, Any]]) -> None:
        for quote in quotes:
            line = Text(f"   “{strip_control_characters(quote['quote'])}”")
            line.append(f"  {format_title(quote['artifact']['title'])}", style="dim")
            self._print_line(line, quote)

    def _print_relationship(self, rank: int, relationship: dict[str, Any]) -> None:
        self.print_text(f"{rank}. {format_relationship(relationship)}")

    def _print_path(self, rank: int, path: dict[str, Any]) -> None:
        chain = ""
        for step in path["steps"]:
            ends = step["source"]["label"], step["target"]["label"]
            start, end = reversed(ends) if step["reversed"] else ends
            name = step["type"]["name"]
            arrow = f"<-[{name}]-" if step["reversed"] else f"-[{name}]->"
            chain = f"{chain or start} {arrow} {end}"
        self._print_line(_format_heading(rank, chain), path)

    # --- Lines ---------------------------------------------------------------------------------

    def _print_line(
        self, line: Text, scored: dict[str, Any], checked: dict[str, Any] | None = None
    ) -> None:
        """Print a heading with the score, and whether what it names is out of date."""
        if scored.get("score") is not None:
            kind = f"{scored['score_kind']} " if "score_kind" in scored else ""
            line.append(f"  {kind}{scored['score']:.4f}", style="dim")
        elif scored.get("similarity") is not None:
            line.append(f"  similarity {scored['similarity']:.4f}", style="dim")
        state = checked or scored
        if state.get("verdict") == "stale" or state.get("stale"):
            line.append("  stale: the document has changed since it was indexed", style="yellow")
        elif state.get("verdict") == "lost":
            line.append("  lost: the document no longer contains it", style="yellow")
        self._console.print(line)

    def _print_note(self, text: str, margin: int) -> None:
        note = indent(strip_control_characters(text), " " * margin)
        self._console.print(Text(note, style="italic"))

    @cached_property
    def _console(self) -> Console:
        return Console(
            file=cast(IO[str], self._stdout), highlight=False, soft_wrap=not self._stdout.isatty()
        )


def strip_control_characters(text: str) -> str:
    """Replace control characters, so that a document cannot control the terminal."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) != "Cc"
        else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n")
    )


def _get_title(hit: dict[str, Any]) -> str:
    return (hit["artifact"] or {}).get("title") or ""


def _format_heading(rank: int, title: str, page: dict[str, Any] | None = None) -> Text:
    heading = Text(f"{rank}. ", style="bold").append(format_title(title))
    if page is not None:
        heading.append(f"  page {page['index'] + 1}", style="cyan")
    return heading


def format_title(title: str) -> str:
    return " ".join(strip_control_characters(clean_name(title)).split()) or "(untitled)"


def format_relationship(relationship: dict[str, Any]) -> str:
    ends = relationship["source"]["label"], relationship["target"]["label"]
    return f"{ends[0]} -[{relationship['type']['name']}]-> {ends[1]}"


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"

"""Print the API's answers for people, or as JSON."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from textwrap import indent
from typing import IO, Any, ClassVar, cast

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from core.api_client import ApiCommand
from core.command_options import format_json
from core.text import clean_name


class AnswerPrinter:
    """Prints to a command's output; on a terminal with colours.

    ``sections``: the lists of an answer, in the order in which they are printed. ``printers``: the
    name of the method for rows with a field, of the first that a row has.
    """

    sections: ClassVar[Sequence[str]] = ("hits", "artifacts", "results")
    printers: ClassVar[Mapping[str, str]] = {"pages": "print_artifact"}

    def __init__(self, stdout: OutputWrapper) -> None:
        self._stdout = stdout

    def print_answer(self, answer: dict[str, Any]) -> None:
        """Print every list of an answer. A heading precedes each if there are several."""
        if entry := answer.get("entry"):
            self.print_line(Text(f"Nearest: {entry['kind']} {entry['id']}"), entry)
        for note in answer.get("notes", ()):
            self.print_note(note, 0)
        filled = {name: answer[name] for name in self.sections if answer.get(name)}
        if not filled:
            self._console.print("Nothing found.")
        has_headings = sum(name in answer for name in self.sections) > 1
        for name, rows in filled.items():
            if has_headings:
                heading = name.replace("_", " ").capitalize()
                self._console.print(Text(heading, style="bold underline"))
            for rank, row in enumerate(rows, start=1):
                found = (method for field, method in self.printers.items() if field in row)
                getattr(self, next(found, "print_hit"))(rank, row)

    def print_text(self, text: str, margin: int = 0) -> None:
        """Print a text as it is, except for control characters."""
        if self._stdout.isatty():
            self._console.print(Padding(Text(strip_control_characters(text)), (0, 0, 1, margin)))
        else:
            self._stdout.write(indent(strip_control_characters(text), " " * margin) + "\n")

    # --- Passages ------------------------------------------------------------------------------

    def print_hit(self, rank: int, hit: dict[str, Any]) -> None:
        self.print_line(format_heading(rank, get_title(hit), hit.get("page")), hit)
        published = hit.get("citation", {}).get("source")  # of a finding
        for note in (hit.get("question"), hit.get("url"), published):
            if note:
                self.print_note(str(note), 3)
        self.print_text(hit.get("content") or hit["text"] or "", 3)
        for repeat in hit.get("references", ()):
            self.print_note(f"Repeated by {repeat['url']}", 3)

    def print_artifact(self, rank: int, artifact: dict[str, Any]) -> None:
        """Print the artifact, then its pages, each followed by its chunks."""
        self.print_line(format_heading(rank, artifact["artifact_title"]), artifact)
        if artifact["summary_snippet"]:
            self.print_text(artifact["summary_snippet"], 3)
        for page in artifact["pages"]:
            heading = Text("   ").append(f"page {page['page_index'] + 1}", style="cyan")
            self.print_line(heading, page)
            if page["summary_snippet"]:
                self.print_text(page["summary_snippet"], 6)
            for chunk in page["supporting_chunks"]:
                self.print_line(Text("    "), chunk)
                self.print_text(chunk["text"], 9)

    # --- Lines ---------------------------------------------------------------------------------

    def print_line(
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
        if scored.get("warnings"):
            line.append(f"  {', '.join(scored['warnings'])}", style="yellow")
        self._console.print(line)

    def print_note(self, text: str, margin: int) -> None:
        note = indent(strip_control_characters(text), " " * margin)
        self._console.print(Text(note, style="italic"))

    @cached_property
    def _console(self) -> Console:
        return Console(
            file=cast(IO[str], self._stdout), highlight=False, soft_wrap=not self._stdout.isatty()
        )


class AnswerCommand(ApiCommand):
    """A command that asks the API and prints the answer."""

    printer: type[AnswerPrinter] = AnswerPrinter

    def print_answer(self, answer: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(format_json(answer))
        else:
            self.printer(self.stdout).print_answer(answer)


def strip_control_characters(text: str) -> str:
    """Replace control characters, so that a document cannot control the terminal."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) != "Cc"
        else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n")
    )


def get_title(hit: dict[str, Any]) -> str:
    return (hit["artifact"] or {}).get("title") or ""


def format_heading(rank: int, title: str, page: dict[str, Any] | None = None) -> Text:
    heading = Text(f"{rank}. ", style="bold").append(format_title(title))
    if page is not None:
        heading.append(f"  page {page['index'] + 1}", style="cyan")
    return heading


def format_title(title: str) -> str:
    return " ".join(strip_control_characters(clean_name(title)).split()) or "(untitled)"


def format_relationship(relationship: dict[str, Any]) -> str:
    ends = relationship["source"]["label"], relationship["target"]["label"]
    return f"{ends[0]} -[{relationship['type']['name']}]-> {ends[1]}"

"""Print the API's answers with concepts for people."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from retrieval.management.answer_printing import (
    AnswerPrinter,
    format_heading,
    format_relationship,
    format_title,
    get_title,
    strip_control_characters,
)


class KnowledgePrinter(AnswerPrinter):
    sections = (
        "hits", "concepts", "sources", "relationship_types", "relationships", "neighbours", "paths",
        "results",
    )  # fmt: skip
    printers = {
        "steps": "print_path",
        "target": "print_relationship",
        "quote": "print_quote_hit",
        "label": "print_concept",
        "relationships": "print_relationship_type",
        "ordinal": "print_source",
    }

    def print_concept(self, rank: int, concept: dict[str, Any]) -> None:
        heading = format_heading(rank, concept["label"])
        heading.append(f"  {concept['id']}", style="dim")
        if "evidence_count" in concept:
            quotes = _count(concept["evidence_count"], "quote")
            heading.append(f"  {quotes}, {_count(concept['relationship_count'], 'relationship')}")
        self.print_line(heading, concept)
        if concept.get("description"):
            self.print_note(concept["description"], 3)
        self._print_quotes(concept.get("evidence", []))
        for relationship in concept.get("relationships", []):
            self.print_text(format_relationship(relationship), 3)

    def print_relationship_type(self, rank: int, relationship_type: dict[str, Any]) -> None:
        self.print_line(format_heading(rank, relationship_type["name"]), relationship_type)
        if relationship_type["description"]:
            self.print_note(relationship_type["description"], 3)
        for relationship in relationship_type["relationships"]:
            self.print_text(format_relationship(relationship), 3)

    def print_source(self, rank: int, source: dict[str, Any]) -> None:
        self.print_line(format_heading(rank, get_title(source), source["page"]), source)
        neighbours = source.get("neighbours", [])
        for each in neighbours:
            if each["ordinal"] < source["ordinal"]:
                self.print_note(each["text"], 6)
        self.print_text(source["text"] or "", 3)
        for each in neighbours:
            if each["ordinal"] > source["ordinal"]:
                self.print_note(each["text"], 6)
        self._print_quotes(source.get("evidence", []))
        if concepts := source.get("concepts"):
            labels = ", ".join(concept["label"] for concept in concepts)
            self.print_note(f"Concepts: {labels}", 3)

    def print_quote_hit(self, rank: int, quote: dict[str, Any]) -> None:
        self.print_line(format_heading(rank, quote["artifact"]["title"]), quote)
        self.print_text(quote["quote"], 3)

    def _print_quotes(self, quotes: Iterable[dict[str, Any]]) -> None:
        for quote in quotes:
            line = Text(f"   “{strip_control_characters(quote['quote'])}”")
            line.append(f"  {format_title(quote['artifact']['title'])}", style="dim")
            self.print_line(line, quote)

    def print_relationship(self, rank: int, relationship: dict[str, Any]) -> None:
        self.print_text(f"{rank}. {format_relationship(relationship)}")

    def print_path(self, rank: int, path: dict[str, Any]) -> None:
        chain = ""
        for step in path["steps"]:
            ends = step["source"]["label"], step["target"]["label"]
            start, end = reversed(ends) if step["reversed"] else ends
            name = step["type"]["name"]
            arrow = f"<-[{name}]-" if step["reversed"] else f"-[{name}]->"
            chain = f"{chain or start} {arrow} {end}"
        self.print_line(format_heading(rank, chain), path)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"

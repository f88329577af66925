"""Print the API's answers of searches in separate vector spaces for people."""

from typing import Any

from retrieval.management.answer_printing import AnswerPrinter, format_heading, get_title


class SpacePrinter(AnswerPrinter):
    printers = {"structure": "print_artifact_hit", "image": "print_artifact_hit"}

    def print_artifact_hit(self, rank: int, hit: dict[str, Any]) -> None:
        """Print an artifact that was found by its structure, by an image or by a passage."""
        found, passage = hit.get("structure") or hit.get("image") or {}, hit["passage"]
        heading = format_heading(rank, get_title(hit))
        if "media_type" in found:
            heading.append(f"  {found['media_type']}", style="cyan")
        self.print_line(heading, hit, found or passage)
        if "smiles" in found:
            self.print_text(found["smiles"], 3)
        if passage is not None:
            self.print_text(passage["text"], 3)

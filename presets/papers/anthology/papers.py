"""A paper, and the plain text of its title, names and abstract: no markup, no LaTeX."""

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lxml import etree
from pylatexenc.latex2text import LatexNodes2Text

from core.text import normalise
from documents.services import TextContent

# Patterns for LaTeX within plain text. Only matching pieces are given to the converter, because in
# LaTeX a percent sign starts a comment: "10% better" would end after "10".
_BRACED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"  # braces nested up to three levels
_MACRO = (
    rf"\\(?:[a-zA-Z]+\*?(?:\[[^\]\[]*\])?(?:{_BRACED})*|[\"'`^~=.]\{{?[a-zA-Z]\}}?|[%&#$_{{}}])"
)
# Dollar signs enclose mathematics by Pandoc's rule (its manual, "Extension: tex_math_dollars"),
# which excludes sums of money by the spaces and digits around them. In addition, the text between
# the dollar signs must contain a character of formulas or be short.
_MATH = r"\$(?=\S)(?:(?=[^$\n]*[\\^_{}=<>])[^$\n]*+|[^$\s]{1,5})(?<=\S)\$(?!\d)"
_LATEX = re.compile(rf"{_MATH}|{_MACRO}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,31});")
_PERCENT = re.compile(r"(?<!\\)%")
# NFKC turns F₁ into F1 and n² into n2, so F_1 and n^2 become the same. 10^-5 must not become 10-5.
_SCRIPT = re.compile(r"[\^_](?=[^\s−-])")


def to_plain_text(text: str) -> str:
    """Return the text in NFKC, with LaTeX and HTML entities converted and single spaces."""
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    if "\\" in text or "$" in text:
        text = _LATEX.sub(lambda latex: latex_to_plain_text(latex[0]), text)
    return " ".join(normalise(text, "NFKC").split())


def latex_to_plain_text(latex: str) -> str:
    """Convert a piece of LaTeX to text, as far as Unicode can express it."""
    text = str(_converter().latex_to_text(_PERCENT.sub(r"\\%", latex))).strip("\n")
    return _SCRIPT.sub("", text) if latex.startswith("$") else text


def markup_to_text(element: etree._Element) -> str:
    """The text of an element of the Anthology's XML, with formulas as text; not cleaned yet."""
    return "".join(_text_pieces(element))


def _text_pieces(element: etree._Element) -> list[str]:
    if element.tag == "tex-math":
        return [latex_to_plain_text(f"${''.join(element.itertext())}$")]
    pieces = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):  # the tag of a comment is a function
            pieces += _text_pieces(child)
        pieces.append(child.tail or "")
    return pieces


@lru_cache(maxsize=1)
def _converter() -> LatexNodes2Text:
    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False)


SITE = "https://aclanthology.org"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper with cleaned texts. ``id`` and ``venues`` are the Anthology's (venues such as
    ``acl``); an empty ``abstract`` or ``doi`` is missing. ``authors`` are as printed in the paper,
    each followed by the Anthology's name for that person if it differs."""

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venues: tuple[str, ...] = ()
    awards: tuple[str, ...] = ()
    doi: str = ""
    is_retracted: bool = False

    def to_document(self) -> dict[str, Any]:
        """A document as the API takes it, and a line of ``strata add``."""
        arguments = self.to_artifact_arguments()
        del arguments["content"]
        return {"text": self.abstract, **arguments}

    def to_artifact_arguments(self) -> dict[str, Any]:
        """The arguments of ``services.add_artifact``."""
        metadata: dict[str, Any] = {"authors": list(self.authors), "venue": list(self.venues)}
        if self.year is not None:
            metadata["year"] = self.year
        if self.awards:
            metadata["awards"] = list(self.awards)
        if self.doi:
            metadata["doi"] = self.doi
        if self.is_retracted:
            metadata["retracted"] = True
        return {
            "content": TextContent((self.abstract,)),
            "title": self.title[:1_000],
            "url": f"{SITE}/{self.id}/",
            "metadata": metadata,
            "external_id": self.id,
        }

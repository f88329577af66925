"""What was read out of a question: clauses, the one filter they make, and what remains."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retrieval.questions.words import Span, fold_words, mask, word_set
from summaries.extractive.languages import stop_words

Filter = Mapping[str, Any]  # as callers of the API write it

# What people call the documents they look for, the last word of a search that is no topic.
DOCUMENTS: Final = (
    r"(?:papers?|articles?|publications?|works?|research|stud(?:y|ies)|abstracts?|documents?)"
)
_GAP: Final = "\x00"  # where something was read out
_ABOUT: Final = (
    r"(?:on|about|of|for|in|regarding|concerning|covering|discussing|(?:that\s+|which\s+)?"
    r"(?:deal|deals|dealing)\s+with|that|which)"
)
_LEADING: Final = re.compile(
    rf"^\W*(?:(?:please|can\s+you|could\s+you|show|find|give|get|list|fetch|recommend|search(?:\s+for)?"
    rf"|me|us|which|what|what\s+are|are\s+there|is\s+there|i\s+(?:want|need)|i(?:['’]m|\s+am)\s+looking\s+for)\s+)*"
    rf"(?:(?:the|all|any|some|every|other)\s+)*(?:(?:research|conference|journal|scientific)\s+)?"
    rf"(?:{_GAP}\s*)*{DOCUMENTS}\b(?:[\s{_GAP}]+{_ABOUT}\b(?=[\s{_GAP}])|(?=\s*(?:{_GAP}|$)))",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    rf"(?:(?:\s+|^)(?:(?:long|short|full|demo)\s+)?(?:papers|articles|publications))(?=[\s{_GAP}]*(?:{_GAP}|$))",
    re.IGNORECASE,
)
_BEFORE_GAP: Final = re.compile(
    rf"(?:\s*(?:,|;|\b(?:and|or|but|also|only|that|which|were|was|are|is|the|those|ones)))+\s*"
    rf"(?={_GAP})",
    re.IGNORECASE,
)
_AFTER_GAP: Final = re.compile(
    rf"({_GAP})(?:\s*(?:[,;:]|\b(?:and|or|but|also)\b))+(?=\s|{_GAP}|$)", re.IGNORECASE
)
_ENDS: Final = re.compile(
    rf"^(?:[\s,;:.\-–—{_GAP}]|(?:and|or|but|on|about|that|which)\s)+"
    rf"|(?:[\s,;:\-–—{_GAP}]|\s(?:and|or|but|the|only))+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One filter that ``[start:end]`` of the question says."""

    start: int
    end: int
    filter: Filter
    is_excluded: bool = False

    @property
    def condition(self) -> Filter:
        return {"not": self.filter} if self.is_excluded else self.filter


@dataclass(frozen=True, slots=True)
class Reading:
    """``query``: what remains to be searched, the whole question where nothing does. ``topic``:
    that without the filters that could not be honoured; empty where filters are all it says.
    ``notes``: what could not be honoured, each a sentence. ``has_unknown``: a name was not
    among the values that are known."""

    query: str
    filter: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    topic: str = ""
    has_unknown: bool = False


def join_filters(filters: Iterable[Filter]) -> dict[str, Any]:
    """One filter that holds where all of these do.

    Conditions on different fields stand side by side, bounds of one field together; whatever
    else would meet under one name stands in ``all_of``, so that nothing nests deeper than by one.
    """
    joined: dict[str, Any] = {}
    others: list[Filter] = []
    for each in filters:
        for name, condition in each.items():
            if name not in joined:
                joined[name] = condition
            elif name == "all_of":
                joined[name] = [*joined[name], *condition]
            elif name != "not" and _may_share(joined[name], condition):
                joined[name] = {**joined[name], **condition}
            elif joined[name] != condition:
                others.append({name: condition})
    if others:
        joined["all_of"] = [*joined.get("all_of", ()), *others]
    return joined


def _may_share(one: object, other: object) -> bool:
    """Whether both are bounds, and none of them twice."""
    return isinstance(one, Mapping) and isinstance(other, Mapping) and not one.keys() & other.keys()


def one_or_many(values: Sequence[Any]) -> Any:
    """As a filter has them: a value alone, or the list of those that may be."""
    return values[0] if len(values) == 1 else list(values)


def find_remainder(question: str, spans: Collection[Span]) -> str:
    """The question without these, and without the words that only led to them; empty where no
    word of a topic is left."""
    if not spans:
        return question.strip()
    text = re.sub(f"{_GAP}+", f" {_GAP} ", mask(question, spans, _GAP))
    text = _BEFORE_GAP.sub(" ", text)
    text = _AFTER_GAP.sub(r"\1", text)
    text = _LEADING.sub(" ", text, count=1)
    text = _TRAILING.sub(" ", text)
    text = _ENDS.sub("", text)
    text = " ".join(text.replace(_GAP, " ").split())
    text = re.sub(r"\s+([?.!,;:)])", r"\1", text)
    return text if _has_topic(text) else ""


def _has_topic(text: str) -> bool:
    words = [word for word in fold_words(text) if not re.fullmatch(DOCUMENTS, word)]
    return any(word not in stop_words("en") and word not in _ASKING for word in words)


_ASKING: Final = word_set(
    "show find give get list search fetch please recommend want need looking published written"
)

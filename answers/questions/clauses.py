"""Filter clauses found in a question: joining them to one filter, and the topic that remains."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import regex  # for (?r), which re lacks

from text.languages import load_stop_words
from text.words import Span, fold_words, mask_spans, split_word_set

RequestFilter = Mapping[str, Any]  # in the API's syntax

# Words for documents themselves ("papers") are not part of a topic.
DOCUMENT_WORDS_PATTERN: Final = (
    r"(?:papers?|articles?|publications?|works?|research|stud(?:y|ies)|abstracts?|documents?)"
)
# Optional words that exclude what follows, such as "but not" and "except those".
NEGATION_PATTERN: Final = (
    r"(?P<no>\b(?:but\s+)?(?:not|never|except(?:\s+for)?|excluding|without|other\s+than"
    rf"|outside(?:\s+of)?|apart\s+from)\s+(?:(?:those|ones|any|{DOCUMENT_WORDS_PATTERN})\s+)?)?"
)
_NEGATION_BEFORE: Final = re.compile(
    r"(?:\b(?:not|never|nor|neither|except|excluding|unlike)|n['’]t)\b(?:\s+[\w'’-]+){0,2}\s*$",
    re.IGNORECASE,
)
_REMOVED: Final = "\x00"  # marks the place of a removed span
_TOPIC_PREPOSITIONS: Final = (
    r"(?:on|about|of|for|in|regarding|concerning|covering|discussing|(?:that\s+|which\s+)?"
    r"(?:deal|deals|dealing)\s+with|that|which)"
)
_LEADING_REQUEST: Final = re.compile(
    rf"^\W*+(?:(?:please|can\s+you|could\s+you|show|find|give|get|list|fetch|recommend|search(?:\s+for)?"
    rf"|me|us|which|what|what\s+are|are\s+there|is\s+there|i\s+(?:want|need)|i(?:['’]m|\s+am)\s+looking\s+for)\s+)*"
    rf"(?:(?:the|all|any|some|every|other)\s+)*(?:(?:research|conference|journal|scientific)\s+)?"
    rf"(?:{_REMOVED}\s*)*{DOCUMENT_WORDS_PATTERN}\b(?:[\s{_REMOVED}]+{_TOPIC_PREPOSITIONS}\b(?=[\s{_REMOVED}])|(?=\s*(?:{_REMOVED}|$)))",
    re.IGNORECASE,
)
_TRAILING_DOCUMENT_WORD: Final = re.compile(
    rf"(?:(?:\s+|^)(?:(?:long|short|full|demo)\s+)?(?:papers|articles|publications))(?=[\s{_REMOVED}]*(?:{_REMOVED}|$))",
    re.IGNORECASE,
)
# Filler words before something are searched backwards (?r): forwards, a match would be tried from
# each word of a run of them.
_FILLER_BEFORE_REMOVED: Final = regex.compile(
    rf"(?r)(?:\s*(?:,|;|\b(?:and|or|but|also|only|that|which|were|was|are|is|the|those|ones)))+\s*"
    rf"(?={_REMOVED})",
    regex.IGNORECASE,
)
_FILLER_AFTER_REMOVED: Final = re.compile(
    rf"({_REMOVED})(?:\s*(?:[,;:]|\b(?:and|or|but|also)\b))+(?=\s|{_REMOVED}|$)", re.IGNORECASE
)
_FILLER_AT_START: Final = re.compile(
    rf"^(?:[\s,;:.\-–—{_REMOVED}]|(?:and|or|but|on|about|that|which)\s)+", re.IGNORECASE
)
_FILLER_AT_END: Final = regex.compile(
    rf"(?r)(?:[\s,;:\-–—{_REMOVED}]|\s(?:and|or|but|the|only))+$", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One filter that ``question[start:end]`` expresses."""

    start: int
    end: int
    filter: RequestFilter
    is_excluded: bool = False

    @property
    def condition(self) -> RequestFilter:
        return {"not": self.filter} if self.is_excluded else self.filter


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question split into query and filter.

    ``remainder``: the question without its filters; empty if it has only filters. ``query``: the
    text to search, which is then the whole question. ``topic``: the remainder without the filters
    that could not be applied. ``notes``: filters that could not be applied, each a sentence."""

    query: str
    remainder: str
    filter: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    topic: str = ""


def join_filters(filters: Iterable[RequestFilter]) -> dict[str, Any]:
    """Combine filters with AND into one filter.

    Conditions on different fields become separate keys, and bounds of one field are merged. Other
    conditions on the same key go into ``all_of``, which adds at most one level of nesting.
    """
    joined: dict[str, Any] = {}
    others: list[RequestFilter] = []
    for each in filters:
        for name, condition in each.items():
            if name not in joined:
                joined[name] = condition
            elif name == "all_of":
                joined[name] = [*joined[name], *condition]
            elif name != "not" and _can_merge_bounds(joined[name], condition):
                joined[name] = {**joined[name], **condition}
            elif joined[name] != condition:
                others.append({name: condition})
    if others:
        joined["all_of"] = [*joined.get("all_of", ()), *others]
    return joined


def _can_merge_bounds(one: object, other: object) -> bool:
    """Whether both are range conditions without a common bound."""
    return isinstance(one, Mapping) and isinstance(other, Mapping) and not one.keys() & other.keys()


def is_after_negation(before: str) -> bool:
    """Whether this text ends within two words of a negation, whose scope is unclear."""
    return _NEGATION_BEFORE.search(before[-80:]) is not None


def unwrap_single(values: Sequence[Any]) -> Any:
    """One value as it is, several as a list: the two forms of the filter syntax."""
    return values[0] if len(values) == 1 else list(values)


def extract_topic(question: str, spans: Collection[Span]) -> str:
    """The question without these spans and filler words around them; empty without a topic word."""
    if not spans:
        return question.strip()
    text = re.sub(f"{_REMOVED}+", f" {_REMOVED} ", mask_spans(question, spans, _REMOVED))
    text = " ".join(text.split())  # the patterns below would try every part of a run of spaces
    text = _FILLER_BEFORE_REMOVED.sub(" ", text)
    text = _FILLER_AFTER_REMOVED.sub(r"\1", text)
    text = _LEADING_REQUEST.sub(" ", text, count=1)
    text = _TRAILING_DOCUMENT_WORD.sub(" ", text)
    text = _FILLER_AT_END.sub("", _FILLER_AT_START.sub("", text))
    text = " ".join(text.replace(_REMOVED, " ").split())
    text = re.sub(r"\s+([?.!,;:)])", r"\1", text)
    return text if _has_topic(text) else ""


def _has_topic(text: str) -> bool:
    words = [word for word in fold_words(text) if not re.fullmatch(DOCUMENT_WORDS_PATTERN, word)]
    return any(word not in load_stop_words("en") and word not in _REQUEST_WORDS for word in words)


_REQUEST_WORDS: Final = split_word_set(
    "show find give get list search fetch please recommend want need looking published written"
)

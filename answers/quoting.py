"""Answers a question with sentences quoted from the passages."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import regex  # for Unicode properties, which re lacks
from numpy.typing import NDArray

from answers.questions.english.answer_types import has_requested_kind_of_answer
from retrieval.passages import AnswerContext
from summaries.extractive.summarising import choose_sentences
from text.languages import guess_language, load_stop_words
from text.quotable_sentences import (
    MAX_SENTENCE_CHARS,
    LocatedSentence,
    find_quotable_sentences,
    find_truncation_end,
    is_fragment,
)
from text.words import fold_words, split_word_set, split_words

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder  # imports the engine

# A query and texts -> their vectors, of unit length.
Embed = Callable[[str, Sequence[str]], tuple[NDArray[np.float32], NDArray[np.float32]]]
Terms = frozenset[int]

MAX_EMBEDDED_SENTENCES: Final = 12  # sentences: about 400 tokens, embedded while the caller waits
# Weights of the parts of a sentence's relevance; its cosine to the query has weight 1.
TERMS_WEIGHT: Final = 0.6
PASSAGE_WEIGHT: Final = 0.5
ANSWER_TYPE_WEIGHT: Final = 0.2
# If the best sentence has less relevance, no sentence answers the question. Measured by `python -m
# benchmarks --only answers`, on passages embedded by all-MiniLM-L6-v2.
MIN_RELEVANCE: Final = 0.95
# share of the best sentence's relevance that any other quoted sentence needs
MIN_RELATIVE_RELEVANCE: Final = 0.94
FULL_LINE_SHARE: Final = 0.85  # of the longest line of a text: a shorter line was not wrapped

# Removed from English questions; the sparse encoder removes other stop words.
_QUESTION_WORDS: Final = split_word_set(
    "how many much what which when where why who whom whose do does did each"
)
_SENTENCE_END: Final = regex.compile(r"[\p{STerm}…:;][\"'”’»›)\]}」』*_]*$")
_TABLE_LINE: Final = regex.compile(r"^[^\n|]*+\|[^\n]*+$", regex.MULTILINE)
_TABLE_RULE: Final = regex.compile(r"[-:| \t]*+")  # below the first row in Markdown, or empty cells
_LEAD_IN_END: Final = regex.compile(r"[:：][\"'”’»›)\]}」』*_]*$")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A sentence that may be quoted, with its position in the context's text. ``known_terms``: its
    own, and those of the title, the heading and the passage up to it."""

    context: AnswerContext
    sentence: LocatedSentence
    terms: Terms
    known_terms: Terms


def select_quotations(
    query: str,
    contexts: Sequence[AnswerContext],
    *,
    max_sentences: int,
    embed: Embed,
    encoder: "Bm25Encoder",
) -> list[Quotation]:
    """Select the sentences that answer a query, or else rows of tables, without near-duplicates: at
    most ``max_sentences``, the best first. Empty if nothing reaches ``MIN_RELEVANCE``.

    A sentence's relevance is its cosine to the query, plus

    - ``TERMS_WEIGHT`` times the share of the query's terms that the sentence holds or that were
      said before it: "She kept it burning" does not repeat "the great storm". Terms are those of
      the sparse vectors, weighted by their inverse frequency in the sentences;
    - ``PASSAGE_WEIGHT`` times the cosine of its passage to the query;
    - ``ANSWER_TYPE_WEIGHT`` if it holds what the query asks for, such as a number for "how many".

    Only the ``MAX_EMBEDDED_SENTENCES`` sentences that are the most relevant without their cosine
    are embedded, and ``choose_sentences`` selects among them."""
    for find in (_find_sentences, _find_rows):
        candidates = [found for context in contexts for found in find(context, encoder)]
        if quoted := _select(query, candidates, max_sentences, embed, encoder):
            return quoted
    return []


def _select(
    query: str,
    candidates: Sequence[Quotation],
    max_sentences: int,
    embed: Embed,
    encoder: "Bm25Encoder",
) -> list[Quotation]:
    if not candidates:
        return []
    scores = _score_without_cosine(query, candidates, encoder)
    # The sort is stable, so ties keep the order of the contexts.
    order = sorted(range(len(candidates)), key=lambda row: -scores[row])[:MAX_EMBEDDED_SENTENCES]
    embedded = [candidates[row] for row in order]
    query_vector, vectors = embed(query, [each.sentence.text for each in embedded])
    relevance = vectors @ query_vector + np.array([scores[row] for row in order], dtype=np.float32)
    best = int(relevance.argmax())
    if relevance[best] < MIN_RELEVANCE:
        return []
    others = choose_sentences(vectors, relevance, max_sentences)
    min_relevance = MIN_RELATIVE_RELEVANCE * relevance[best]
    rows = [best, *(row for row in others if row != best and relevance[row] >= min_relevance)]
    return [embedded[row] for row in rows[:max_sentences]]


def _score_without_cosine(
    query: str, candidates: Sequence[Quotation], encoder: "Bm25Encoder"
) -> list[float]:
    weights = _weigh_terms(encoder.find_words(_remove_stop_words(query)), candidates)
    total = sum(weights.values())

    def score(candidate: Quotation) -> float:
        known = sum(weights[term] for term in weights.keys() & candidate.known_terms)
        return (
            TERMS_WEIGHT * (known / total if total else 0.0)
            + PASSAGE_WEIGHT * (candidate.context.passage.similarity or 0.0)
            + ANSWER_TYPE_WEIGHT * has_requested_kind_of_answer(query, candidate.sentence.text)
        )

    return [score(candidate) for candidate in candidates]


def _find_rows(context: AnswerContext, encoder: "Bm25Encoder") -> Iterator[Quotation]:
    headings = "\n".join(_list_headings(context))
    for header, row in find_table_rows(context.text):
        terms = _encode(encoder, row.text)
        yield Quotation(context, row, terms, terms | _encode(encoder, f"{headings}\n{header}"))


def _find_sentences(context: AnswerContext, encoder: "Bm25Encoder") -> Iterator[Quotation]:
    text, headings = context.text, _list_headings(context)
    said_before, read_until = _encode(encoder, "\n".join(headings)), 0
    for sentence in join_wrapped_lines(text, find_quotable_sentences(text)):
        if is_fragment(sentence.text) or is_heading(sentence.text, headings):
            continue
        said_before |= _encode(encoder, text[read_until : sentence.start])
        read_until = sentence.start
        terms = _encode(encoder, sentence.text)
        yield Quotation(context, sentence, terms, terms | said_before)


def _list_headings(context: AnswerContext) -> list[str]:
    passage = context.passage
    return [str(passage.hit.payload.get("artifact_title") or ""), passage.heading]


def find_table_rows(text: str) -> list[tuple[str, LocatedSentence]]:
    """The rows of tables with the first row of each, which names the columns. A row is a line whose
    cells are separated by ``|``; a table has two or more. Long rows are truncated."""
    rows: list[tuple[str, LocatedSentence]] = []
    header, last_end = "", -2
    for line in _TABLE_LINE.finditer(text):
        cells = line[0].strip(" \t|")
        if line.start() != last_end + 1:
            header = cells
        elif not _TABLE_RULE.fullmatch(cells):
            start = line.start() + line[0].index(cells)
            end = find_truncation_end(text, start, start + len(cells), MAX_SENTENCE_CHARS)
            rows.append((header, LocatedSentence(text[start:end], start, end)))
        last_end = line.end()
    return rows


def is_heading(text: str, headings: Collection[str]) -> bool:
    """Whether a text ends in a colon, so that the answer comes after it, or has no final mark and
    repeats words of a title or heading, apart from numbers: the heading itself, or the running head
    of a page."""
    if _LEAD_IN_END.search(text):
        return True
    if _SENTENCE_END.search(text):
        return False
    words = {word for word in fold_words(text) if not word.isdigit()}
    return any(words <= set(fold_words(heading)) for heading in headings)


def join_wrapped_lines(text: str, sentences: Sequence[LocatedSentence]) -> list[LocatedSentence]:
    """Join a sentence without a final mark to the next one where a full line ends between them: a
    wrapped line of a PDF may begin with a name or a number."""
    width = max((len(line) for line in text.splitlines()), default=0)
    spans: list[tuple[int, int]] = []
    last: LocatedSentence | None = None
    for each in sentences:
        if (
            last is not None
            and text[last.end : each.start] == "\n"
            and not _SENTENCE_END.search(last.text)
            and last.end - (text.rfind("\n", 0, last.end) + 1) >= FULL_LINE_SHARE * width
        ):
            spans[-1] = (spans[-1][0], each.end)
        else:
            spans.append((each.start, each.end))
        last = each
    return [LocatedSentence(text[start:end], start, end) for start, end in spans]


def _encode(encoder: "Bm25Encoder", text: str) -> Terms:
    return frozenset(encoder.encode_document(text).indices)


def _remove_stop_words(query: str) -> str:
    """The query without question words, or without the stop words of its language if that is not
    English; the whole query if only those are left."""
    language = guess_language(query, "en")
    stops = _QUESTION_WORDS if language == "en" else load_stop_words(language)
    words = [word.text for word in split_words(query)]
    return " ".join(word for word in words if word.lower() not in stops) or query


def _weigh_terms(terms: Terms, candidates: Sequence[Quotation]) -> Mapping[int, float]:
    """Each term's inverse document frequency, with sentences as documents.

    Source:
        Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    """
    counts = Counter(term for each in candidates for term in each.terms & terms)
    total = len(candidates)
    return {term: math.log1p((total - counts[term] + 0.5) / (counts[term] + 0.5)) for term in terms}

"""Finds the cited words for each sentence with a mark, and whether they support it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import strata_types
from indexing.stores import get_bm25_encoder
from retrieval.passages import AnswerContext
from text.quotable_sentences import LocatedSentence, find_quotable_sentences
from text.sentences import find_sentences
from text.words import fold_words

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder

_MARK: Final = re.compile(r"\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")  # [1], [1, 2]
# A passage supports a sentence if it has this share of the sentence's terms. Measured with
# `python -m benchmarks --only citations`: see docs/decisions/0062.
SUPPORTING_SHARE: Final = 0.2
_LEADING_MARKS: Final = re.compile(rf"\s*(?:{_MARK.pattern}\s*)+")


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """``unknown_marks`` counts the citation marks that name no passage."""

    citations: list[strata_types.Citation]
    unknown_marks: int


def find_citations(answer: str, contexts: Sequence[AnswerContext]) -> CitedAnswer:
    """Cite, for each marked sentence, the most similar sentence of each passage it names; of a
    passage that does not support the sentence, the whole text.

    A sentence without a mark gets no citation. A mark after the full stop belongs to the sentence
    before it.
    """
    by_number = {context.number: context for context in contexts}
    citations: list[strata_types.Citation] = []
    unknown_marks = 0
    for start, end, numbers in _find_marked_sentences(answer):
        known_numbers = [number for number in numbers if number in by_number]
        unknown_marks += len(numbers) - len(known_numbers)
        sentence_text = _MARK.sub(" ", answer[start:end])
        for number in known_numbers:
            context = by_number[number]
            is_supported = is_supported_by(sentence_text, context)
            cited = (
                _find_most_similar_sentence(sentence_text, context)
                if is_supported
                else _get_whole_text(context)
            )
            citations.append(make_citation(context, cited, start, end, is_supported=is_supported))
    return CitedAnswer(citations, unknown_marks)


def make_citation(
    context: AnswerContext,
    sentence: LocatedSentence,
    answer_start: int,
    answer_end: int,
    *,
    is_supported: bool,
) -> strata_types.Citation:
    payload = context.passage.hit.payload
    return {
        "number": context.number,
        "answer_start": answer_start,
        "answer_end": answer_end,
        "node_id": context.passage.id,
        "artifact_id": str(payload["artifact_id"]),
        "source_id": str(payload["source_id"]),
        "start_offset": payload["start_offset"] + sentence.start,
        "end_offset": payload["start_offset"] + sentence.end,
        "is_supported": is_supported,
    }


def is_supported_by(sentence_text: str, context: AnswerContext) -> bool:
    """Whether the passage or its title has enough of the sentence's terms: words without stop
    words and endings, as the index searches them."""
    hit = context.passage.hit
    passage_text = f"{hit.payload['artifact_title']}\n{context.text}"
    support = measure_support(sentence_text, passage_text, get_bm25_encoder(hit.spec.sparse))
    return support >= SUPPORTING_SHARE


def measure_support(sentence_text: str, passage_text: str, encoder: "Bm25Encoder") -> float:
    """The share of the sentence's terms that the passage has, from 0 to 1; 1 without a term."""
    terms = encoder.find_words(sentence_text)
    if not terms:
        return 1.0
    return len(terms.intersection(encoder.encode_document(passage_text).indices)) / len(terms)


def _find_marked_sentences(answer: str) -> Iterator[tuple[int, int, list[int]]]:
    """Yield start, end and the distinct mark numbers of each sentence, in order."""
    spans: list[tuple[int, int]] = []
    for found in find_sentences(answer):
        start, end = found.start, found.end
        leading = _LEADING_MARKS.match(answer, start, end)
        if leading and spans:
            spans[-1] = (spans[-1][0], start + len(leading[0].rstrip()))
            start = leading.end()
        if answer[start:end].strip():
            spans.append((start, end))
    for start, end in spans:
        numbers = [
            int(number)
            for mark in _MARK.finditer(answer, start, end)
            for number in re.findall(r"\d+", mark[1])
        ]
        yield start, end, list(dict.fromkeys(numbers))


def _find_most_similar_sentence(sentence_text: str, context: AnswerContext) -> LocatedSentence:
    """Find the context's sentence with the highest Dice coefficient of shared words. The first one
    wins a tie; without sentences it is the whole text.

    Source:
        Dice, "Measures of the Amount of Ecologic Association Between Species", Ecology 26(3),
        1945.
    """
    words = set(fold_words(sentence_text))

    def dice_coefficient(sentence: LocatedSentence) -> float:
        sentence_words = set(fold_words(sentence.text))
        return 2 * len(words & sentence_words) / max(len(words) + len(sentence_words), 1)

    sentences = find_quotable_sentences(context.text)
    return max(sentences, key=dice_coefficient, default=_get_whole_text(context))


def _get_whole_text(context: AnswerContext) -> LocatedSentence:
    return LocatedSentence(context.text, 0, len(context.text))

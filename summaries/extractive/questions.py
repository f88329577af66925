"""Generate questions that a chunk answers from its own sentences and key phrases."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle, zip_longest

import regex  # for scripts and Unicode properties, which re lacks

from summaries.extractive.languages import guess_language, is_in_unspaced_script
from summaries.extractive.phrases import find_key_phrases
from summaries.extractive.question_wordings import (
    CONFIRMATION_SUFFIXES,
    FALLBACK_WORDING,
    QUESTION_MARKS,
    QUESTION_WORDINGS,
    QuestionWording,
)
from summaries.extractive.sentences import (
    UNSPACED_SCRIPTS,
    find_quotable_sentences,
    find_truncation_end,
    is_fragment,
)

MAX_QUOTED_CHARS = 200  # characters of a sentence within a question
MAX_TOPIC_CHARS = 100  # of a heading or title
MIN_KEY_PHRASE_CHARS = 3  # characters
# Phrases of one sentence per question. With fewer, questions find their chunk less often.
PHRASES_PER_QUESTION = 3

_TABLE_CELL_BORDER = regex.compile(r"\s*\|[\s|:-]*")
_MARKUP = regex.compile(r"^#{1,6}\s+|[*`]+|(?<!\w)_+|_+(?!\w)")
_TRAILING_PUNCTUATION = ".。．！？!?…‥;؛।։:,，、"
_QUESTION_END = regex.compile(r"[?？؟⁇⁈⁉]\W*$")
_CROSS_REFERENCE = regex.compile(
    r"\(?\b(?:pages?|pp?\.|fig(?:ure|\.)?s?|tables?|tab\.|chapters?|sections?|seiten?|abb\.)\s*"
    r"\d[\d.–-]*\)?",
    regex.IGNORECASE,
)
_LETTER = regex.compile(r"\p{L}")
_FILE_EXTENSION = regex.compile(
    r"\.(?:pdf|docx?|odt|rtf|pptx?|xlsx?|csv|epub|html?|md|rst|txt|json|xml|png|jpe?g)$",
    regex.IGNORECASE,
)
_TOPIC_WORD = regex.compile(
    rf"(?<![\p{{L}}\d])\p{{L}}{{3,}}(?![\p{{L}}\d])|[{UNSPACED_SCRIPTS}]{{2}}"
)


def propose_questions(
    text: str, *, heading: str, title: str, count: int, language: str = "en"
) -> list[str]:
    """Return at most ``count`` different questions, the most informative first; none for a blank
    text.

    Two forms alternate: a sentence turned into a question, which is closest to what people ask,
    and a question about a sentence's key phrases, which also names the heading or title, because
    a chunk often leaves its topic out. ``language`` (ISO 639-1) is assumed if the words do not
    show the language. In a language without wordings, a question is just its phrases; in scripts
    without spaces, it is a sentence.
    """
    sentences = [_strip_markup(sentence.text) for sentence in find_quotable_sentences(text)]
    sentences = [sentence for sentence in sentences if _LETTER.search(sentence)] or sentences
    topics = _extract_topics(heading, title)
    if is_in_unspaced_script(text):
        candidates: Iterator[str] = (
            _make_unspaced_confirmation_question(sentence) for sentence in sentences
        )
    else:
        language = guess_language(text, language)
        candidates = _generate_questions(sentences, topics, language)
    distinct: dict[str, str] = {}
    for question in candidates:
        if len(distinct) >= count:
            break
        distinct.setdefault(question.casefold(), question)
    return list(distinct.values())


def _generate_questions(sentences: list[str], topics: list[str], language: str) -> Iterator[str]:
    wording = QUESTION_WORDINGS.get(language, FALLBACK_WORDING)
    phrases = _choose_distinct_phrases(sentences, language)
    phrases_by_sentence = _find_phrases_by_sentence(sentences, phrases)
    weights = {phrase: 1 / rank for rank, phrase in enumerate(phrases, start=1)}
    ranked_sentences = sorted(
        range(len(sentences)),
        key=lambda n: -sum(weights[phrase] for phrase in phrases_by_sentence[n]),
    )
    confirmation_questions = (
        _make_confirmation_question(sentences[n], wording) for n in ranked_sentences
    )
    groups = [
        phrases_by_sentence[n][:PHRASES_PER_QUESTION]
        for n in ranked_sentences
        if phrases_by_sentence[n]
    ]
    groups += [
        phrases_by_sentence[n][PHRASES_PER_QUESTION : 2 * PHRASES_PER_QUESTION]
        for n in ranked_sentences
        if len(phrases_by_sentence[n]) > PHRASES_PER_QUESTION
    ]
    groups += [(phrase,) for phrase in phrases]
    phrase_questions = _generate_phrase_questions(dict.fromkeys(groups), topics, wording)
    mark = QUESTION_MARKS.get(language, "?")
    for question in chain.from_iterable(zip_longest(confirmation_questions, phrase_questions)):
        if question:
            yield question if mark == "?" else question.replace("?", mark)


def _generate_phrase_questions(
    groups: Iterable[tuple[str, ...]], topics: list[str], wording: QuestionWording
) -> Iterator[str]:
    forms = cycle((wording.related, wording.about, wording.role))
    places = cycle([wording.where.format(topic=topic) for topic in topics] or [""])
    for group, form, where in zip(groups, forms, places, strict=False):
        yield (form if len(group) > 1 else wording.about).format(
            phrases=_join_phrases(group, wording),
            first=group[0],
            others=_join_phrases(group[1:], wording),
            where=where,
        )


def _join_phrases(phrases: Sequence[str], wording: QuestionWording) -> str:
    if len(phrases) < 2:
        return "".join(phrases)
    *before, last = phrases
    conjunction = f" {wording.conjunction} " if wording.conjunction else ", "
    return ", ".join(before) + conjunction + last


def _make_confirmation_question(sentence: str, wording: QuestionWording) -> str:
    if _QUESTION_END.search(sentence):
        return sentence
    is_label = is_fragment(sentence)
    sentence = _truncate(sentence, MAX_QUOTED_CHARS)
    if is_label:
        return f"{sentence}?"
    first, _, rest = sentence.partition(" ")
    if first.lower() in wording.openers:
        return wording.confirm.format(sentence=f"{first.lower()} {rest}")
    return wording.confirm_any.format(sentence=sentence)


def _make_unspaced_confirmation_question(sentence: str) -> str:
    if _QUESTION_END.search(sentence):
        return sentence
    script = "other"
    if regex.search(r"[\p{Hiragana}\p{Katakana}]", sentence):
        script = "kana"
    elif regex.search(r"\p{Han}", sentence):
        script = "han"
    elif regex.search(r"\p{Thai}", sentence):
        script = "thai"
    return _truncate(sentence, MAX_QUOTED_CHARS) + CONFIRMATION_SUFFIXES[script]


def _choose_distinct_phrases(sentences: list[str], language: str) -> list[str]:
    """Choose key phrases, skipping those that mostly repeat the words of an earlier one."""
    without_references = [_CROSS_REFERENCE.sub(" ", sentence) for sentence in sentences]
    chosen: list[str] = []
    chosen_word_sets: list[set[str]] = []
    for phrase in find_key_phrases(without_references, language=language, count=30):
        words = set(phrase.lower().split())
        if len(phrase) < MIN_KEY_PHRASE_CHARS:
            continue
        if not any(
            others <= words or 2 * len(words & others) > len(words) for others in chosen_word_sets
        ):
            chosen.append(phrase)
            chosen_word_sets.append(words)
    return chosen


def _find_phrases_by_sentence(sentences: list[str], phrases: list[str]) -> list[tuple[str, ...]]:
    """For each sentence, the phrases it contains, in their ranking order."""
    lowered = [sentence.lower() for sentence in sentences]
    return [tuple(each for each in phrases if each.lower() in sentence) for sentence in lowered]


def _extract_topics(heading: str, title: str) -> list[str]:
    """The heading and title that can serve as topics, without file extensions; bare numbers are
    dropped."""
    topics = []
    for given in (heading, title):
        topic = _FILE_EXTENSION.sub("", _strip_markup(given))
        if " " not in topic:
            topic = topic.replace("_", " ").replace("-", " ")
        if _TOPIC_WORD.search(topic) and topic not in topics:
            topics.append(_truncate(topic, MAX_TOPIC_CHARS))
    return topics


def _strip_markup(text: str) -> str:
    """Put a text on one line, without Markdown table borders and emphasis."""
    line = " ".join(_MARKUP.sub("", _TABLE_CELL_BORDER.sub(", ", text)).split()).strip(" ,")
    return line or " ".join(text.split())


def _truncate(text: str, limit: int) -> str:
    return (
        text[: find_truncation_end(text, 0, len(text), limit)].rstrip(_TRAILING_PUNCTUATION + " ")
        or text[:limit]
    )

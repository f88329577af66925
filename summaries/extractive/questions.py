"""Questions that a chunk answers, made of its own sentences and key phrases."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle, zip_longest

import regex  # for scripts and Unicode properties, which re lacks

from summaries.extractive.languages import guess_language, is_unspaced
from summaries.extractive.phrases import find_key_phrases
from summaries.extractive.sentences import UNSPACED, clip_end, is_fragment, quotable_sentences
from summaries.extractive.wordings import (
    CONFIRMING_ENDS,
    PLAIN,
    QUESTION_MARKS,
    WORDINGS,
    Wording,
)

MAX_SENTENCE = 200  # characters of a sentence within a question
MAX_TOPIC = 100  # of a heading or title
MIN_PHRASE = 3  # characters
PHRASES = 3  # of one sentence in one question: with fewer, questions find their chunk less often

_CELL = regex.compile(r"\s*\|[\s|:-]*")
_MARKUP = regex.compile(r"^#{1,6}\s+|[*`]+|(?<!\w)_+|_+(?!\w)")
_STOPS = ".。．！？!?…‥;؛।։:,，、"
_QUESTION = regex.compile(r"[?？؟⁇⁈⁉]\W*$")
_POINTER = regex.compile(
    r"\(?\b(?:pages?|pp?\.|fig(?:ure|\.)?s?|tables?|tab\.|chapters?|sections?|seiten?|abb\.)\s*"
    r"\d[\d.–-]*\)?",
    regex.IGNORECASE,
)
_LETTER = regex.compile(r"\p{L}")
_EXTENSION = regex.compile(
    r"\.(?:pdf|docx?|odt|rtf|pptx?|xlsx?|csv|epub|html?|md|rst|txt|json|xml|png|jpe?g)$",
    regex.IGNORECASE,
)
_NAMING_WORD = regex.compile(rf"(?<![\p{{L}}\d])\p{{L}}{{3,}}(?![\p{{L}}\d])|[{UNSPACED}]{{2}}")


def propose_questions(
    text: str, *, heading: str, title: str, count: int, language: str = "en"
) -> list[str]:
    """At most ``count`` different questions, those that say most first; none for a blank text.

    In turn a sentence put as a question, which comes nearest to what someone would ask, and a
    question about the key phrases a sentence holds, which also names the heading or title: what
    is asked leaves out what a chunk takes for granted. ``language`` (ISO 639-1) is that of texts
    whose words do not tell; without wording for a language, questions are its phrases alone, and
    in scripts that put no spaces between words, its sentences.
    """
    sentences = [_plain(sentence.text) for sentence in quotable_sentences(text)]
    sentences = [sentence for sentence in sentences if _LETTER.search(sentence)] or sentences
    topics = _topics(heading, title)
    if is_unspaced(text):
        asked: Iterator[str] = (_confirm_unspaced(sentence) for sentence in sentences)
    else:
        language = guess_language(text, language)
        asked = _ask(sentences, topics, language)
    distinct: dict[str, str] = {}
    for question in asked:
        if len(distinct) >= count:
            break
        distinct.setdefault(question.casefold(), question)
    return list(distinct.values())


def _ask(sentences: list[str], topics: list[str], language: str) -> Iterator[str]:
    wording = WORDINGS.get(language, PLAIN)
    phrases = _choose_phrases(sentences, language)
    holding = _phrases_held(sentences, phrases)
    weights = {phrase: 1 / rank for rank, phrase in enumerate(phrases, start=1)}
    telling = sorted(
        range(len(sentences)), key=lambda n: -sum(weights[phrase] for phrase in holding[n])
    )
    confirming = (_confirm(sentences[n], wording) for n in telling)
    groups = [holding[n][:PHRASES] for n in telling if holding[n]]
    groups += [holding[n][PHRASES : 2 * PHRASES] for n in telling if len(holding[n]) > PHRASES]
    groups += [(phrase,) for phrase in phrases]
    about_phrases = _ask_about(dict.fromkeys(groups), topics, wording)
    mark = QUESTION_MARKS.get(language, "?")
    for question in chain.from_iterable(zip_longest(confirming, about_phrases)):
        if question:
            yield question if mark == "?" else question.replace("?", mark)


def _ask_about(
    groups: Iterable[tuple[str, ...]], topics: list[str], wording: Wording
) -> Iterator[str]:
    forms = cycle((wording.related, wording.about, wording.role))
    places = cycle([wording.where.format(topic=topic) for topic in topics] or [""])
    for group, form, where in zip(groups, forms, places, strict=False):
        yield (form if len(group) > 1 else wording.about).format(
            phrases=_enumerate(group, wording),
            first=group[0],
            others=_enumerate(group[1:], wording),
            where=where,
        )


def _enumerate(phrases: Sequence[str], wording: Wording) -> str:
    if len(phrases) < 2:
        return "".join(phrases)
    *before, last = phrases
    conjunction = f" {wording.conjunction} " if wording.conjunction else ", "
    return ", ".join(before) + conjunction + last


def _confirm(sentence: str, wording: Wording) -> str:
    if _QUESTION.search(sentence):
        return sentence
    is_label = is_fragment(sentence)
    sentence = _clip(sentence, MAX_SENTENCE)
    if is_label:
        return f"{sentence}?"
    first, _, rest = sentence.partition(" ")
    if first.lower() in wording.openers:
        return wording.confirm.format(sentence=f"{first.lower()} {rest}")
    return wording.confirm_any.format(sentence=sentence)


def _confirm_unspaced(sentence: str) -> str:
    if _QUESTION.search(sentence):
        return sentence
    script = "other"
    if regex.search(r"[\p{Hiragana}\p{Katakana}]", sentence):
        script = "kana"
    elif regex.search(r"\p{Han}", sentence):
        script = "han"
    elif regex.search(r"\p{Thai}", sentence):
        script = "thai"
    return _clip(sentence, MAX_SENTENCE) + CONFIRMING_ENDS[script]


def _choose_phrases(sentences: list[str], language: str) -> list[str]:
    """Key phrases that do not mostly repeat the words of one before."""
    pointed = [_POINTER.sub(" ", sentence) for sentence in sentences]
    chosen: list[str] = []
    seen: list[set[str]] = []
    for phrase in find_key_phrases(pointed, language=language, count=30):
        words = set(phrase.lower().split())
        if len(phrase) < MIN_PHRASE:
            continue
        if not any(others <= words or 2 * len(words & others) > len(words) for others in seen):
            chosen.append(phrase)
            seen.append(words)
    return chosen


def _phrases_held(sentences: list[str], phrases: list[str]) -> list[tuple[str, ...]]:
    """For each sentence the phrases that stand in it, the most telling first."""
    lowered = [sentence.lower() for sentence in sentences]
    return [tuple(each for each in phrases if each.lower() in sentence) for sentence in lowered]


def _topics(heading: str, title: str) -> list[str]:
    """What of heading and title names something: no numbers, no endings of files."""
    topics = []
    for given in (heading, title):
        topic = _EXTENSION.sub("", _plain(given))
        if " " not in topic:
            topic = topic.replace("_", " ").replace("-", " ")
        if _NAMING_WORD.search(topic) and topic not in topics:
            topics.append(_clip(topic, MAX_TOPIC))
    return topics


def _plain(text: str) -> str:
    """On one line, without the marks of tables and emphasis."""
    line = " ".join(_MARKUP.sub("", _CELL.sub(", ", text)).split()).strip(" ,")
    return line or " ".join(text.split())


def _clip(text: str, limit: int) -> str:
    return text[: clip_end(text, 0, len(text), limit)].rstrip(_STOPS + " ") or text[:limit]

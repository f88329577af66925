"""Extract the key phrases of a text with RAKE (rapid automatic keyword extraction)."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby

import regex  # for Unicode properties, which re lacks

from summaries.extractive.languages import load_stop_words

MAX_PHRASE_WORDS = 4
MAX_CHARS_READ = 4_000  # of a text: the time it takes grows with it

_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:['’_+./-][\p{L}\p{N}\p{M}]+)*|\S")
_NUMBER_OR_PUNCTUATION = regex.compile(r"[\p{N}\W]+")


def find_key_phrases(sentences: list[str], *, language: str, count: int) -> list[str]:
    """Return at most ``count`` phrases of one to four words, spelt as in the text, the highest
    RAKE score first: the sum of degree / frequency of its words.

    Source:
        Rose, Engel, Cramer and Cowley, "Automatic keyword extraction from individual documents",
        in Text Mining: Applications and Theory, Wiley 2010.
    """
    read, length = [], 0
    for sentence in sentences:
        if length >= MAX_CHARS_READ:
            break
        read.append(sentence[: MAX_CHARS_READ - length])
        length += len(sentence)
    stop_words = load_stop_words(language)
    phrases = {phrase for sentence in read for phrase in _split_phrases(sentence, stop_words)}
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for phrase in phrases:
        frequency.update(phrase)
        for word in phrase:
            degree[word] += len(phrase)
    scores = {
        " ".join(each): sum(degree[word] / frequency[word] for word in each) for each in phrases
    }
    best = sorted(scores, key=lambda phrase: (scores[phrase], phrase), reverse=True)[:count]
    text = "\n".join(read)
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters are longer in small
        return best
    places = ((phrase, lowered.find(phrase)) for phrase in best)
    return [text[place : place + len(phrase)] if place >= 0 else phrase for phrase, place in places]


def _split_phrases(sentence: str, stop_words: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the runs of words, in lower case, between stop words, punctuation and bare numbers."""

    def is_content(word: str) -> bool:
        return word not in stop_words and not _NUMBER_OR_PUNCTUATION.fullmatch(word)

    words = (word.lower() for word in _WORD.findall(sentence))
    for is_phrase, run in groupby(words, is_content):
        phrase = tuple(run)
        if is_phrase and len(phrase) <= MAX_PHRASE_WORDS:
            yield phrase

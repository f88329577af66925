"""Extract the key phrases of a text with RAKE (rapid automatic keyword extraction)."""

import regex  # for Unicode properties, which re lacks

from core.import_lock import import_lock
from summaries.extractive.languages import load_stop_words

MAX_PHRASE_WORDS = 4  # of a phrase
MAX_CHARS_READ = 4_000  # of a text that are read: the time it takes grows with it
PHRASE_DELIMITER = "."  # stands for whatever is no word: a phrase ends there

_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:['’_+./-][\p{L}\p{N}\p{M}]+)*|\S")
_NUMBER = regex.compile(r"[\p{N}\W]+")


def find_key_phrases(sentences: list[str], *, language: str, count: int) -> list[str]:
    """Return at most ``count`` phrases of one to four words, spelt as in the text, the highest
    RAKE score first.

    Source:
        Rose, Engel, Cramer and Cowley, "Automatic keyword extraction from individual documents",
        in Text Mining: Applications and Theory, Wiley 2010.
    """
    with import_lock:  # nltk comes with it: not when Django starts
        from rake_nltk import Rake

    read, length = [], 0
    for sentence in sentences:
        if length >= MAX_CHARS_READ:
            break
        read.append(sentence[: MAX_CHARS_READ - length])
        length += len(sentence)
    rake = Rake(  # keeps what it read: one for each text
        stopwords={
            PHRASE_DELIMITER,
            *load_stop_words(language),
        },  # none at all, and nltk looks for its own
        punctuations={PHRASE_DELIMITER},
        word_tokenizer=_split_words,
        max_length=MAX_PHRASE_WORDS,
        include_repeated_phrases=False,
    )
    rake.extract_keywords_from_sentences(read)
    text = "\n".join(read)
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters are longer in small
        return rake.get_ranked_phrases()[:count]
    places = ((phrase, lowered.find(phrase)) for phrase in rake.get_ranked_phrases()[:count])
    return [text[place : place + len(phrase)] if place >= 0 else phrase for phrase, place in places]


def _split_words(sentence: str) -> list[str]:
    """Split a sentence into words; replace punctuation and bare numbers by the delimiter."""
    words = _WORD.findall(sentence)
    return [PHRASE_DELIMITER if _NUMBER.fullmatch(word) else word for word in words]

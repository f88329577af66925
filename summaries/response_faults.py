"""What may be wrong with a text that a model wrote, although it matches its schema: repetitions,
names that its input does not have, another language, more than was asked for.

A fault is a sentence for the model, and for people if rules wrote the text instead. The checks are
lenient, because a wrong alarm costs a good text.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import regex  # for Unicode properties, which re lacks

from text.languages import (
    find_languages_of_stop_word,
    guess_language,
    uses_latin_letters,
)
from text.quotable_sentences import (
    MAX_SENTENCE_CHARS,
    find_truncation_end,
    is_fragment,
)
from text.sentences import find_sentences

MIN_CONTENT_WORDS: Final = 3  # fewer do not tell what a text is about
MIN_SHARED_WORDS: Final = 0.3  # of the content words; those of good summaries share 0.6 or more
PREFIX_CHARS: Final = 4  # words with the same beginning are forms of one word
RUN_WORDS: Final = 8
LONG_TEXT_WORDS: Final = 30  # different content words; of a shorter text, a few say everything
MIN_SAID_WORDS: Final = 4  # of a long text, in its summary
TASK_WORDS: Final = frozenset({"docu", "summ"})  # what a model says of its task, not of the text
MAX_NAMED: Final = 5  # names in a fault
ASK_AGAIN: Final = "Give the whole answer again without these faults."
# In these words prompts ask for it. A prompt without them may ask for another language.
LANGUAGE_REQUESTS: Final = ("language of the", "in its language")
# In German every noun has a capital letter, and a summary may have other nouns than its text.
CAPITALISES_NOUNS: Final = "de"

_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}]++(?:[-'’.][\p{L}\p{M}\p{N}]++)*+")
_PART: Final = regex.compile(r"[\p{L}\p{M}\p{N}]++")
_CAPITAL: Final = regex.compile(r"\p{Lu}")
_INNER_CAPITAL: Final = regex.compile(r"\p{L}.*\p{Lu}|\p{Lu}.*\p{N}")  # NadD, SACC-111, NMT
_POSSESSIVE: Final = regex.compile(r"['’]s?$")


def asks_for_own_language(prompt: str) -> bool:
    """Whether the prompt wants an answer in the language of the text."""
    return any(words in " ".join(prompt.split()) for words in LANGUAGE_REQUESTS)


def find_summary_fault(
    summary: str, text: str, sentence_count: int, *, is_own_language: bool
) -> str | None:
    """What to tell the model about its summary of ``text``. With ``is_own_language``, the summary
    has to be in the text's language."""
    faults = find_lasting_faults(summary, text, is_own_language=is_own_language)
    sentences = _list_sentences(summary)
    if len(_drop_repeated(sentences)) < len(sentences):
        faults.append("It says the same sentence more than once.")
    if len(sentences) > sentence_count or len(summary) > sentence_count * MAX_SENTENCE_CHARS:
        faults.append(f"It is longer than {sentence_count} short sentences.")
    return " ".join([*faults, ASK_AGAIN]) if faults else None


def shorten_summary(summary: str, sentence_count: int) -> str:
    """At most so many sentences, each once."""
    sentences = _drop_repeated(_list_sentences(summary))
    whole = [
        each for each in sentences if not is_fragment(each)
    ] or sentences  # the last is cut off
    kept = " ".join(whole[:sentence_count])
    return kept[: find_truncation_end(kept, 0, len(kept), sentence_count * MAX_SENTENCE_CHARS)]


def find_lasting_faults(summary: str, text: str, *, is_own_language: bool) -> list[str]:
    """Those because of which sentences of the text itself are the better summary."""
    faults = find_untrue_parts(summary, text, is_own_language=is_own_language)
    if _has_only_fragments(summary) and not _has_only_fragments(text):
        faults.append("It is no whole sentence.")
    if repeats_words(" ".join(_drop_repeated(_list_sentences(summary)))):
        faults.append("It repeats itself.")
    if says_too_little(summary, text):
        faults.append("It says hardly anything of the text.")
    return faults


def find_untrue_parts(written: str, text: str, *, is_own_language: bool) -> list[str]:
    if is_in_other_language(written, text):  # its words tell nothing
        return ["It is not in the language of the text."] if is_own_language else []
    faults = []
    if is_about_something_else(written, text):
        faults.append("It does not say what the text says.")
    if names := find_foreign_names(written, text):
        named = ", ".join(names[:MAX_NAMED])
        faults.append(f"It has names that the text does not have: {named}.")
    return faults


def repeats_words(written: str) -> bool:
    """Whether as many words as of half a sentence come twice, in the same order."""
    words = _split_words(written)
    runs = [tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)]
    return len(set(runs)) < len(runs)


def says_too_little(summary: str, text: str) -> bool:
    """Whether a summary of a long text has few of its words, as "The document cannot be summarised"
    has."""
    if is_in_other_language(summary, text) or not uses_latin_letters(text):
        return False
    beginnings = {word[:PREFIX_CHARS] for word in _list_content_words(text)}
    said = {word[:PREFIX_CHARS] for word in _list_content_words(summary)} & beginnings
    return len(beginnings) >= LONG_TEXT_WORDS and len(said - TASK_WORDS) < MIN_SAID_WORDS


def is_in_other_language(written: str, text: str) -> bool:
    scripts = {uses_latin_letters(written), uses_latin_letters(text)}
    if scripts == {True, False}:
        return True
    language = guess_language(text, "")
    return bool(language) and guess_language(written, language) != language


def is_about_something_else(written: str, text: str) -> bool:
    """Whether hardly a word of it occurs in the text, in any form."""
    words = _list_content_words(written)
    if len(words) < MIN_CONTENT_WORDS or not uses_latin_letters(written):
        return False
    beginnings = {word[:PREFIX_CHARS] for word in _split_words(text)}
    shared_count = sum(word[:PREFIX_CHARS] in beginnings for word in words)
    return shared_count < MIN_SHARED_WORDS * len(words)


def find_foreign_names(written: str, text: str) -> list[str]:
    """The names that no word of the text resembles, each once. A name has a capital letter, and
    does not begin a sentence unless it has another one or a number."""
    words = _split_words(text)
    known = {*words, *(word[:PREFIX_CHARS] for word in words if len(word) >= PREFIX_CHARS)}
    initials = "".join(word[0] for word in words)
    return [
        name
        for name in dict.fromkeys(_list_names(written))
        if not _is_known(name.casefold(), known, initials)
    ]


def _is_known(name: str, known: set[str], initials: str) -> bool:
    parts = _PART.findall(name)
    return (
        all(part in known or part[:PREFIX_CHARS] in known for part in parts)
        or "".join(parts) in known
        or name.removesuffix("s") in initials  # an abbreviation of words of the text
    )


def _list_names(written: str) -> Iterable[str]:
    is_german = guess_language(written, "") == CAPITALISES_NOUNS
    for sentence in _list_sentences(written):
        for number, match in enumerate(_WORD.finditer(sentence)):
            word = _POSSESSIVE.sub("", match.group())
            before = sentence[: match.start()].rstrip(" \"'“‘«(")
            is_marked = _INNER_CAPITAL.search(word) is not None
            begins = number == 0 or before.endswith((":", "?", "!", ";"))
            if is_marked or (_CAPITAL.match(word) and len(word) > 1 and not (begins or is_german)):
                yield word


def _has_only_fragments(text: str) -> bool:
    return all(map(is_fragment, _list_sentences(text)))


def _list_sentences(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find_sentences(text)]


def _drop_repeated(sentences: Sequence[str]) -> list[str]:
    """Those with the same words, in any order, once."""
    distinct: dict[frozenset[str], str] = {}
    for sentence in sentences:
        distinct.setdefault(frozenset(_split_words(sentence)), sentence)
    return list(distinct.values())


def _list_content_words(text: str) -> list[str]:
    return [
        word
        for word in _split_words(text)
        if len(word) >= PREFIX_CHARS and not find_languages_of_stop_word(word)
    ]


def _split_words(text: str) -> list[str]:
    return _PART.findall(text.casefold())

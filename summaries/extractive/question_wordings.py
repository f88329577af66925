"""Question templates by language. To support a language, add its templates here."""

from dataclasses import dataclass


def _split_words_to_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class QuestionWording:
    """Question templates of one language. ``where`` names a heading or title, and replaces
    ``{where}`` in the other templates. Values are inserted without article or inflection."""

    openers: frozenset[str]  # first words that ``confirm`` writes in lower case
    conjunction: str
    where: str
    about: str  # {phrases}
    related: str  # two or more {phrases}
    role: str  # {first} and the {others}
    confirm: str  # {sentence} that begins with an opener
    confirm_any: str  # any other {sentence}


QUESTION_WORDINGS = {
    "en": QuestionWording(
        openers=_split_words_to_set(
            "the a an this that these those it they we he she there in his her its their our most "
            "many some"
        ),
        conjunction="and",
        where=" in “{topic}”",
        about="What is known about {phrases}{where}?",
        related="How are {phrases} related{where}?",
        role="What is the role of {first} in {others}{where}?",
        confirm="Is it true that {sentence}?",
        confirm_any="{sentence}, is that right?",
    ),
    "de": QuestionWording(
        openers=frozenset(),
        conjunction="und",
        where=" in „{topic}“",
        about="Was ist über {phrases}{where} bekannt?",
        related="Wie hängen {phrases}{where} zusammen?",
        role="Welche Rolle spielt {first} bei {others}{where}?",
        confirm="",
        confirm_any="{sentence}, stimmt das?",
    ),
    "fr": QuestionWording(
        openers=frozenset(),
        conjunction="et",
        where=" dans « {topic} »",
        about="Que sait-on sur {phrases}{where} ?",
        related="Quel est le lien entre {phrases}{where} ?",
        role="Quel rôle joue {first} pour {others}{where} ?",
        confirm="",
        confirm_any="{sentence}, est-ce vrai ?",
    ),
    "es": QuestionWording(
        openers=_split_words_to_set("el la los las un una este esta estos estas se hay en"),
        conjunction="y",
        where=" en «{topic}»",
        about="¿Qué se sabe sobre {phrases}{where}?",
        related="¿Qué relación hay entre {phrases}{where}?",
        role="¿Qué papel tiene {first} en {others}{where}?",
        confirm="¿Es cierto que {sentence}?",
        confirm_any="{sentence}, ¿es cierto?",
    ),
    "it": QuestionWording(
        openers=_split_words_to_set("il lo la i gli le un una questo questa questi queste"),
        conjunction="e",
        where=" in «{topic}»",
        about="Che cosa si sa su {phrases}{where}?",
        related="Che relazione c'è tra {phrases}{where}?",
        role="Che ruolo ha {first} per {others}{where}?",
        confirm="È vero che {sentence}?",
        confirm_any="{sentence}, è vero?",
    ),
    "pt": QuestionWording(
        openers=_split_words_to_set("o a os as um uma este esta estes estas"),
        conjunction="e",
        where=" em «{topic}»",
        about="O que se sabe sobre {phrases}{where}?",
        related="Qual é a relação entre {phrases}{where}?",
        role="Que papel tem {first} em {others}{where}?",
        confirm="É verdade que {sentence}?",
        confirm_any="{sentence}, é verdade?",
    ),
    "nl": QuestionWording(
        openers=frozenset(),
        conjunction="en",
        where=" in ‘{topic}’",
        about="Wat is er bekend over {phrases}{where}?",
        related="Hoe hangen {phrases}{where} samen?",
        role="Welke rol speelt {first} bij {others}{where}?",
        confirm="",
        confirm_any="{sentence}, klopt dat?",
    ),
}

# For any other language: phrases of the text and a question mark, without grammar.
FALLBACK_WORDING = QuestionWording(
    openers=frozenset(),
    conjunction="",
    where=" – {topic}",
    about="{phrases}{where}?",
    related="{phrases}{where}?",
    role="{first}: {others}{where}?",
    confirm="",
    confirm_any="{sentence}?",
)

# Appended to a sentence, these turn it into a yes-no question.
CONFIRMATION_SUFFIXES = {"han": "吗？", "kana": "か？", "thai": "ใช่ไหม", "other": "?"}

QUESTION_MARKS = {"ar": "؟", "fa": "؟", "el": ";"}

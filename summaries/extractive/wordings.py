"""How a question is put, by language; adding a language is adding its lines here."""

from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Wording:
    """``where`` names a heading or title and stands for ``{where}`` in the others, if there is
    one. Whatever fills them takes no article and no ending."""

    openers: frozenset[str]  # a sentence that begins so goes into ``confirm`` in small letters
    conjunction: str
    where: str
    about: str  # {phrases}
    related: str  # two or more {phrases}
    role: str  # {first} and the {others}
    confirm: str  # {sentence} that begins with an opener
    confirm_any: str  # any other {sentence}


WORDINGS = {
    "en": Wording(
        openers=_words(
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
    "de": Wording(
        openers=frozenset(),
        conjunction="und",
        where=" in „{topic}“",
        about="Was ist über {phrases}{where} bekannt?",
        related="Wie hängen {phrases}{where} zusammen?",
        role="Welche Rolle spielt {first} bei {others}{where}?",
        confirm="",
        confirm_any="{sentence}, stimmt das?",
    ),
    "fr": Wording(
        openers=frozenset(),
        conjunction="et",
        where=" dans « {topic} »",
        about="Que sait-on sur {phrases}{where} ?",
        related="Quel est le lien entre {phrases}{where} ?",
        role="Quel rôle joue {first} pour {others}{where} ?",
        confirm="",
        confirm_any="{sentence}, est-ce vrai ?",
    ),
    "es": Wording(
        openers=_words("el la los las un una este esta estos estas se hay en"),
        conjunction="y",
        where=" en «{topic}»",
        about="¿Qué se sabe sobre {phrases}{where}?",
        related="¿Qué relación hay entre {phrases}{where}?",
        role="¿Qué papel tiene {first} en {others}{where}?",
        confirm="¿Es cierto que {sentence}?",
        confirm_any="{sentence}, ¿es cierto?",
    ),
    "it": Wording(
        openers=_words("il lo la i gli le un una questo questa questi queste"),
        conjunction="e",
        where=" in «{topic}»",
        about="Che cosa si sa su {phrases}{where}?",
        related="Che relazione c'è tra {phrases}{where}?",
        role="Che ruolo ha {first} per {others}{where}?",
        confirm="È vero che {sentence}?",
        confirm_any="{sentence}, è vero?",
    ),
    "pt": Wording(
        openers=_words("o a os as um uma este esta estes estas"),
        conjunction="e",
        where=" em «{topic}»",
        about="O que se sabe sobre {phrases}{where}?",
        related="Qual é a relação entre {phrases}{where}?",
        role="Que papel tem {first} em {others}{where}?",
        confirm="É verdade que {sentence}?",
        confirm_any="{sentence}, é verdade?",
    ),
    "nl": Wording(
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

# Any other language: its own words and a question mark, no grammar.
PLAIN = Wording(
    openers=frozenset(),
    conjunction="",
    where=" – {topic}",
    about="{phrases}{where}?",
    related="{phrases}{where}?",
    role="{first}: {others}{where}?",
    confirm="",
    confirm_any="{sentence}?",
)

# Added to a sentence, these ask whether it is so.
CONFIRMING_ENDS = {"han": "吗？", "kana": "か？", "thai": "ใช่ไหม", "other": "?"}

QUESTION_MARKS = {"ar": "؟", "fa": "؟", "el": ";"}

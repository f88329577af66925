"""A generated corpus of 223 sources with a known graph of 74 concepts.

Concept ``k`` has four words of its own and a document of three pages: an unrelated one, one with
its words, and one that repeats its label. Relationships of alternating types connect the concepts
in chains of ten. In addition there are three pairs: an emergent pair with a bridge, a pair just
below the threshold, and a similar pair that has a relationship already.
"""

from dataclasses import dataclass

from concepts.models import Concept, RelationshipType
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from documents.models import Artifact, Source
from documents.services import TextContent, add_artifact
from indexing.models import IndexBuild
from indexing.services import plan_unannounced_standalone_nodes
from tests.concepts.conftest import INDEX
from tests.factories import sync

CHAINED = 68  # concepts in chains
CHAIN = 10
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "zo")
TYPES = {
    "SUPPORTS": ("epistemic", "strengthens backs"),
    "CONTRADICTS": ("epistemic", "opposes refutes"),
    "ENABLES": ("structural", "allows permits"),
}

# Texts have thirteen words: twelve shared words give a similarity of 0.92, eleven give 0.846.
SHARED = [f"shared{n}" for n in range(13)]
MISSED = [f"failed{n}" for n in range(13)]  # all have different hashes
RELATED = [f"related{n}" for n in range(13)]
PLANTED = {
    "near one": SHARED,
    "near other": [*SHARED[:12], "othershared"],
    "missed one": MISSED,
    "missed other": [*MISSED[:11], "otherfailed", "anotherfailed"],
    "related one": RELATED,
    "related other": [*RELATED[:12], "otherrelated"],
}


def word(number: int) -> str:
    """Make a unique word for each number."""
    parts = []
    for _ in range(4):
        number, rest = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[rest])
    return "".join(parts)


def words_of(k: int) -> list[str]:
    return [word(4 * k + n) for n in range(4)]


def label_of(k: int) -> str:
    return " ".join(words_of(k)[:2])


def pages_of(k: int) -> tuple[str, str, str]:
    first, second, third, fourth = words_of(k)
    return (
        f"Opening {k} tells how study {k} was begun, and by whom.",
        f"{first} {second} {third} {fourth}",
        f"Closing {k} mentions {first} {second} once more beside harvest {k}.",
    )


def type_of(k: int) -> str | None:
    """The type of the relationship from concept ``k`` to the next; None at the end of a chain."""
    if k % CHAIN == CHAIN - 1 or k + 1 >= CHAINED:
        return None
    return list(TYPES)[k // 2 % len(TYPES)]


@dataclass(frozen=True)
class Corpus:
    build: IndexBuild
    concepts: list[Concept]  # in chains
    planted: dict[str, Concept]
    types: dict[str, RelationshipType]
    documents: list[Artifact]
    bridge: Source

    def source(self, k: int, ordinal: int) -> Source:
        return Source.objects.get(artifact=self.documents[k], ordinal=ordinal)


def make_corpus(build: IndexBuild) -> Corpus:
    documents = [_send_documents(pages_of(k)) for k in range(CHAINED)]
    # The bridge of the emergent pair, and documents that are similar to no concept.
    between = _send_documents((" ".join([*SHARED, "othershared"]),))
    beside = [
        _send_documents(
            (" ".join([*said[:3], f"beside{n}"]), f"Page {n} is blank.", f"Leaf {n} ends here.")
        )
        for n, said in enumerate(PLANTED.values())
    ]
    concepts = [
        create_concept(INDEX, label_of(k), description=" ".join(words_of(k)[2:]))
        for k in range(CHAINED)
    ]
    planted = {name: create_concept(INDEX, " ".join(words)) for name, words in PLANTED.items()}
    types = {
        name: create_relationship_type(INDEX, name, category=category, description=description)
        for name, (category, description) in TYPES.items()
    }
    for k, concept in enumerate(concepts):
        add_quote(concept.pk, label_of(k), source_id=_read_source(documents[k], 1).pk)
        quote = f"{label_of(k).upper()}  once more"
        add_quote(concept.pk, quote, source_id=_read_source(documents[k], 2).pk)
        if (name := type_of(k)) is not None:
            relate_concepts(INDEX, concept.pk, types[name].pk, concepts[k + 1].pk)
    ends = planted["related one"], planted["related other"]
    relate_concepts(INDEX, ends[0].pk, types["ENABLES"].pk, ends[1].pk)
    sync(build, *documents, between, *beside)
    plan_unannounced_standalone_nodes(build)
    sync(build)
    return Corpus(build, concepts, planted, types, documents, between.sources.get())


def _send_documents(pages: tuple[str, ...]) -> Artifact:
    return add_artifact(INDEX, TextContent(pages))[0]


def _read_source(document: Artifact, ordinal: int) -> Source:
    return Source.objects.get(artifact=document, ordinal=ordinal)

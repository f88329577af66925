"""The six kinds of query, on a corpus with a known graph."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from concepts.emergent_pairs import update_emergent_pairs
from concepts.models import Concept, Relationship
from documents.models import Source
from indexing.models import IndexBuild
from indexing.verification import verify_build
from tests.concepts.conftest import INDEX
from tests.concepts.corpus import CHAINED, Corpus, label_of, make_corpus, pages_of, words_of
from tests.factories import load_index

API = "/api/v1"

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def corpus(shared_store) -> Corpus:
    return make_surveyed_corpus(load_index(INDEX))


def make_surveyed_corpus(build: IndexBuild) -> Corpus:
    corpus = make_corpus(build)
    while update_emergent_pairs(build):
        pass
    return corpus


@pytest.fixture
def ask(client) -> Callable[..., Any]:
    def ask(address: str, **given: Any) -> Any:
        if address.startswith("search/"):
            content = {"index": INDEX, **given}
            answer = client.post(f"{API}/{address}", content, format="json")
        else:
            answer = client.get(f"{API}/{address}", given)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return ask


def spoken(k: int) -> str:
    return " ".join(words_of(k))


def labels(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["label"] for hit in hits]


# --- Queries with actual and expected results ------------------------------------------------


def route(corpus: Corpus, ask: Any) -> Iterator[tuple[Any, Any]]:
    source = corpus.source(33, 2)
    for query, kind, found in (
        (spoken(7), "concept", corpus.concepts[7].pk),
        (pages_of(33)[2], "source", source.pk),
        ("SUPPORTS epistemic strengthens backs", "relationship_type", corpus.types["SUPPORTS"].pk),
    ):
        entry = ask("search/route", query=query, limit=3)["entry"]
        yield (entry["kind"], entry["id"]), (kind, str(found))


def paths(corpus: Corpus, ask: Any) -> Iterator[tuple[Any, Any]]:
    def chains(begin: int, like: str, depth: int) -> list[list[str]]:
        address = f"concepts/{corpus.concepts[begin].pk}/paths"
        found = ask(address, like=like, depth=depth, min_similarity=0.5)["paths"]
        return [path["concepts"] for path in found]

    def ids(*numbers: int) -> list[str]:
        return [str(corpus.concepts[k].pk) for k in numbers]

    # From 0 on: SUPPORTS, SUPPORTS, CONTRADICTS, CONTRADICTS, ENABLES, ENABLES, SUPPORTS …
    yield chains(0, "strengthens backs", 3), [ids(0, 1), ids(0, 1, 2)]
    yield chains(0, "opposes", 3), []
    yield chains(2, "opposes refutes", 1), [ids(2, 3)]
    yield chains(6, "allows permits", 2), [ids(6, 5), ids(6, 5, 4)]
    both = chains(2, "strengthens backs, opposes refutes", 1)
    yield sorted(both), sorted([ids(2, 1), ids(2, 3)])


def blend(corpus: Corpus, ask: Any) -> Iterator[tuple[Any, Any]]:
    [best, *_] = ask("search/blend", query=spoken(12), limit=5)["hits"]
    yield best["label"], label_of(12)
    yield [way["way"] for way in best["ways"]][:2], ["concept", "source"]
    yield best["ways"][1]["through"], {"source": str(corpus.source(12, 1).pk)}
    [borne, *_] = ask("search/blend", query=pages_of(40)[2], limit=5)["hits"]
    yield (borne["label"], borne["ways"][0]["way"]), (label_of(40), "source")
    typed = ask("search/blend", query="strengthens backs", min_similarity=0.5, limit=100)["hits"]
    supported = Relationship.objects.filter(type=corpus.types["SUPPORTS"])
    ends = {
        label
        for edge in supported.with_concepts_and_type()
        for label in (edge.source.label, edge.target.label)
    }
    yield set(labels(typed)), ends
    yield {way["weight"] for hit in typed for way in hit["ways"]}, {0.6}


def evidence(corpus: Corpus, ask: Any) -> Iterator[tuple[Any, Any]]:
    concept = corpus.concepts[21]
    address = f"concepts/{concept.pk}/evidence"

    def ordinals(**given: Any) -> list[int]:
        return [hit["source"]["ordinal"] for hit in ask(address, **given)["hits"]]

    yield ordinals(), [1, 2]
    yield ordinals(query="Closing mentions harvest"), [2, 1]
    yield ordinals(query=spoken(21)), [1, 2]


def subgraph(corpus: Corpus, ask: Any) -> Iterator[tuple[Any, Any]]:
    joined = ask("search/subgraph", query=f"{spoken(14)} {spoken(15)}")
    yield set(labels(joined["concepts"])), {label_of(14), label_of(15)}
    among = {label_of(14), label_of(15)}
    inside = [edge for edge in joined["relationships"] if ends_of(edge) <= among]
    yield [edge["type"]["name"] for edge in inside], ["CONTRADICTS"]
    yield [bool(ends_of(edge) & among) for edge in joined["relationships"]], [True] * 3
    yield joined["relationships"][:1], inside
    yield len(joined["evidence"]), 2
    ended = ask("search/subgraph", query=f"{spoken(19)} {spoken(20)}")
    yield set(labels(ended["concepts"])), {label_of(19), label_of(20)}
    between = {label_of(19), label_of(20)}
    yield [edge for edge in ended["relationships"] if ends_of(edge) <= between], []
    yield len(ended["relationships"]), 2
    yield ask("search/subgraph", query="nothing of the kind")["concepts"], []


def ends_of(edge: dict[str, Any]) -> set[str]:
    return {edge["source"]["label"], edge["target"]["label"]}


def emergent(corpus: Corpus, ask: Any) -> Iterator[tuple[Any, Any]]:
    found = ask("emergent/", index=INDEX)["results"]
    pairs = [{end["id"] for end in pair["concepts"]} for pair in found]
    yield pairs, [{str(corpus.planted[name].pk) for name in ("near one", "near other")}]
    yield [bridge["id"] for bridge in found[0]["bridges"]], [str(corpus.bridge.pk)]


QUERIES = [route, paths, blend, evidence, subgraph, emergent]


class TestCorpus:
    def test_answers_each_kind_of_query_as_its_graph_implies(self, corpus, ask):
        assert Source.objects.count() >= 200
        assert Concept.objects.count() == CHAINED + 6
        assert verify_build(corpus.build).findings == {}

        for query in QUERIES:
            for number, (found, expected) in enumerate(query(corpus, ask)):
                assert found == expected, f"{query.__name__} {number}"

    def test_returns_exact_offsets_with_every_hit(self, corpus, ask):
        texts = {str(pk): text for pk, text in Source.objects.values_list("pk", "text")}
        query = f"{spoken(14)} {spoken(15)} strengthens backs"
        answers = [
            ask(f"search/{name}", query=query, limit=50)
            for name in ("concepts", "relationships", "sources", "route", "blend", "subgraph")
        ]
        answers += [ask("emergent/", index=INDEX)]
        answers += [ask(f"concepts/{corpus.concepts[14].pk}/{part}", **given) for part, given in (
            ("evidence", {"query": query}), ("context", {"window": 1}))]  # fmt: skip

        proved = [proof for answer in answers for proof in proofs(answer)]

        assert len(proved) > 200
        for source_id, start, end, said, verdict in proved:
            assert verdict == "exact"
            assert texts[source_id][start:end] == said


def proofs(answer: Any) -> Iterator[tuple[str, int, int, str, str]]:
    """Yield every text with offsets in a source, at any depth of an answer."""
    if isinstance(answer, list):
        for each in answer:
            yield from proofs(each)
    elif isinstance(answer, dict):
        if isinstance(answer.get("start_offset"), int):
            said = answer.get("quote") or answer["text"]
            yield (
                answer["source"]["id"], answer["start_offset"], answer["end_offset"], said,
                answer["verdict"],
            )  # fmt: skip
        for each in answer.values():
            yield from proofs(each)

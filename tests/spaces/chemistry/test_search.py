"""Searching by structure over HTTP."""

import pytest

from documents.models import Artifact
from indexing.services import load_specs
from indexing.verification import verify_build
from tests.spaces.chemistry.conftest import ASPIRIN, MOLECULES

SEARCH = "/api/v1/search/structures"
SALTS = {"Aspirin sodium", "Carbasalate's calcium salt", "Lysine acetylsalicylate"}


@pytest.fixture
def search(client, pharmacy):
    def post(structure=ASPIRIN, **parameters):
        body = {"index": "pharmacy", "structure": structure, **parameters}
        return client.post(SEARCH, body, format="json")

    return post


def titles(response):
    assert response.status_code == 200, response.json()
    return [hit["artifact"]["title"] for hit in response.json()["hits"]]


class TestByStructure:
    def test_ranks_the_salts_of_aspirin_above_caffeine(self, search):
        found = titles(search())

        assert found[0] == "Aspirin"
        assert set(found[1:4]) == SALTS
        assert found.index("Caffeine") > 3

    def test_returns_the_structure_and_verdict_of_each_hit(self, search):
        hits = search(limit=2).json()["hits"]

        assert hits[0]["structure"]["smiles"] == ASPIRIN
        assert hits[0]["structure"]["similarity"] == hits[0]["score"] == pytest.approx(1, abs=1e-5)
        assert [hit["structure"]["rank"] for hit in hits] == [1, 2]
        assert {hit["structure"]["verdict"] for hit in hits} == {"exact"}
        assert {hit["score_kind"] for hit in hits} == {"cosine"}
        assert hits[0]["passage"] is None
        assert hits[0]["metadata"]["smiles"] == ASPIRIN

    def test_finds_a_structure_in_another_notation(self, search):
        assert titles(search("OC(=O)C1=CC=CC=C1OC(C)=O"))[0] == "Aspirin"

    def test_filters(self, search):
        found = titles(search(filter={"sold": True}))

        assert "Aspirin sodium" not in found
        assert len(found) == len(MOLECULES) - 1

    def test_leaves_out_hits_below_the_minimum_similarity(self, search):
        assert set(titles(search(min_similarity=0.7))) == {"Aspirin", *SALTS}

    def test_returns_pages_that_do_not_overlap(self, search):
        pages = [titles(search(limit=3, offset=start)) for start in (0, 3, 6)]

        assert [title for page in pages for title in page] == titles(search())

    def test_accepts_a_query_string(self, client, pharmacy):
        response = client.get(SEARCH, {"index": "pharmacy", "structure": ASPIRIN, "limit": 1})

        assert titles(response) == ["Aspirin"]

    def test_marks_a_changed_structure_as_stale_and_repairs_it(
        self, search, django_capture_on_commit_callbacks
    ):
        artifact = Artifact.objects.get(title="Aspirin")
        Artifact.objects.filter(pk=artifact.pk).update(metadata={"smiles": "CCO"})

        with django_capture_on_commit_callbacks(execute=True):
            first = search(limit=1).json()["hits"][0]

        assert (first["artifact"]["title"], first["structure"]["verdict"]) == ("Aspirin", "stale")
        assert ASPIRIN not in {hit["structure"]["smiles"] for hit in search().json()["hits"]}

    def test_leaves_an_index_that_passes_verification(self, pharmacy):
        report = verify_build(pharmacy)

        assert report.is_sound
        assert report.point_count == 2 * len(MOLECULES)


class TestWithWords:
    def test_ranks_by_both(self, search):
        response = search(query="what keeps the tired awake", limit=8)
        hits = {hit["artifact"]["title"]: hit for hit in response.json()["hits"]}

        aspirin, caffeine = hits["Aspirin"], hits["Caffeine"]
        assert aspirin["structure"]["rank"] == 1
        assert caffeine["passage"]["rank"] == 1
        assert caffeine["passage"]["verdict"] == "exact"
        assert "awake" in caffeine["passage"]["text"]
        for hit in hits.values():
            ranks = [hit[way]["rank"] for way in ("structure", "passage") if hit[way] is not None]
            assert hit["score"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
            assert hit["score_kind"] == "rrf"

    def test_ranks_a_hit_higher_if_the_words_match(self, search):
        alone = titles(search())
        together = titles(search(query="what keeps the tired awake through the night"))

        assert together.index("Caffeine") < alone.index("Caffeine")

    def test_returns_no_structure_for_a_hit_found_by_words_alone(self, search):
        hits = search(query="a sprained ankle", min_similarity=0.99).json()["hits"]

        found = {hit["artifact"]["title"]: hit["structure"] for hit in hits}
        assert found["Aspirin"] is not None
        assert found["Ibuprofen"] is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "field"),
        [
            ({"structure": "aspirin"}, "structure"),
            ({"structure": ""}, "structure"),
            ({"structure": 7}, "structure"),
            ({"query": "  "}, "query"),
            ({"query": "words", "q": "words"}, "q"),
            ({"mode": "hybrid"}, "mode"),
            ({"min_similarity": 2}, "min_similarity"),
            ({"limit": 0}, "limit"),
            ({"index": "plain"}, "index"),
        ],
    )
    def test_name_the_field(self, search, parameters, field):
        load_specs()

        response = search(**parameters)

        assert response.status_code == 400
        assert response.json()["field"] == field

    def test_name_the_indexes_that_have_structures(self, search):
        load_specs()

        answer = search(index="plain").json()

        assert answer["detail"] == "The index plain holds no chemical structures."
        assert answer["allowed"] == ["pharmacy"]

    def test_name_the_metadata_field_with_an_invalid_structure(self, client, pharmacy):
        response = client.post(
            "/api/v1/indexes/pharmacy/artifacts/",
            {"title": "Aspirin", "text": "White.", "metadata": {"smiles": "aspirin"}},
            format="json",
        )

        assert response.status_code == 400
        assert response.json()["field"] == "metadata.smiles"
        assert "'aspirin' is not a chemical structure" in response.json()["detail"]

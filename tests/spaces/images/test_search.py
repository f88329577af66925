"""Searching pictures over HTTP and by command, in a gallery that is filled once for all tests."""

import json

import pytest
from django.core.management import CommandError, call_command

from documents.models import Artifact
from documents.services import TextContent, add_artifact
from indexing.services import load_specs
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.factories import load_index, sync
from tests.pictures import draw
from tests.spaces.images.conftest import hang_picture, make_gallery
from tests.written import make_build

SEARCH = "/api/v1/search/images"
COLOURS = {"Poppy": "red", "Meadow": "lime", "Sea": "blue", "Dusk": "purple"}

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def pictures(shared_store, pair):
    with pytest.MonkeyPatch.context() as patched:
        gallery = make_gallery(pair, patched)
        for year, (title, colour) in enumerate(COLOURS.items(), start=2020):
            given = {"title": title, "metadata": {"year": year}}
            hang_picture(gallery, draw(colour), f"{colour}.png", **given)
        note, _ = add_artifact("gallery", TextContent(("The barn door is red.",)), title="Diary")
        sync(gallery, note)
        yield gallery


@pytest.fixture
def search(client, pictures):
    def post(query="red", **parameters):
        body = {"index": "gallery", "query": query, **parameters}
        return client.post(SEARCH, body, format="json")

    return post


def titles(response):
    assert response.status_code == 200, response.json()
    return [hit["artifact"]["title"] for hit in response.json()["hits"]]


class TestByPicture:
    @pytest.mark.parametrize(
        ("query", "title"), [("red", "Poppy"), ("green", "Meadow"), ("blue", "Sea")]
    )
    def test_ranks_the_matching_picture_first(self, search, query, title):
        found = titles(search(query, with_text=False))

        assert found[0] == title
        assert set(found) == set(COLOURS)

    def test_ignores_case_and_further_words(self, search):
        assert titles(search("a Red and blue picture", with_text=False))[0] == "Dusk"

    def test_returns_the_picture_and_verdict_of_each_hit(self, search):
        first, second = search(with_text=False, limit=2).json()["hits"]

        poppy = Artifact.objects.get(title="Poppy")
        assert first["image"]["similarity"] == first["score"] > second["score"]
        assert first["image"]["sha256"] == poppy.sha256
        assert first["image"]["media_type"] == "image/png"
        assert [hit["image"]["rank"] for hit in (first, second)] == [1, 2]
        assert {hit["image"]["verdict"] for hit in (first, second)} == {"exact"}
        assert first["score_kind"] == "cosine"
        assert first["passage"] is None
        assert first["metadata"] == {"year": 2020}
        assert first["artifact"]["id"] == str(poppy.pk)

    def test_filters(self, search):
        found = titles(search(with_text=False, filter={"year": {"gte": 2022}}))

        assert set(found) == {"Sea", "Dusk"}

    def test_leaves_out_hits_below_the_minimum_similarity(self, search):
        assert titles(search(with_text=False, min_similarity=0.9)) == ["Poppy"]

    def test_returns_pages_that_do_not_overlap(self, search):
        pages = [titles(search(with_text=False, limit=2, offset=start)) for start in (0, 2)]

        assert pages[0] + pages[1] == titles(search(with_text=False))

    def test_accepts_a_query_string(self, client, pictures):
        response = client.get(
            SEARCH, {"index": "gallery", "q": "red", "with_text": "false", "limit": 1}
        )

        assert titles(response) == ["Poppy"]

    def test_marks_a_changed_picture_as_stale(self, search):
        Artifact.objects.filter(title="Poppy").update(sha256="0" * 64)

        first = search(with_text=False).json()["hits"][0]

        assert (first["artifact"]["title"], first["image"]["verdict"]) == ("Poppy", "stale")
        assert "Poppy" not in titles(search(with_text=False, stale="omit"))

    def test_drops_points_with_another_payload(self, search, pictures):
        collection = pictures.collection("image")
        [batch] = get_store().scroll(collection)
        payloads = {point.id: point.payload for point in batch}
        changed = {pk: payload | {"text": "?"} for pk, payload in payloads.items()}
        get_store().replace_payloads(collection, changed)

        try:
            answer = search(with_text=False).json()
        finally:
            get_store().replace_payloads(collection, payloads)

        assert answer["hits"] == []
        assert answer["dropped"]["integrity_errors"] == len(COLOURS)

    def test_leaves_an_index_that_passes_verification(self, pictures):
        report = verify_build(pictures)

        assert report.is_sound
        assert report.point_count == len(COLOURS) + 1


class TestWithText:
    def test_ranks_by_both(self, search):
        hits = {hit["artifact"]["title"]: hit for hit in search().json()["hits"]}

        assert hits["Poppy"]["image"]["rank"] == 1
        assert hits["Poppy"]["passage"] is None
        assert hits["Diary"]["image"] is None
        assert hits["Diary"]["passage"]["rank"] == 1
        assert hits["Diary"]["passage"]["verdict"] == "exact"
        assert "red" in hits["Diary"]["passage"]["text"]
        for hit in hits.values():
            ranks = [hit[way]["rank"] for way in ("image", "passage") if hit[way] is not None]
            assert hit["score"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
            assert hit["score_kind"] == "rrf"

    def test_does_not_apply_the_minimum_similarity_of_pictures_to_passages(self, search):
        assert set(titles(search(min_similarity=0.9))) == {"Poppy", "Diary"}


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "field"),
        [
            ({"query": "  "}, "query"),
            ({"query": None}, "query"),
            ({"q": "words"}, "q"),
            ({"mode": "hybrid"}, "mode"),
            ({"min_similarity": 2}, "min_similarity"),
            ({"limit": 0}, "limit"),
            ({"with_text": "perhaps"}, "with_text"),
            ({"filter": {"colour": "red"}}, "filter.colour"),
            ({"index": "plain"}, "index"),
        ],
    )
    def test_name_the_field(self, client, pictures, parameters, field):
        load_index("plain")

        asked = {"index": "gallery", "query": "red", **parameters}
        response = client.post(SEARCH, asked, format="json")

        assert response.status_code == 400
        assert response.json()["field"] == field

    def test_name_the_indexes_that_have_images(self, search):
        load_specs()

        answer = search(index="plain").json()

        assert answer["detail"] == "The index plain holds no images."
        assert answer["allowed"] == ["gallery"]

    def test_name_the_unavailable_model(self, search, monkeypatch):
        from indexing import embedding
        from indexing.exceptions import ModelUnavailable

        def fail(spec):
            raise ModelUnavailable("Qdrant/clip-ViT-B-32 could not be fetched.", fix="Connect.")

        monkeypatch.setattr(embedding, "get_embedder", fail)

        response = search(with_text=False)

        assert response.status_code == 503
        assert "clip-ViT-B-32" in response.json()["detail"]


class TestSearchCommand:
    def search(self, capsys, *given):
        call_command("search", "red", "--index=gallery", "--kind=images", *given)
        return capsys.readouterr().out

    def test_prints_pictures_and_passages(self, pictures, capsys):
        out = self.search(capsys, "--limit=2")

        assert "Poppy  image/png  rrf 0.0164" in out
        assert "Diary  rrf 0.0164" in out
        assert "The barn door is red." in out

    def test_prints_that_a_hit_is_stale(self, pictures, capsys):
        Artifact.objects.update(sha256="0" * 64)

        assert "stale: the document has changed since" in self.search(capsys)

    def test_prints_the_answer_of_the_api(self, pictures, capsys):
        answer = json.loads(self.search(capsys, "--json"))

        assert answer["hits"][0]["score_kind"] == "rrf"

    def test_reports_an_index_without_images(self, shared_store, capsys):
        make_build("words")

        with pytest.raises(CommandError, match="holds no images"):
            call_command("search", "red", "--index=words", "--kind=images")

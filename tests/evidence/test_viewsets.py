import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from documents.models import Artifact
from tests.evidence.test_services import APART, NEAR, SIMILAR, WORDS
from tests.factories import sync

URL = "/api/v1/indexes/evidence/evidence/"


@pytest.fixture
def client(db):
    _, secret = ApiKey.issue("tests")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def item(name: str, content: str, **citation) -> dict:
    return {"url": f"https://{name}.example/", "content": content, "citation": citation}


@pytest.fixture
def filled(client, findings):
    items = [item("one", WORDS, title="On aspirin", source="Nature"), item("two", APART)]
    answer = client.post(URL, {"items": items}, format="json")
    artifact_ids = [verdict["artifact_id"] for verdict in answer.json()["verdicts"]]
    sync(findings, *Artifact.objects.filter(pk__in=artifact_ids))
    return answer.json()["verdicts"]


class TestAdding:
    def test_returns_a_verdict_for_each_item(self, client, findings):
        items = [item("one", WORDS), item("two", NEAR), item("one", APART)]

        answer = client.post(URL, {"items": items}, format="json")

        assert answer.status_code == 200
        first, second, third = answer.json()["verdicts"]
        assert (first["url"], first["verdict"]) == ("https://one.example/", "added")
        assert "duplicate_of" not in first
        assert second["verdict"] == "duplicate"
        assert second["duplicate_of"] == second["artifact_id"] == first["artifact_id"]
        assert second["similarity"] == pytest.approx(15 / 16, abs=1e-2)
        assert (third["verdict"], third["artifact_id"]) == ("updated", first["artifact_id"])

    def test_accepts_a_single_item_and_a_threshold(self, client, findings):
        client.post(URL, item("one", WORDS), format="json")

        answer = client.post(URL, item("two", NEAR) | {"threshold": 0.99}, format="json")

        assert [each["verdict"] for each in answer.json()["verdicts"]] == ["added"]

    def test_takes_the_url_of_the_citation_if_the_item_has_none(self, client, findings):
        seed = {
            "content": WORDS,
            "citation": {"url": "https://one.example/", "title": "On aspirin"},
        }

        [added] = client.post(URL, seed, format="json").json()["verdicts"]
        [updated] = client.post(URL, item("one", APART), format="json").json()["verdicts"]

        assert (added["url"], added["verdict"]) == ("https://one.example/", "added")
        assert (updated["verdict"], updated["artifact_id"]) == ("updated", added["artifact_id"])

    def test_names_similar_findings_that_say_something_else(self, client, filled):
        [added] = client.post(URL, item("three", SIMILAR), format="json").json()["verdicts"]

        answer = client.get(f"{URL}similar", {"q": WORDS, "limit": 1})

        [similar] = added["similar_to"]
        assert similar["artifact_id"] == filled[0]["artifact_id"]
        [hit] = answer.json()["hits"]
        [linked] = hit["similar_to"]
        assert linked == {
            "artifact_id": added["artifact_id"], "similarity": similar["similarity"],
            "url": "https://three.example/", "content": SIMILAR,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"items": []}, "items"),
            ({"items": [item("one", WORDS)], "threshold": 1.5}, "threshold"),
            ({"items": [item(n, "word " * 60_000) for n in ("one", "two")]}, "items"),
            ({"items": [item("one", WORDS)], "threshold": "nan"}, "threshold"),
            ({"items": [{"content": WORDS}]}, "items.0.url"),
            ({"items": [{"url": "no url", "content": WORDS}]}, "items.0.url"),
            ({"items": [item("one", WORDS, editor="E")]}, "items.0.editor"),
            ({"items": ["Aspirin."]}, "items.0"),
            ({"items": [item("one", "  "), item("two", " ")]}, "items.0.content"),
            ({"items": [item("one", WORDS, date="soon")]}, "items.0.citation.date"),
            ({"items": [item("one", WORDS)] * 101}, "items"),
            ([], None),
        ],
    )
    def test_names_the_wrong_field_and_stores_nothing(self, client, findings, body, field):
        answer = client.post(URL, body, format="json")

        assert answer.status_code == 400
        assert answer.json().get("field") == field
        assert not Artifact.objects.exists()

    def test_rejects_only_the_invalid_items(self, client, findings):
        items = [item("one", WORDS), {"url": "no url", "content": APART}, item("two", APART, x=1)]

        answer = client.post(URL, {"items": items}, format="json")

        assert answer.status_code == 200
        added, first, second = answer.json()["verdicts"]
        assert added["verdict"] == "added"
        assert first == {
            "url": "no url",
            "verdict": "rejected",
            "error": first["error"],
        }
        assert (first["error"]["code"], first["error"]["field"]) == ("invalid", "items.1.url")
        assert second["error"]["field"] == "items.2.x"
        assert "source" in second["error"]["allowed"]
        assert Artifact.objects.count() == 1

    def test_requires_an_index_that_accepts_evidence(self, client, findings):
        refused = client.post("/api/v1/indexes/plain/evidence/", item("one", WORDS), format="json")
        unknown = client.post(
            "/api/v1/indexes/nowhere/evidence/", item("one", WORDS), format="json"
        )

        assert (refused.status_code, refused.json()["allowed"]) == (400, ["evidence"])
        assert unknown.status_code == 404

    def test_requires_a_key(self, findings):
        assert APIClient().post(URL, item("one", WORDS), format="json").status_code == 401


class TestSimilar:
    def test_returns_findings_with_citations_and_verdicts(self, client, filled):
        answer = client.get(f"{URL}similar", {"q": NEAR, "limit": 5})

        first, second = answer.json()["hits"]
        assert first["url"] == "https://one.example/"
        assert first["content"] == first["text"] == WORDS
        assert first["citation"] == {"title": "On aspirin", "source": "Nature"}
        assert first["similarity"] == first["score"] == pytest.approx(15 / 16, abs=1e-2)
        assert first["verdict"] == "exact"
        assert second["url"] == "https://two.example/"

    def test_shows_the_findings_that_repeat_a_hit(self, client, filled):
        client.post(URL, {"items": [item("three", NEAR, date="Mar 2021")]}, format="json")

        answer = client.get(f"{URL}similar", {"q": WORDS, "limit": 1})

        [hit] = answer.json()["hits"]
        [reference] = hit["references"]
        assert reference.pop("similarity") == pytest.approx(15 / 16, abs=1e-2)
        assert reference.pop("added_at").endswith("Z")
        assert reference == {
            "url": "https://three.example/",
            "content": NEAR,
            "citation": {"title": "", "date": "Mar 2021"},
        }

    def test_shows_at_most_ten_findings_near_a_hit(self, client, filled):
        others = [WORDS.replace("daily", f"word{n}") for n in range(12)]
        items = [item(f"n{n}", content) for n, content in enumerate(others)]
        client.post(URL, {"items": items}, format="json")

        [hit] = client.get(f"{URL}similar", {"q": WORDS, "limit": 1}).json()["hits"]

        similarities = [each["similarity"] for each in hit["similar_to"]]
        assert len(similarities) == 10
        assert similarities == sorted(similarities, reverse=True)

    def test_leaves_out_findings_below_the_minimum_similarity(self, client, filled):
        answer = client.get(f"{URL}similar", {"q": NEAR, "min_similarity": 0.8})

        assert [hit["url"] for hit in answer.json()["hits"]] == ["https://one.example/"]

    def test_finds_nothing_in_an_empty_store(self, client, findings):
        answer = client.get(f"{URL}similar", {"q": "anything"})

        assert (answer.status_code, answer.json()["hits"]) == (200, [])

    def test_waits_for_a_write_or_answers_409(self, client, findings, settings):
        settings.STRATA_MIN_REVISION_SECONDS = 0.1
        [verdict] = client.post(URL, item("one", WORDS), format="json").json()["verdicts"]

        asked = {"q": WORDS, "min_revision": verdict["revision"]}
        early = client.get(f"{URL}similar", asked)
        sync(findings, Artifact.objects.get())
        late = client.get(f"{URL}similar", asked)

        assert early.status_code == 409
        assert len(late.json()["hits"]) == 1

    @pytest.mark.parametrize(
        "asked",
        [{}, {"q": " "}, {"q": "x", "limit": 0}, {"p": "x"}, {"q": "x", "min_similarity": "nan"}],
    )
    def test_refuses_wrong_parameters(self, client, findings, asked):
        assert client.get(f"{URL}similar", asked).status_code == 400


class TestRelated:
    def test_leaves_out_the_given_urls(self, client, filled):
        urls = ["https://one.example/", "https://elsewhere.example/"]
        asked = {"query": WORDS, "urls": urls, "min_similarity": -1}

        answer = client.post(f"{URL}related", asked, format="json")

        assert [hit["url"] for hit in answer.json()["hits"]] == ["https://two.example/"]

    def test_finds_the_best_findings_however_far_from_the_query(self, client, filled):
        best = client.post(f"{URL}related", {"query": "granite melts"}, format="json")
        near = {"query": "granite melts", "min_similarity": 0.9}

        assert best.json()["hits"][0]["url"] == "https://two.example/"
        assert client.post(f"{URL}related", near, format="json").json()["hits"] == []

    def test_returns_near_repeats_of_a_better_finding_only_in_place_of_none(self, client, findings):
        repeats = [WORDS.replace("daily", word) for word in ("weekly", "monthly", "yearly")]
        neighbour = "aspirin lowers the risk of stroke in women"
        contents = [WORDS, *repeats, neighbour, APART]
        items = [item(f"n{n}", content) for n, content in enumerate(contents)]
        client.post(URL, {"items": items}, format="json")
        sync(findings, *Artifact.objects.all())

        def related(limit):
            answer = client.post(f"{URL}related", {"query": WORDS, "limit": limit}, format="json")
            return [hit["content"] for hit in answer.json()["hits"]]

        similar = client.get(f"{URL}similar", {"q": WORDS, "limit": 4}).json()["hits"]

        assert related(2) == [WORDS, neighbour]
        first, *others, last = related(4)
        assert (first, last) == (WORDS, neighbour)
        assert [first, *others] == [hit["content"] for hit in similar[:3]]
        assert neighbour not in [hit["content"] for hit in similar]
        assert APART not in related(5)
        assert len(related(10)) == 6

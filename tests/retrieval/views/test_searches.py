"""The documents of ``artifact`` and ``sources`` are indexed once for all tests."""

import gc
import json
import uuid
import weakref
from collections import defaultdict

import pytest
from django.core.cache import cache
from django.urls import reverse
from kombu.exceptions import OperationalError
from rest_framework.test import APIClient, APIRequestFactory, force_authenticate

from access.authentication import ApiKeyUser
from access.grants import EVERYTHING, Scope
from access.models import ApiKey
from documents.models import Source
from documents.services import TextContent, add_artifact
from indexing import tasks
from indexing.exceptions import StoreUnavailable
from indexing.models import Node
from indexing.stores import get_store
from retrieval.views.searches import make_search_view
from tests.factories import PARAGRAPHS, give, load_index, sync
from tests.written import make_build

URL = "/api/v1/search/pages"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_planned():
    cache.clear()  # it holds which documents other tests had planned


@pytest.fixture(scope="module")
def build(shared_store):
    return load_index("plain")


@pytest.fixture(scope="module")
def artifact(build):
    artifact = give(title="Stones & birds", external_id="doc-1", metadata={"year": 2019})
    artifact.file_name = "stones.txt"
    artifact.save()
    sync(build, artifact)
    return artifact


@pytest.fixture(scope="module")
def sources(shared_store):
    """Twelve passages of one artifact, synced."""
    build = make_build("long")
    artifact = give("\n\n".join(" ".join(PARAGRAPHS * 20) for _ in range(12)), index="long")
    sync(build, artifact)
    sources = list(artifact.sources.order_by("ordinal"))
    assert len(sources) > 5
    return sources


class TestPageSearchView:
    def test_waits_for_a_write_or_answers_409(self, client, shared_store, settings):
        settings.STRATA_MIN_REVISION_SECONDS = 0.1
        build = make_build("late")
        artifact = give(index="late")
        asked = {"index": "late", "query": "granite", "min_revision": artifact.revision}

        early = client.post(URL, asked, format="json")
        sync(build, artifact)
        late = client.post(URL, asked, format="json")

        assert (early.status_code, early.json()["code"]) == (409, "not_yet_indexed")
        assert early.json()["field"] == "min_revision"
        assert late.status_code == 200
        assert late.json()["hits"][0]["artifact"]["id"] == str(artifact.pk)

    @pytest.mark.parametrize(("group_by", "field"), [("page", "page"), ("artifact", "artifact")])
    def test_returns_the_best_passage_of_each_group(self, client, shared_store, group_by, field):
        name = f"grouped-{group_by}"
        build = make_build(name)
        pages = [" ".join([f"The heron number {n} nests here."] * 40) for n in range(3)]
        herons, _ = add_artifact(name, TextContent(tuple(pages)), title="Herons")
        sync(build, herons, give("A heron, too.", index=name))
        asked = {"index": name, "query": "heron", "limit": 100}

        passages = client.get(URL, asked).json()["hits"]
        hits = client.get(URL, {**asked, "group_by": group_by}).json()["hits"]

        groups = defaultdict(list)
        for hit in passages:
            groups[hit[field]["id"]].append(hit)
        assert len(passages) > len(groups) == len(hits)
        for best, *others in groups.values():
            second = others[0]["score"] if others else 0.0
            best["score"] += 0.1 * max(0.0, second - 0.7 * best["score"])
        assert {hit[field]["id"]: hit for hit in hits} == {
            id: best for id, (best, *_) in groups.items()
        }
        assert [hit["score"] for hit in hits] == sorted(
            (hit["score"] for hit in hits), reverse=True
        )

    @pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
    def test_explains_the_score_of_a_group(self, client, shared_store, mode):
        name = f"explained-{mode}"
        text = " ".join(["The heron nests here."] * 80)
        sync(make_build(name), give(text, index=name))
        asked = {"index": name, "query": "heron", "mode": mode, "explain": True}

        [hit] = client.get(URL, {**asked, "group_by": "page"}).json()["hits"]
        [ungrouped, *_] = client.get(URL, asked).json()["hits"]

        shares = [hit["explain"]["dense"], hit["explain"]["sparse"]]
        contributions = [share["contribution"] for share in shares if share]
        assert hit["explain"]["second_passage"] > 0
        assert sum(contributions) + hit["explain"]["second_passage"] == pytest.approx(hit["score"])
        assert "second_passage" not in ungrouped["explain"]

    def test_explains_which_spelling_was_met(self, client, shared_store):
        sync(make_build("spelt"), give("Valve KX-4410 leaks 10 mg.", index="spelt"))
        asked = {"index": "spelt", "query": "10mg of KX4410", "explain": True}

        [sparse] = client.get(URL, {**asked, "mode": "sparse"}).json()["hits"]
        [dense] = client.get(URL, {**asked, "mode": "dense"}).json()["hits"]

        assert sparse["explain"]["words"] == {"10mg": "10 mg", "KX4410": "KX-4410"}
        assert "words" not in dense["explain"]

    def test_returns_groups_without_overlaps_or_gaps(self, client, shared_store):
        build = make_build("paged-groups")
        texts = [" ".join([f"The heron {n} nests."] * (20 * n)) for n in range(1, 13)]
        sync(build, *(give(text, index="paged-groups") for text in texts))
        asked = {"index": "paged-groups", "query": "heron nests", "group_by": "artifact"}

        def read_ids(**page):
            return [hit["artifact"]["id"] for hit in client.get(URL, asked | page).json()["hits"]]

        whole = read_ids(limit=100)

        assert len(set(whole)) == len(texts)
        assert [
            id for offset in range(0, 15, 5) for id in read_ids(limit=5, offset=offset)
        ] == whole

    def test_refuses_an_unknown_group(self, client, artifact):
        answer = client.get(URL, {"index": "plain", "q": "granite", "group_by": "chapter"})

        assert answer.status_code == 400
        assert answer.json()["field"] == "group_by"
        assert answer.json()["allowed"] == ["artifact", "page"]

    def test_frees_an_answer_without_the_garbage_collector(self, artifact):
        request = APIRequestFactory().get(URL, {"index": "plain", "q": "granite"})
        force_authenticate(request, ApiKeyUser("tests", None, Scope.MANAGE), token=EVERYTHING)
        gc.disable()
        try:
            response = make_search_view("pages").as_view()(request).render()
            is_answered, answer = response.status_code == 200, weakref.ref(response)
            del response
            is_freed = answer() is None
        finally:
            gc.enable()

        assert (is_answered, is_freed) == (True, True)

    def test_returns_hits_as_documented(self, client, artifact, build):
        answer = client.get(URL, {"index": "plain", "q": "granite crystals", "limit": 1}).json()

        [hit] = answer["hits"]
        node = Node.objects.get(point_id=hit["node_id"])
        assert hit == {
            "score": hit["score"],
            "score_kind": "rrf",
            "node_id": str(node.point_id),
            "kind": "chunk",
            "text": node.text,
            "start_offset": node.start_offset,
            "end_offset": node.end_offset,
            "verdict": "exact",
            "warnings": [],
            "artifact": {
                "id": str(artifact.pk),
                "title": "Stones & birds",
                "external_id": "doc-1",
                "file_name": "stones.txt",
            },
            "page": {"id": str(node.page_id), "index": 0},
            "source": {"id": str(node.source_id), "ordinal": 0},
            "metadata": {"year": 2019},
        }
        assert hit["score"] == pytest.approx(2 / 61)
        assert answer["index"] == "plain"
        assert answer["build"] == build.number
        assert answer["took_ms"].keys() == {"embed", "search", "verify", "total"}
        assert answer["dropped"] == {"orphans": 0, "integrity_errors": 0}

    @pytest.mark.parametrize("url", [URL, f"{URL}/"])
    def test_accepts_a_body_like_a_query_string(self, client, artifact, url):
        chosen = {"artifact_id": str(artifact.pk)}
        parameters = {"index": "plain", "query": "granite", "mode": "dense", "verify": False}

        posted = client.post(url, {**parameters, "filter": chosen}, format="json")
        got = client.get(url, {**parameters, "filter": json.dumps(chosen)})

        assert posted.status_code == got.status_code == 200
        assert posted.json()["hits"] == got.json()["hits"]
        assert posted.json()["hits"][0]["verdict"] is None

    @pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
    def test_explains_scores_that_add_up(self, client, artifact, mode):
        parameters = {"index": "plain", "q": "granite crystals bread", "mode": mode}

        hits = client.get(URL, {**parameters, "explain": "true"}).json()["hits"]

        assert hits
        for hit in hits:
            shares = [hit["explain"]["dense"], hit["explain"]["sparse"]]
            total = sum(share["contribution"] for share in shares if share)
            assert total == pytest.approx(hit["score"], abs=1e-6)

    def test_names_the_index_of_each_hit_of_several_indexes(self, client, artifact):
        load_index("library")
        parameters = {"index": "plain,library", "q": "granite"}

        answer = client.get(URL, parameters).json()

        assert answer["index"] == ["plain", "library"]
        assert {hit["index"] for hit in answer["hits"]} == {"plain"}

    def test_requires_a_key(self, artifact):
        answer = APIClient().get(URL, {"index": "plain", "q": "granite"})

        assert answer.status_code == 401

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"limitt": 5}, "limitt"),
            ({"limit": 0}, "limit"),
            ({"limit": 101}, "limit"),
            ({"limit": "many"}, "limit"),
            ({"offset": 1_001}, "offset"),
            ({"mode": "psychic"}, "mode"),
            ({"stale": "hide"}, "stale"),
            ({"verify": "perhaps"}, "verify"),
            ({"min_score": "nan"}, "min_score"),
            ({"min_score": "high"}, "min_score"),
            ({"q": ""}, "q"),
            ({"q": "  "}, "query"),
            ({"q": "x" * 10_001}, "q"),
            ({"query": "granite"}, "q"),
            ({"index": ""}, "index"),
            ({"filter": "{year"}, "filter"),
            ({"filter": "[" * 100_000}, "filter"),
            ({"filter": '{"yaer": 1}'}, "filter.yaer"),
        ],
    )
    def test_refuses_wrong_parameters(self, client, build, given, field):
        answer = client.get(URL, {"index": "plain", "q": "granite", **given})

        assert answer.status_code == 400, answer.json()
        assert answer.json()["field"] == field

    @pytest.mark.parametrize("name", [r"\ud800", r"\u0000", r"plain,\udfff"])
    def test_refuses_names_of_indexes_that_cannot_be_stored(self, client, build, name):
        body = f'{{"index": "{name}", "query": "granite"}}'
        answer = client.post(URL, body, content_type="application/json")

        assert (answer.status_code, answer.json()["field"]) == (400, "index")

    def test_lists_the_allowed_parameters(self, client, build):
        answer = client.get(URL, {"index": "plain", "q": "granite", "limitt": 5}).json()

        assert {"index", "query", "q", "limit", "filter", "stale"} <= set(answer["allowed"])

    def test_lists_the_allowed_modes(self, client, build):
        answer = client.get(URL, {"index": "plain", "q": "granite", "mode": "psychic"}).json()

        assert answer["allowed"] == ["dense", "hybrid", "sparse"]

    def test_refuses_a_search_without_a_query(self, client, build):
        answer = client.get(URL, {"index": "plain"})

        assert (answer.status_code, answer.json()["field"]) == (400, "query")

    def test_searches_the_only_index_that_holds_something(self, client, artifact):
        assert client.get(URL, {"q": "granite"}).json()["index"] == "plain"

    def test_lists_the_visible_indexes_that_hold_something_if_there_are_several(
        self, client, artifact
    ):
        for name in ("second", "hidden"):
            sync(make_build(name), give(index=name))
        load_index("library")  # holds nothing

        answer = client.get(URL, {"q": "granite"})

        assert answer.status_code == 400
        assert answer.json()["allowed"] == ["hidden", "plain", "second"]
        _, secret = ApiKey.issue("of two", indexes=["plain", "library"])
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert client.get(URL, {"q": "granite"}).json()["index"] == "plain"

    def test_says_so_if_no_index_holds_something(self, client, build):
        _, secret = ApiKey.issue("of an empty index", indexes=["library"])
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

        answer = client.get(URL, {"q": "granite"})

        assert (answer.status_code, answer.json()["field"]) == (400, "index")
        assert answer.json()["detail"] == "No index holds a document yet."

    def test_refuses_a_body_that_is_not_an_object(self, client, build):
        assert client.post(URL, ["granite"], format="json").status_code == 400

    def test_answers_404_for_an_unknown_index(self, client, build):
        answer = client.get(URL, {"index": "plian", "q": "granite"})

        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_index"
        assert "plain" in answer.json()["allowed"]

    def test_answers_503_if_the_store_is_unavailable(self, client, artifact, monkeypatch):
        def refuse(*args):
            raise StoreUnavailable

        monkeypatch.setattr(get_store(), "search_many", refuse)

        answer = client.get(URL, {"index": "plain", "q": "granite"})

        assert answer.status_code == 503
        assert answer.json()["code"] == "store_unavailable"

    def test_enqueues_stale_artifacts_for_planning(self, client, artifact, planned):
        Source.objects.update(text="Something else.")

        answer = client.get(URL, {"index": "plain", "q": "granite"}).json()

        assert {hit["verdict"] for hit in answer["hits"]} == {"stale"}
        assert planned == [artifact.pk]

    def test_enqueues_a_stale_artifact_once_for_many_searches(self, client, artifact, planned):
        Source.objects.update(text="Something else.")

        for _ in range(3):
            client.get(URL, {"index": "plain", "q": "granite"})

        assert planned == [artifact.pk]

    def test_answers_if_the_broker_is_unavailable(self, client, artifact, monkeypatch):
        def refuse(*args, **kwargs):
            raise OperationalError("refused")

        monkeypatch.setattr(tasks.plan_build, "delay", refuse)
        Source.objects.update(text="Something else.")

        answer = client.get(URL, {"index": "plain", "q": "granite"})

        assert answer.status_code == 200

    def test_enqueues_nothing_if_nothing_is_stale(self, client, artifact, planned):
        client.get(URL, {"index": "plain", "q": "granite"})

        assert planned == []


class TestSourceView:
    def test_shows_the_source_and_the_offsets_of_its_chunks(self, client, sources):
        source = sources[2]

        answer = client.get(reverse("source", args=[source.pk])).json()

        assert answer["text"] == source.text
        assert answer["ordinal"] == 2
        assert answer["artifact"]["id"] == str(source.artifact_id)
        assert answer["page"]["index"] == 0
        assert answer["neighbours"] == []
        chunks = {node.point_id: node.text for node in Node.objects.filter(source=source)}
        assert len(answer["chunks"]) == len(chunks) > 1
        for chunk in answer["chunks"]:
            piece = source.text[chunk["start_offset"] : chunk["end_offset"]]
            assert piece == chunks[uuid.UUID(chunk["node_id"])]

    @pytest.mark.parametrize(("ordinal", "around"), [(2, [0, 1, 3, 4]), (0, [1, 2])])
    def test_shows_existing_neighbours(self, client, sources, ordinal, around):
        answer = client.get(reverse("source", args=[sources[ordinal].pk]), {"window": 2}).json()

        assert [each["ordinal"] for each in answer["neighbours"]] == around
        assert [each["text"] for each in answer["neighbours"]] == [
            sources[each].text for each in around
        ]

    def test_shows_only_neighbours_of_the_same_artifact(self, client, sources):
        give("Another artifact altogether.", index="long")

        answer = client.get(reverse("source", args=[sources[-1].pk]), {"window": 10}).json()

        assert {each["ordinal"] for each in answer["neighbours"]} < set(range(len(sources)))

    @pytest.mark.parametrize("given", [{"window": 11}, {"window": -1}, {"windw": 2}])
    def test_refuses_wrong_parameters(self, client, sources, given):
        answer = client.get(reverse("source", args=[sources[0].pk]), given)

        assert answer.status_code == 400
        assert answer.json()["field"] == next(iter(given))

    def test_answers_404_for_an_unknown_source(self, client):
        answer = client.get(reverse("source", args=[uuid.uuid4()]))

        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_source"

"""Summaries, questions and the hierarchy over HTTP. The documents of ``notes`` are indexed once for
all tests."""

import json

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.apps import apps
from django.core.cache import cache
from rest_framework.test import APIClient

from documents.models import Source
from documents.serializers import render_reference
from documents.services import TextContent, add_artifact
from indexing.models import Node
from retrieval.serializers.answers import SNIPPET_CHARS, clip_text
from tests.factories import PARAGRAPHS, load_index
from tests.written import ALL_KINDS, WRITER, make_build, write_all

SUMMARIES = "/api/v1/search/summaries"
QUESTIONS = "/api/v1/search/questions"
HIERARCHICAL = "/api/v1/search/hierarchical"

UUID = {
    "type": "string",
    "pattern": "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string", "minLength": 1}


def strict(**properties):
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SNIPPET = {"type": ["string", "null"], "minLength": 1, "maxLength": SNIPPET_CHARS}
HIT = strict(
    score={"type": "number", "exclusiveMinimum": 0},
    score_kind={"const": "rrf"},
    node_id=UUID,
    kind={"const": "chunk"},
    text=TEXT,
    start_offset=COUNT,
    end_offset={"type": "integer", "minimum": 1},
    verdict={"enum": ["exact", "stale"]},
    warnings={"const": []},
    artifact=strict(
        id=UUID,
        title={"type": "string"},
        external_id={"type": ["string", "null"]},
        file_name={"type": "string"},
    ),
    page=strict(id=UUID, index=COUNT),
    source=strict(id=UUID, ordinal=COUNT),
    metadata={"type": "object"},
)
HIERARCHY = strict(
    index={"const": "full"},
    build=COUNT,
    took_ms=strict(
        embed={"type": "number"},
        search={"type": "number"},
        verify={"type": "number"},
        total={"type": "number"},
    ),
    artifacts={
        "type": "array",
        "minItems": 1,
        "items": strict(
            artifact_id=UUID,
            artifact_title=TEXT,
            file_name={"type": "string"},
            score={"type": "number", "exclusiveMinimum": 0},
            summary_snippet=SNIPPET,
            pages={
                "type": "array",
                "items": strict(
                    page_id=UUID,
                    page_index=COUNT,
                    score={"type": "number", "exclusiveMinimum": 0},
                    summary_snippet=SNIPPET,
                    supporting_chunks={"type": "array", "maxItems": 3, "items": HIT},
                ),
            },
        ),
    },
    notes={"const": []},
    relevant={"const": True if apps.is_installed("answers") else None},
    dropped=strict(orphans=COUNT, integrity_errors=COUNT),
)


@pytest.fixture
def planned(planned):
    cache.clear()  # it holds which documents other tests had planned
    return planned


@pytest.fixture(scope="module")
def full(shared_store):
    fields = {
        "topics": {"type": "keyword", "many": True, "values": ["birds", "stones"]},
        "place": {"type": "keyword"},
    }
    return make_build("full", metadata=fields, **ALL_KINDS)


@pytest.fixture(scope="module")
def notes(full):
    artifact, _ = add_artifact(
        "full",
        TextContent(tuple(PARAGRAPHS)),
        title="Notes",
        external_id="doc-1",
        metadata={"year": 2019},
    )
    write_all(full, artifact, fields={"topics": ["birds"]})
    return artifact


@pytest.mark.django_db
class TestEverySearch:
    """Tests that apply to every search URL."""

    @pytest.fixture(params=[SUMMARIES, QUESTIONS, HIERARCHICAL])
    def url(self, request):
        return request.param

    def test_accepts_a_body_like_a_query_string(self, client, notes, url):
        chosen = {"artifact_id": str(notes.pk)}
        parameters = {"index": "full", "query": "granite", "mode": "dense", "verify": False}

        for address in (url, f"{url}/"):
            posted = client.post(address, {**parameters, "filter": chosen}, format="json")
            got = client.get(address, {**parameters, "filter": json.dumps(chosen)})

            assert posted.status_code == got.status_code == 200
            answers = [posted.json(), got.json()]
            for answer in answers:
                del answer["took_ms"]
            assert answers[0] == answers[1]

    def test_requires_a_key(self, notes, url):
        assert APIClient().get(url, {"index": "full", "q": "granite"}).status_code == 401

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"limitt": 5}, "limitt"),
            ({"limit": 0}, "limit"),
            ({"limit": 101}, "limit"),
            ({"mode": "psychic"}, "mode"),
            ({"stale": "hide"}, "stale"),
            ({"q": "  "}, "query"),
            ({"query": "granite"}, "q"),
            ({"index": ""}, "index"),
            ({"filter": "{year"}, "filter"),
            ({"filter": '{"yaer": 1}'}, "filter.yaer"),
            ({"filter": '{"topics": "fish"}'}, "filter.topics"),
        ],
    )
    def test_refuses_wrong_parameters(self, client, full, url, given, field):
        answer = client.get(url, {"index": "full", "q": "granite", **given})

        assert answer.status_code == 400, answer.json()
        assert answer.json()["field"] == field

    def test_names_the_indexes_that_support_it(self, client, full, url):
        load_index("plain")

        answer = client.get(url, {"index": "plain", "q": "granite"})

        assert answer.status_code == 400
        assert answer.json()["field"] == "index"
        assert "full" in answer.json()["allowed"]
        assert "plain" not in answer.json()["allowed"]

    def test_answers_404_for_an_unknown_index(self, client, full, url):
        assert client.get(url, {"index": "fulll", "q": "granite"}).status_code == 404

    def test_enqueues_stale_artifacts_for_planning(self, client, notes, planned, url):
        notes.pages.update(text="Something else.")
        Source.objects.update(text="Something else.")

        client.get(url, {"index": "full", "q": "granite"})

        assert planned == [notes.pk]


class TestSummarySearchView:
    def test_returns_page_summaries_as_documented(self, client, notes, full):
        parameters = {"index": "full", "q": "granite crystals", "type": "page_summary", "limit": 1}

        answer = client.get(SUMMARIES, parameters).json()

        page = notes.pages.get(index=1)
        node = Node.objects.get(point_id=page.pk)
        [hit] = answer["hits"]
        assert hit == {
            "score": pytest.approx(2 / 61),
            "score_kind": "rrf",
            "node_id": str(page.pk),
            "kind": "page_summary",
            "text": node.text,
            "start_offset": None,
            "end_offset": None,
            "verdict": "exact",
            "warnings": [],
            "artifact": render_reference(notes),
            "page": {"id": str(page.pk), "index": 1},
            "source": None,
            "metadata": {"year": 2019},
            "type": "page_summary",
            "entity_id": str(page.pk),
            "artifact_id": str(notes.pk),
            "artifact_title": "Notes",
            "summary_text": node.text,
            "model_name": WRITER,
            "date_embedded": node.embedded_at.isoformat().replace("+00:00", "Z"),
            "page_id": str(page.pk),
            "page_index": 1,
        }
        assert answer["build"] == full.number

    def test_returns_artifact_summaries_as_documented(self, client, notes):
        parameters = {"index": "full", "q": "granite", "type": "artifact_summary"}

        [hit] = client.get(SUMMARIES, parameters).json()["hits"]

        assert hit["entity_id"] == hit["artifact_id"] == str(notes.pk)
        assert hit["page"] is None
        assert hit["page_count"] == 4
        assert not {"page_id", "page_index"} & hit.keys()

    def test_lists_the_allowed_types(self, client, full):
        answer = client.get(SUMMARIES, {"index": "full", "q": "granite", "type": "chapter"})

        assert answer.status_code == 400
        assert answer.json()["field"] == "type"
        assert answer.json()["allowed"] == ["all", "artifact_summary", "page_summary"]


class TestQuestionSearchView:
    def test_returns_chunks_as_documented(self, client, notes):
        query = "why is it so that granite cools slowly"

        [hit] = client.get(QUESTIONS, {"index": "full", "q": query, "limit": 1}).json()["hits"]

        node = Node.objects.get(point_id=hit["id"])
        source = notes.sources.get(page__index=1)
        assert hit == {
            "score": hit["score"],
            "score_kind": "rrf",
            "node_id": str(node.point_id),
            "kind": "question",
            "text": source.text[node.start_offset : node.end_offset],
            "start_offset": node.start_offset,
            "end_offset": node.end_offset,
            "verdict": "exact",
            "warnings": [],
            "artifact": render_reference(notes),
            "page": {"id": str(source.page_id), "index": 1},
            "passage": {"id": str(source.pk), "ordinal": source.ordinal},
            "source": "Notes",
            "metadata": {"year": 2019, "topics": ["birds"], "place": None},
            "id": str(node.point_id),
            "chunk_id": node.details["chunk_id"],
            "question": node.text,
            "similarity": hit["similarity"],
            "summary": node.details["summary"],
            "topics": ["birds"],
            "place": None,
        }

    def test_names_the_index_of_each_hit_of_several_indexes(self, client, notes):
        make_build("empty", questions=True)

        answer = client.get(QUESTIONS, {"index": "full,empty", "q": "granite"}).json()

        assert answer["index"] == ["full", "empty"]
        assert {hit["index"] for hit in answer["hits"]} == {"full"}


class TestHierarchicalSearchView:
    def test_returns_artifacts_as_documented(self, client, notes):
        answer = client.post(
            HIERARCHICAL, {"index": "full", "query": "granite crystals"}, format="json"
        ).json()

        jsonschema.validate(answer, HIERARCHY)
        [artifact] = answer["artifacts"]
        assert artifact["artifact_title"] == "Notes"
        assert artifact["pages"][0]["page_index"] == 1
        assert artifact["pages"][0]["summary_snippet"].startswith("Summary: Granite")

    def test_refuses_parameters_of_other_searches(self, client, notes):
        for name in ("offset", "min_score", "type"):
            answer = client.get(HIERARCHICAL, {"index": "full", "q": "granite", name: 1})

            assert answer.status_code == 400
            assert answer.json()["field"] == name

    def test_returns_at_most_fifty_artifacts(self, client, notes):
        assert (
            client.get(HIERARCHICAL, {"index": "full", "q": "a b", "limit": 50}).status_code == 200
        )
        assert (
            client.get(HIERARCHICAL, {"index": "full", "q": "a b", "limit": 51}).status_code == 400
        )

    def test_explains_its_chunks(self, client, notes):
        parameters = {"index": "full", "q": "granite", "explain": "true"}

        answer = client.get(HIERARCHICAL, parameters).json()

        chunks = answer["artifacts"][0]["pages"][0]["supporting_chunks"]
        assert {"dense", "sparse", "fusion", "words"} == chunks[0]["explain"].keys()

    def test_names_the_index_of_each_artifact_of_several_indexes(self, client, notes):
        make_build("empty", **ALL_KINDS)

        answer = client.get(HIERARCHICAL, {"index": "full,empty", "q": "granite"}).json()

        assert answer["build"] == [1, 1]
        assert [artifact["index"] for artifact in answer["artifacts"]] == ["full"]


class TestClipText:
    @pytest.mark.parametrize(
        ("text", "clipped"),
        [
            ("", ""),
            ("Short.", "Short."),
            ("ten chars!", "ten chars!"),
            ("ten chars, more", "ten…"),
            ("one two three four", "one two…"),
            ("abcdefghijklmnop", "abcdefghi…"),
            ("東京は日本の首都です。京都も", "東京は日本の首都で…"),
        ],
    )
    def test_ends_at_a_word_within_the_limit(self, text, clipped):
        assert clip_text(text, 10) == clipped
        assert len(clipped) <= 10

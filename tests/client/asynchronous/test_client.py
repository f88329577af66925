"""The request that each method sends, and the result it makes from the response."""

import json

import httpx
import pytest

from strata_client import ArtifactFailed, AsyncStrata, InvalidRequest, NotReady, Unavailable
from strata_client._async import polling
from tests.client.scripted import URL, Script, answers, artifact

pytestmark = pytest.mark.anyio

ADDED = answers(202, artifact("received"))
FOUND = answers(200, {"hits": []})


def asking(script: Script, **options) -> AsyncStrata:
    return AsyncStrata(URL, "a-key", transport=script, **options)


def verdicts(*kinds: str) -> httpx.Response:
    lines = [{"line": line, "verdict": kind} for line, kind in enumerate(kinds, start=1)]
    return httpx.Response(200, content="".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.fixture
def waits(monkeypatch):
    slept: list[float] = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(polling, "sleep", sleep)
    return slept


class TestIndexes:
    async def test_are_the_results_of_the_response(self):
        script = Script(answers(200, {"count": 1, "results": [{"name": "plain"}]}))
        async with asking(script) as strata:
            assert [index["name"] for index in await strata.indexes()] == ["plain"]

        assert script.asked == ["GET indexes/"]


class TestUpdate:
    async def test_sends_only_the_given_fields(self):
        script = Script(ADDED)
        async with asking(script) as strata:
            await strata.update("a1", groups=[], title="Tides")

        assert script.asked == ["PATCH artifacts/a1/"]
        assert script.body() == {"groups": [], "title": "Tides"}


class TestAdd:
    async def test_sends_a_text_as_json_with_only_the_given_fields(self):
        script = Script(ADDED)
        async with asking(script) as strata:
            added = await strata.add("plain", text="Tides turn.", metadata={"year": 2024})

        assert added["status"] == "received"
        assert script.asked == ["POST indexes/plain/artifacts/"]
        assert script.body() == {"text": "Tides turn.", "metadata": {"year": 2024}}

    async def test_sends_pages_as_json(self):
        script = Script(ADDED)
        async with asking(script) as strata:
            await strata.add("plain", pages=["One.", "Two."], title="Two pages")

        assert script.body() == {"pages": ["One.", "Two."], "title": "Two pages"}

    async def test_sends_a_file_as_a_form(self, tmp_path):
        path = tmp_path / "tides.md"
        path.write_bytes(b"# Tides\n")
        script = Script(ADDED)
        async with asking(script) as strata:
            await strata.add("plain", file=path, external_id="t", metadata={"year": 2024})

        [request] = script.requests
        assert request.headers["Content-Type"].startswith("multipart/form-data")
        assert b'filename="tides.md"' in request.content
        assert b"# Tides\n" in request.content
        assert b'{"year": 2024}' in request.content
        assert b"title" not in request.content

    async def test_sends_groups_as_a_list_in_json_and_as_text_in_a_form(self, tmp_path):
        path = tmp_path / "tides.md"
        path.write_bytes(b"# Tides\n")
        script = Script(ADDED, ADDED)
        async with asking(script) as strata:
            await strata.add("plain", text="Tides turn.", groups=["board", "staff"])
            await strata.add("plain", file=path, groups=["board", "staff"])

        [text, form] = script.requests
        assert json.loads(text.content)["groups"] == ["board", "staff"]
        assert b'["board", "staff"]' in form.content

    @pytest.mark.parametrize(
        ("given", "field"), [({}, "text"), ({"text": "a", "pages": ["b"]}, "pages")]
    )
    async def test_requires_exactly_one_kind_of_content(self, given, field):
        script = Script(ADDED)
        async with asking(script) as strata:
            with pytest.raises(InvalidRequest) as raised:
                await strata.add("plain", **given)

        assert raised.value.field == field
        assert script.asked == []


class TestReplace:
    async def test_sends_a_text_as_json_and_a_file_as_a_form(self):
        script = Script(ADDED, ADDED)
        async with asking(script) as strata:
            await strata.replace("a1", text="Tides turn.")
            await strata.replace("a1", file=("tides.md", b"# Tides"))

        text, form = script.requests
        assert script.asked == ["PUT artifacts/a1/content"] * 2
        assert json.loads(text.content) == {"text": "Tides turn."}
        assert b'filename="tides.md"' in form.content


class TestAddBatch:
    async def test_sends_one_line_per_document(self):
        script = Script(verdicts("added", "rejected"))
        async with asking(script) as strata:
            told = await strata.add_batch("plain", [{"text": "Ä", "url": None}, {"title": "b"}])

        assert [verdict["verdict"] for verdict in told] == ["added", "rejected"]
        [request] = script.requests
        assert request.headers["Content-Type"] == "application/x-ndjson"
        assert request.content.decode() == '{"text": "Ä"}\n{"title": "b"}\n'

    async def test_numbers_lines_across_its_requests(self, monkeypatch):
        monkeypatch.setattr("strata_client.bodies.MAX_REQUEST_LINES", 2)
        script = Script(verdicts("added", "added"), verdicts("revised"))
        documents = ({"text": text} for text in "abc")  # can be iterated only once
        async with asking(script) as strata:
            told = await strata.add_batch("plain", documents)

        assert [(verdict["line"], verdict["verdict"]) for verdict in told] == [
            (1, "added"), (2, "added"), (3, "revised")
        ]  # fmt: skip
        assert len(script.requests) == 2

    async def test_sends_no_request_for_an_empty_batch(self):
        script = Script(ADDED)
        async with asking(script) as strata:
            assert await strata.add_batch("plain", []) == []

        assert script.asked == []

    async def test_raises_an_error_if_verdicts_are_missing(self):
        async with asking(Script(verdicts("added"))) as strata:
            with pytest.raises(Unavailable, match="for 2 documents"):
                await strata.add_batch("plain", [{"text": "a"}, {"text": "b"}])


class TestWaitUntilReady:
    async def test_requests_the_artifact_until_it_is_ready(self, waits):
        looks = [answers(200, artifact(status)) for status in ("received", "parsing", "ready")]
        script = Script(*looks)
        async with asking(script) as strata:
            ready = await strata.wait_until_ready("a1")

        assert ready["status"] == "ready"
        assert script.asked == ["GET artifacts/a1/"] * 3
        assert waits == sorted(waits)

    async def test_waits_for_several_artifacts(self, waits):
        script = Script(answers(200, artifact("ready")))
        async with asking(script) as strata:
            ready = await strata.wait_until_ready(["a1", "a2"])

        assert len(ready) == 2
        assert script.asked == ["GET artifacts/a1/", "GET artifacts/a2/"]

    async def test_raises_the_error_of_a_failed_artifact(self, waits):
        error = {"code": "damaged_file", "detail": "The file is damaged."}
        async with asking(Script(answers(200, artifact("failed", error=error)))) as strata:
            with pytest.raises(ArtifactFailed, match="Tides: The file is damaged") as raised:
                await strata.wait_until_ready("a1")

        assert raised.value.code == "damaged_file"
        assert raised.value.artifact["id"] == "a1"

    async def test_raises_an_error_after_the_timeout(self, waits):
        async with asking(Script(answers(200, artifact("indexing")))) as strata:
            with pytest.raises(NotReady, match="still indexing"):
                await strata.wait_until_ready("a1", timeout=0)

        assert waits == []


class TestDelete:
    async def test_returns_how_many_points_are_left(self):
        script = Script(answers(202, {"deleted": True, "points": 3}))
        async with asking(script) as strata:
            assert (await strata.delete("a1"))["points"] == 3

        assert script.asked == ["DELETE artifacts/a1/"]


class TestSearch:
    @pytest.mark.parametrize("kind", ["pages", "summaries", "questions"])
    async def test_sends_the_request_to_the_search_of_its_kind(self, kind):
        script = Script(FOUND)
        async with asking(script) as strata:
            await strata.search("plain", "tides", kind=kind, limit=3, filter=None, verify=False)

        assert script.asked == [f"POST search/{kind}"]
        assert script.body() == {"index": "plain", "query": "tides", "limit": 3, "verify": False}

    async def test_accepts_several_indexes(self):
        script = Script(FOUND)
        async with asking(script) as strata:
            await strata.search(("plain", "minutes"), "tides")

        assert script.body()["index"] == ["plain", "minutes"]

    async def test_sends_options_that_it_does_not_know(self):
        script = Script(FOUND)
        async with asking(script) as strata:
            await strata.search("plain", "tides", exlpain=True)

        assert script.body()["exlpain"] is True  # sent as it is: the server lists the known options

    async def test_rejects_unknown_kinds(self):
        async with asking(Script(FOUND)) as strata:
            with pytest.raises(InvalidRequest) as raised:
                await strata.search("plain", "tides", kind="chunks")

        assert raised.value.allowed == ["pages", "summaries", "questions"]

    async def test_supports_hierarchical_search(self):
        script = Script(answers(200, {"artifacts": []}))
        async with asking(script) as strata:
            await strata.search_hierarchical("plain", "tides", mode="dense")

        assert script.asked == ["POST search/hierarchical"]
        assert script.body() == {"index": "plain", "query": "tides", "mode": "dense"}


class TestDeleteIndex:
    async def test_sends_the_name_as_confirmation(self):
        script = Script(answers(200, {"index": "plain", "deleted": True, "points": 0}))
        async with asking(script) as strata:
            assert (await strata.delete_index("plain", confirm="plain"))["points"] == 0

        assert script.asked == ["DELETE indexes/plain/?confirm=plain"]


class TestKeys:
    async def test_are_created_listed_and_revoked(self):
        made = {"id": 7, "name": "reader", "secret": "strata_x"}
        script = Script(
            answers(201, made), answers(200, {"results": [{"id": 7}]}), answers(200, {"id": 7})
        )
        async with asking(script) as strata:
            key = await strata.create_key("reader", indexes=("plain",))
            listed = await strata.keys()
            await strata.revoke_key(key["id"])

        assert (key["secret"], listed) == ("strata_x", [{"id": 7}])
        assert script.asked == ["POST keys/", "GET keys/", "DELETE keys/7/"]
        assert script.body(0) == {"name": "reader", "scope": "search", "indexes": ["plain"]}

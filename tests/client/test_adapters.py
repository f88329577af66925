"""Promises every adapter keeps, in both forms. A new adapter joins by one line in ADAPTERS."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from strata_client import AccessDenied, AsyncStrata, Strata
from strata_client.adapters import searching
from tests.client.scripted import URL, Script, answers, refuses

pytestmark = pytest.mark.anyio

SOURCES = Path(__file__).resolve().parents[2] / "client" / "src"


class Found(NamedTuple):
    """What an adapter returned, in the words of no framework. ``score``: None where documents of
    the framework have none."""

    id: str
    text: str
    score: float | None
    metadata: dict[str, Any]


def make_langchain(**search: Any) -> Any:
    from strata_client.adapters.langchain import StrataRetriever

    return StrataRetriever(**search)


def make_llama_index(**search: Any) -> Any:
    from strata_client.adapters.llama_index import StrataRetriever

    return StrataRetriever(**search)


def make_haystack(**search: Any) -> Any:
    from strata_client.adapters.haystack import StrataRetriever

    return StrataRetriever(**search)


def read_langchain(documents: Any) -> list[Found]:
    return [Found(each.id, each.page_content, None, each.metadata) for each in documents]


def read_llama_index(nodes: Any) -> list[Found]:
    return [Found(each.node_id, each.text, each.score, each.metadata) for each in nodes]


def read_haystack(output: Any) -> list[Found]:
    return [Found(each.id, each.content, each.score, each.meta) for each in output["documents"]]


class Adapter(NamedTuple):
    make: Callable[..., Any]
    run: str  # the name of its method, and of the asynchronous one
    run_async: str
    argument: str
    read: Callable[[Any], list[Found]]


ADAPTERS = {
    "langchain": Adapter(make_langchain, "invoke", "ainvoke", "input", read_langchain),
    "llama_index": Adapter(
        make_llama_index, "retrieve", "aretrieve", "str_or_query_bundle", read_llama_index
    ),
    "haystack": Adapter(make_haystack, "run", "run_async", "query", read_haystack),
}


def hit(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "score": 0.03 / number, "score_kind": "rrf", "node_id": f"node-{number}", "kind": "chunk",
        "text": f"Tide {number}.", "start_offset": 10 * number, "end_offset": 10 * number + 7,
        "verdict": "stale" if number == 2 else "exact",
        "artifact": {"id": "a1", "title": "Tides", "external_id": None},
        "page": {"id": "p1", "index": 4}, "source": {"id": "s1", "ordinal": 0},
        "metadata": {"year": 1911, "title": "of the metadata"}, **fields,
    }  # fmt: skip


@pytest.fixture
def script() -> Script:
    return Script(answers(200, {"index": "plain", "hits": [hit(1), hit(2), hit(3)]}))


@pytest.fixture(params=ADAPTERS)
def adapter(request) -> Adapter:
    return ADAPTERS[request.param]


@pytest.fixture(params=["synchronous", "asynchronous"])
def search(request, adapter, script):
    """Searches with an adapter made with these arguments."""

    async def search(query: str, **given: Any) -> list[Found]:
        client = Strata(URL, key="k", transport=script, retries=0)
        async_client = AsyncStrata(URL, key="k", transport=script, retries=0)
        made = adapter.make(
            **{"index": "plain", "client": client, "async_client": async_client, **given}
        )
        argument = {adapter.argument: query}
        if request.param == "synchronous":
            return adapter.read(getattr(made, adapter.run)(**argument))
        return adapter.read(await getattr(made, adapter.run_async)(**argument))

    return search


class TestEveryAdapter:
    async def test_returns_the_hits_in_the_order_of_the_service(self, search):
        found = await search("tide")

        assert [each.text for each in found] == ["Tide 1.", "Tide 2.", "Tide 3."]
        assert [each.id for each in found] == ["node-1", "node-2", "node-3"]

    async def test_returns_the_place_and_verdict_of_each_passage(self, search):
        first, second, _ = await search("tide")

        assert first.metadata == {
            "year": 1911, "title": "Tides", "page": 4, "start_offset": 10, "end_offset": 17,
            "verdict": "exact", "score": 0.03, "score_kind": "rrf", "artifact_id": "a1",
            "source_id": "s1", "node_id": "node-1",
        }  # fmt: skip
        assert second.metadata["verdict"] == "stale"
        assert first.score in {None, 0.03}

    async def test_sends_all_search_parameters(self, search, script):
        await search(
            "tide",
            index=["plain", "library"],
            kind="questions",
            filter={"year": {"gte": 1900}},
            limit=3,
            options={"mode": "dense", "stale": "omit"},
        )

        assert script.asked == ["POST search/questions"]
        assert script.body() == {
            "index": ["plain", "library"], "query": "tide", "filter": {"year": {"gte": 1900}},
            "limit": 3, "mode": "dense", "stale": "omit",
        }  # fmt: skip

    async def test_reads_hits_of_question_and_summary_searches(self, search, script):
        asked = {"question": "When is high tide?", "chunk_id": "c1", "summary": "On tides."}
        by_question = hit(1, source="tides.pdf", passage={"id": "s9", "ordinal": 0}, **asked)
        summary = hit(2, page=None, source=None, start_offset=None, end_offset=None)
        script.answers = [answers(200, {"hits": [by_question, summary]})]

        found = await search("tide")

        assert [each.metadata["source_id"] for each in found] == ["s9", None]
        assert asked.items() <= found[0].metadata.items()
        assert not asked.keys() & found[1].metadata.keys()
        assert found[1].metadata["page"] is None

    async def test_raises_the_errors_of_the_client(self, search, script):
        script.answers = [refuses(403, "missing_scope", fix="Ask for a key.")]

        with pytest.raises(AccessDenied) as caught:
            await search("tide")

        assert (caught.value.code, caught.value.fix) == ("missing_scope", "Ask for a key.")


async def search_again(client: Strata | AsyncStrata) -> None:
    answer: Any = client.search("plain", "tide")
    if isinstance(client, AsyncStrata):
        await answer


class TestWithoutAClient:
    async def test_creates_clients_from_the_environment_and_closes_them(
        self, search, script, monkeypatch
    ):
        made = []

        def make(kind: Any) -> Any:
            made.append(kind(transport=script))
            return made[-1]

        monkeypatch.setenv("STRATA_URL", URL)
        monkeypatch.setenv("STRATA_KEY", "of the environment")
        for kind in (Strata, AsyncStrata):
            monkeypatch.setattr(searching, kind.__name__, partial(make, kind))

        found = await search("tide", client=None, async_client=None)

        [request] = script.requests
        assert len(found) == 3
        assert request.url.host == "strata.test"
        assert request.headers["Authorization"] == "Bearer of the environment"
        with pytest.raises(RuntimeError, match="closed"):
            await search_again(made[0])


class TestHaystackComponent:
    def test_is_serialized_without_its_clients(self):
        from haystack.core.serialization import component_from_dict, component_to_dict

        made = make_haystack(
            index="plain", kind="questions", limit=3, options={"mode": "dense"}, client=Strata(URL)
        )
        written = component_to_dict(made, "strata")

        read = component_from_dict(type(made), written, "strata")

        assert component_to_dict(read, "strata") == written
        assert written["init_parameters"]["limit"] == 3
        assert "client" not in written["init_parameters"]

    async def test_accepts_filter_and_limit_for_one_query(self, script):
        made = make_haystack(index="plain", client=Strata(URL, key="k", transport=script))

        made.run(query="tide", filter={"year": 1911}, limit=2)
        made.run(query="tide")

        assert (script.body(0)["filter"], script.body(0)["limit"]) == ({"year": 1911}, 2)
        assert "filter" not in script.body(1)


class TestImports:
    def test_of_the_client_import_no_framework(self):
        program = (
            "import sys, strata_client, strata_client.adapters\n"
            "frameworks = {'langchain_core', 'llama_index', 'haystack', 'pydantic'}\n"
            "sys.exit(' '.join(sorted(frameworks & set(sys.modules))) or 0)"
        )

        done = subprocess.run(
            [sys.executable, "-c", program], cwd=SOURCES, capture_output=True, text=True
        )

        assert done.returncode == 0, done.stderr

"""The official client and a real service, over both transports."""

import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from django.core.management import CommandError, call_command
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.faults.armed import ArmedService, armed
from tests.serving import KEY, ROOT

pytestmark = pytest.mark.anyio

STRUCTURED: Any = {"strata/structured": True}
NOTE = "The ferry to Ven leaves at noon. It carries no cars."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[ArmedService]:
    with armed(tmp_path_factory.mktemp("served")) as service:
        yield service


@asynccontextmanager
async def over_http(service: ArmedService, key: str, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(service: ArmedService, key: str, mode: str) -> AsyncIterator[Client]:
    environment = {**service.environment, "STRATA_KEY": key}
    command = StdioServerParameters(
        command=sys.executable, args=[str(ROOT / "manage.py"), "mcp"], env=environment
    )
    async with Client(command, mode=mode) as client:
        yield client


def make_key(service: ArmedService, **rights: object) -> str:
    answer = service.api.post("keys/", json=rights)
    assert answer.is_success, answer.text
    return str(answer.json()["secret"])


class TestSession:
    @pytest.mark.parametrize(
        ("connect", "mode"), [(over_http, "auto"), (over_http, "legacy"), (over_stdio, "legacy")]
    )
    async def test_adds_finds_and_reads_documents(self, service, connect, mode):
        async with connect(service, KEY, mode) as client:
            assert client.server_info.name == "strata"
            assert "list_indexes" in {tool.name for tool in (await client.list_tools()).tools}

            added = await client.call_tool(
                "add_document",
                {"index": "plain", "text": NOTE, "title": "Ferries"},
                meta=STRUCTURED,
            )
            search = {
                "index": "plain",
                "query": "ferry to Ven",
                "min_revision": added.structured_content["revision"],
            }
            found = await client.call_tool("search", search, meta=STRUCTURED)
            [hit] = found.structured_content["hits"]
            assert hit["text"] == NOTE
            assert NOTE not in found.content[0].text

            found = await client.call_tool("search", search)
            assert found.structured_content is None
            [text] = [content.text for content in found.content]
            assert text.startswith("[1] Ferries · page 1 · exact · rrf 0.0")
            assert "(dense " in text
            assert f"characters 0 to {len(NOTE)} of source {hit['source']['id']}" in text
            assert NOTE in text

            source = await client.call_tool("get_source", {"source_id": hit["source"]["id"]})
            assert NOTE in source.content[0].text

            asked = await client.call_tool("ask", {"index": "plain", "query": "When is the ferry?"})
            assert not asked.is_error
            assert "[1] Ferries" in asked.content[0].text

            wrong = await client.call_tool("search", {"index": "nil", "query": "ferry"})
            assert (wrong.is_error, wrong.structured_content["code"]) == (True, "unknown_index")

            [document] = (await client.list_resources()).resources
            assert document.name == "Ferries"
            read = await client.read_resource(document.uri)
            assert NOTE in [each.text for each in read.contents][1]
            with pytest.raises(MCPError, match="There is no such resource"):
                await client.read_resource("strata://nothing")

    @pytest.mark.parametrize("connect", [over_http, over_stdio])
    async def test_shows_only_indexes_and_tools_of_the_key(self, service, connect):
        key = make_key(
            service, name=connect.__name__, scope="search", indexes=["plain", "evidence"]
        )

        async with connect(service, key, "auto") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            indexes = await client.call_tool("list_indexes", {}, meta=STRUCTURED)
            refused = await client.call_tool("add_document", {"index": "plain", "text": "x"})

        assert "add_document" not in names
        assert not [name for name in names if name.startswith("physio__")]
        listed = {each["name"] for each in indexes.structured_content["results"]}
        assert listed == {"plain", "evidence"}
        assert (refused.is_error, refused.structured_content["code"]) == (True, "missing_scope")


class TestDocuments:
    @pytest.mark.parametrize(
        ("connect", "mode"), [(over_http, "auto"), (over_http, "legacy"), (over_stdio, "legacy")]
    )
    async def test_are_listed_read_and_deleted(self, service, connect, mode):
        async with connect(service, KEY, mode) as client:
            added = await client.call_tool(
                "add_document",
                {"index": "plain", "text": "x" * 60_000 + NOTE, "title": "Timetable"},
                meta=STRUCTURED,
            )
            listed = await client.call_tool("list_documents", {"index": "plain", "limit": "100"})
            document = added.structured_content["id"]
            assert f"Timetable · document {document}" in listed.content[0].text

            given = {"document_id": document}
            for _ in range(3):
                read = await client.call_tool("open_document", given)
                if more := re.search(r"page (\d+) and start (\d+)", read.content[0].text):
                    given = {"document_id": document, "page": more[1], "start": more[2]}
            assert NOTE in read.content[0].text

            deleted = await client.call_tool("delete_document", {"document_id": document})
            assert not deleted.is_error
            gone = await client.call_tool("open_document", {"document_id": document})
            assert gone.structured_content["code"] == "unknown_artifact"


class TestProgress:
    @pytest.mark.parametrize(
        ("connect", "mode"), [(over_http, "auto"), (over_http, "legacy"), (over_stdio, "legacy")]
    )
    async def test_of_an_answer_arrives_before_it_and_changes_nothing(self, service, connect, mode):
        service.add("plain", text=NOTE, title="Ferries", external_id="ferries")
        reported: list[tuple[float, str]] = []
        question = {"index": "plain", "query": "When does the ferry to Ven leave?"}

        async def note(progress: float, total: float | None, message: str | None) -> None:
            reported.append((progress, message or ""))

        async with connect(service, KEY, mode) as client:
            plain = await client.call_tool("ask", question, meta=STRUCTURED)
            assert reported == []
            answered = await client.call_tool(
                "ask", question, progress_callback=note, meta=STRUCTURED
            )
            arrived = list(reported)

            refused = await client.call_tool(
                "ask", {"index": "nil", "query": "?"}, progress_callback=note
            )

        assert not answered.is_error
        for each in (answered, plain):
            for name in ("took_ms", "started_at", "found_at"):
                del each.structured_content[name]
        assert answered.structured_content == plain.structured_content
        assert answered.content == plain.content
        numbers = [progress for progress, _ in arrived]
        assert numbers == list(range(1, len(arrived) + 1))
        assert len(arrived) >= 3
        assert arrived[0][1] == f"Found {len(plain.structured_content['hits'])} passages."
        text = "".join(message for _, message in arrived[1:])
        assert text == plain.structured_content["answer"]
        assert (refused.is_error, refused.structured_content["code"]) == (True, "unknown_index")
        assert reported == arrived


class TestGuide:
    def test_has_a_program_that_runs_unchanged(self, service, monkeypatch, capsys):
        guide = (ROOT / "docs" / "how-to" / "connect-agents.md").read_text(encoding="utf-8")
        [program] = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        monkeypatch.setenv("STRATA_URL", service.url)
        monkeypatch.setenv("STRATA_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        service.add("plain", text=NOTE, title="Ferries")

        exec(compile(program, "connect-agents.md", "exec"), {})

        assert NOTE in capsys.readouterr().out


class TestDoor:
    """The limits of the web server and of request bodies hold for MCP."""

    def test_refuses_a_large_body(self, service):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "x" * 70_000}}

        response = service.api.post(f"{service.url}/mcp", json=message)

        assert (response.status_code, response.json()["code"]) == (413, "too_large")

    def test_refuses_an_unknown_key(self, service):
        response = httpx.post(
            f"{service.url}/mcp", json={}, headers={"Authorization": "Bearer x"}, trust_env=False
        )

        assert (response.status_code, response.json()["code"]) == (401, "unknown_key")


class TestCommand:
    """Standard input and output need a running service."""

    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch):
        monkeypatch.delenv("STRATA_URL", raising=False)
        monkeypatch.delenv("STRATA_KEY", raising=False)

    def test_explains_what_to_do_without_a_service(self):
        with pytest.raises(CommandError, match=r"No service runs .* Start one with strata serve"):
            call_command("mcp")

    def test_reports_a_refused_key(self, service, monkeypatch):
        monkeypatch.setenv("STRATA_KEY", "strata_of_nobody")

        with pytest.raises(CommandError, match="refuses the key: This key is unknown"):
            call_command("mcp", url=service.url)

    def test_reports_that_the_service_does_not_answer(self, monkeypatch):
        monkeypatch.setenv("STRATA_KEY", "strata_of_nobody")

        with pytest.raises(CommandError, match=r"The service at http://127\.0\.0\.1:9 does not"):
            call_command("mcp", url="http://127.0.0.1:9")

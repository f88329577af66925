"""The evidence methods against a real server with the preset ``evidence``."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from strata_client import AsyncStrata, InvalidRequest, Strata, types
from strata_client.types import EvidenceItem
from tests.client.declared import differences
from tests.serving import KEY

pytestmark = pytest.mark.anyio

INDEX = "evidence"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "research-loop.md"
NEAR = 0.4


def found(name: str, content: str) -> EvidenceItem:
    return {
        "url": f"https://example.org/{name}",
        "content": content,
        "citation": {"source": "a survey", "title": name, "date": "2024-03-01", "authors": ["Ada"]},
    }


def asking(service) -> AsyncStrata:
    return AsyncStrata(service.url, KEY, transport=httpx.AsyncHTTPTransport())


class TestAdd:
    async def test_finds_duplicates_in_one_batch_and_in_the_store(self, service):
        bees = found("bees", "Honey bees dance to show others where nectar is found.")
        twin = found("bees-again", "The honey bees dance to show others where nectar was found.")
        other = found("steel", "Blast furnaces turn iron ore and coke into pig iron.")
        async with asking(service) as strata:
            first, second, third = await strata.evidence.add(INDEX, [bees, twin, other])

        assert [first["verdict"], second["verdict"], third["verdict"]] == [
            "added", "duplicate", "added"
        ]  # fmt: skip
        assert [verdict["url"] for verdict in (first, second)] == [bees["url"], twin["url"]]
        assert second["duplicate_of"] == first["artifact_id"]
        assert 0.9 <= second["similarity"] <= 1
        assert first["artifact_id"] != third["artifact_id"]

    async def test_accepts_a_single_item_and_updates_it_by_its_url(self, service):
        async with asking(service) as strata:
            [first] = await strata.evidence.add(
                INDEX, found("salt", "Salt melts the ice on roads.")
            )
            [second] = await strata.evidence.add(
                INDEX, found("salt", "Roman soldiers were said to be paid in salt.")
            )

        assert (first["verdict"], second["verdict"]) == ("added", "updated")
        assert first["artifact_id"] == second["artifact_id"]

    async def test_accepts_a_threshold(self, service):
        plain = found("glass", "Glass is made by melting sand with soda and lime.")
        near = found("glass-near", "By melting sand with soda and lime, glass is made.")
        async with asking(service) as strata:
            await strata.evidence.add(INDEX, plain)
            [verdict] = await strata.evidence.add(INDEX, near, threshold=0.5)
            with pytest.raises(InvalidRequest) as raised:
                await strata.evidence.add(INDEX, near, threshold=1.5)

        assert verdict["verdict"] == "duplicate"
        assert raised.value.field == "threshold"

    async def test_adds_one_of_several_simultaneous_duplicates(self, service):
        items = [found(f"comet-{n}", "A comet's tail points away from the sun.") for n in range(8)]
        async with asking(service) as strata:
            told = await asyncio.gather(*(strata.evidence.add(INDEX, item) for item in items))

        verdicts = [verdict["verdict"] for [verdict] in told]
        assert sorted(verdicts) == ["added"] + ["duplicate"] * 7


class TestSimilarAndRelated:
    async def test_return_the_nearest_evidence_and_related_leaves_out_urls(self, service):
        owl = found("owl", "Owls fly without a sound thanks to the comb on their feathers.")
        bat = found("bat", "Bats hunt moths at night by listening to their own echoes.")
        async with asking(service) as strata:
            *_, last = await strata.evidence.add(INDEX, [owl, bat])
            shown = {"limit": 5, "min_revision": last["revision"]}
            similar = await strata.evidence.similar(INDEX, "why do owls fly silently", **shown)
            related = await strata.evidence.related(
                INDEX, "why do owls fly silently", urls=[owl["url"]], **shown
            )
            none = await strata.evidence.similar(INDEX, "why do owls fly", min_similarity=0.999)

        assert similar[0]["url"] == owl["url"]
        assert similar[0]["content"] == owl["content"]
        assert similar[0]["citation"] == owl["citation"]
        assert similar[0]["similarity"] > NEAR
        assert owl["url"] not in [hit["url"] for hit in related]
        assert related == sorted(related, key=lambda hit: -hit["similarity"])
        assert none == []


class TestSynchronousClient:
    def test_adds_and_finds_evidence(self, service):
        tulips = found("tulips", "In 1637 the price of tulip bulbs collapsed in Haarlem.")
        with Strata(service.url, KEY, transport=httpx.HTTPTransport()) as strata:
            [verdict] = strata.evidence.add(INDEX, tulips)
            [hit] = strata.evidence.similar(
                INDEX, "tulip mania", limit=1, min_revision=verdict["revision"]
            )
            related = strata.evidence.related(INDEX, "tulip mania", urls=[tulips["url"]])

        assert verdict["verdict"] == "added"
        assert hit["url"] == tulips["url"]
        assert tulips["url"] not in [hit["url"] for hit in related]


class TestTypes:
    def test_of_a_verdict_match_the_openapi_document(self, schemas):
        kind = types.EvidenceVerdict

        assert differences(kind, schemas["EvidenceVerdict"], schemas, "EvidenceVerdict") == []


class TestGuide:
    def test_runs_unchanged(self, service, monkeypatch, capsys):
        monkeypatch.setenv("STRATA_URL", service.url)
        monkeypatch.setenv("STRATA_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        missed = found("boat", "The boat to the island sails from the western pier at midday.")
        [program, _] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
        with Strata(service.url, KEY, transport=httpx.HTTPTransport()) as strata:
            ferry = strata.add("plain", text="The ferry leaves at noon.", external_id="ferry-noon")
            strata.wait_until_ready(ferry["id"], timeout=120)
            [verdict] = strata.evidence.add(INDEX, missed)
            strata.wait_until_ready(verdict["artifact_id"], timeout=120)

        exec(compile(program, GUIDE.name, "exec"), {})

        told = capsys.readouterr().out
        assert "The ferry leaves at noon." in told
        assert missed["content"] in told

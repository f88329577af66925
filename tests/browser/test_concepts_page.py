"""The page of concepts in a real browser, against the real service."""

import time
from typing import TYPE_CHECKING

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

INDEX = "knowledge"
TEXT = (
    "The heron waits in the shallows at dawn. It catches fish without moving its feet. "
    "Where reeds are cut, herons leave."
)


def make(service: Service, path: str, **content: object) -> str:
    answer = service.api.post(f"indexes/{INDEX}/{path}/", json=content)
    assert answer.is_success, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def graph(service: Service) -> None:
    heron = make(service, "concepts", label="Heron", description="A bird that waits for fish")
    fish = make(service, "concepts", label="Fish", description="What herons catch")
    eats = make(service, "relationship-types", name="EATS", category="structural")
    make(service, "relationships", source=heron, type=eats, target=fish)
    artifact = service.add(INDEX, title="Notes on herons", text=TEXT)
    quoted = service.api.post(
        f"concepts/{heron}/instances/", json={"quote": "the heron waits", "artifact": artifact}
    )
    assert quoted.is_success, quoted.text
    service.add(INDEX, title="Notes on fish", text="Fish that birds catch swim in the pond.")


@pytest.fixture
def drawn(page: "Page", graph: None) -> "Page":
    page.goto(f"/concepts/#key={KEY}")
    page.fill("#min-similarity", "0.2")
    for _ in range(30):
        page.fill("#q", "birds that catch fish")
        page.click("text=Draw")
        page.wait_for_selector("#status:not(:empty)")
        if page.locator(".edge").count():
            break
        page.wait_for_timeout(1_000)  # until they are embedded
    return page


@pytest.fixture
def paired(service: Service, graph: None) -> None:
    """Two concepts of the same words, of which the service knows that they are a pair."""
    for name in ("Grey heron of the marshes", "Grey herons of the marshes"):
        make(service, "concepts", label=name)
    for _ in range(60):
        service.api.post("reconcile/")
        if service.api.get("emergent", params={"index": INDEX}).json()["count"]:
            return
        time.sleep(0.5)


class TestConceptsPage:
    def test_draws_concepts_and_their_relationships(self, drawn: "Page") -> None:
        labels = drawn.locator("[data-concept]").evaluate_all(
            "nodes => nodes.map(node => node.getAttribute('aria-label'))"
        )
        assert {"Heron", "Fish"} <= set(labels)
        assert drawn.locator(".edge").count() == 1
        assert drawn.locator("#drawing .type").text_content() == "EATS"
        assert drawn.locator("#legend li").all_text_contents() == ["structural"]

    def test_shows_every_relationship_of_the_only_concept(self, drawn: "Page") -> None:
        drawn.fill("#min-similarity", "0.85")
        drawn.fill("#q", "Heron: a bird that waits for fish")
        drawn.click("text=Draw")
        drawn.wait_for_selector(".related")

        assert drawn.locator("#status").text_content() == (
            "1 concept, 1 relationship. Choose a concept to read its quotes."
        )
        assert drawn.locator(".found").get_attribute("aria-label") == "Heron"
        assert drawn.locator(".related").get_attribute("aria-label") == "Fish"

    def test_opens_the_passage_of_a_concept(self, drawn: "Page") -> None:
        drawn.locator("[aria-label=Heron]").press("Enter")
        quote = drawn.locator(
            "#evidence article", has=drawn.get_by_text("The heron waits", exact=True)
        )
        quote.wait_for()

        quote.get_by_text("Show more text").click()
        mark = drawn.wait_for_selector("#evidence mark")
        assert mark is not None
        assert mark.text_content() == "The heron waits"

    def test_clears_the_drawing_for_another_index(self, drawn: "Page") -> None:
        drawn.locator("#index").dispatch_event("change")

        drawn.wait_for_selector("#status:empty", state="attached")
        assert not drawn.locator("#drawing").is_visible()
        assert not drawn.locator("#list").is_visible()
        assert drawn.locator("#legend li").count() == 0


class TestSources:
    @pytest.fixture
    def found(self, drawn: "Page") -> "Page":
        drawn.check("[value=sources]")
        for _ in range(30):
            drawn.click("#ask button")
            drawn.wait_for_selector("#sources .hit")
            if drawn.locator("#sources .hit").count() == 2:
                break
            drawn.wait_for_timeout(1_000)  # until it is embedded
        return drawn

    def test_are_shown_by_similarity_with_their_concepts(self, found: "Page") -> None:
        hits = found.locator("#sources .hit")
        scores = [float(text.split()[1]) for text in hits.locator(".score").all_text_contents()]
        heron = hits.filter(has_text="Notes on herons")

        assert scores == sorted(scores, reverse=True)
        assert heron.locator("dt").all_text_contents() == ["Heron"]
        assert heron.locator("dd").all_text_contents() == ["“The heron waits”"]
        assert hits.filter(has_text="Notes on fish").locator("dt").count() == 0
        assert found.locator("#status").text_content() == "2 sources, 1 concept."
        assert not found.locator("#drawing").is_visible()

    def test_have_a_limit_and_a_minimum_similarity(self, found: "Page") -> None:
        found.fill("#limit", "1")
        found.click("#ask button")
        found.locator("#sources .hit").nth(1).wait_for(state="detached")
        assert found.locator("#sources .hit").count() == 1

        found.fill("#min-similarity", "0.9")
        found.click("#ask button")
        found.locator("#sources .hit").wait_for(state="detached")

        assert (found.locator("#status").text_content() or "").startswith(
            "No source is similar enough."
        )

    def test_give_way_to_a_drawing(self, found: "Page") -> None:
        found.check("[value=concepts]")
        found.click("text=Draw")
        found.locator("#drawing").wait_for()

        assert not found.locator("#sources").is_visible()

    def test_lead_to_the_evidence_of_a_concept(self, found: "Page") -> None:
        found.locator("#sources dt button", has_text="Heron").click()

        found.locator("#evidence article").first.wait_for()
        assert found.locator("#evidence h2").text_content() == "Heron"


class TestPairs:
    def test_are_related_or_dismissed(self, page: "Page", paired: None) -> None:
        page.goto(f"/concepts/#key={KEY}")
        page.click("#pairs-title")
        before = page.locator("#pairs li").count()

        page.locator("#pairs select").first.select_option(index=0)
        page.locator("#pairs button", has_text="Relate").first.click()

        page.locator("#pairs li").nth(before - 1).wait_for(state="detached")
        assert not page.locator("#problem").is_visible()

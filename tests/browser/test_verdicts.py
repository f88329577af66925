"""Hits marked as good or bad on the search page, in a real browser against the real service."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

QUERY = "where do storks build their nests"
TEXT = "Storks build their nests on chimneys and come back to them each spring."


@pytest.fixture(scope="module", autouse=True)
def _documents(service: Service) -> None:
    service.add("plain", title="Storks", text=TEXT, external_id="storks")


@pytest.fixture
def hit(page: "Page", service: Service) -> "Locator":
    """The first hit of a query without judgements."""
    for each in kept(service):
        service.api.delete(f"judgements/{each['id']}/").raise_for_status()
    page.goto(f"/?index=plain&q={QUERY}#key={KEY}")
    hit = page.locator(".hit").first
    hit.wait_for()
    assert "Storks" in hit.inner_text()
    return hit


def kept(service: Service) -> list[dict[str, Any]]:
    answer = service.api.get("judgements/", params={"index": "plain", "query": QUERY})
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def pressed(hit: "Locator") -> list[str]:
    buttons = hit.locator(".judge button").all()
    return [
        str(button.get_attribute("data-verdict"))
        for button in buttons
        if button.get_attribute("aria-pressed") == "true"
    ]


def press(hit: "Locator", label: str) -> None:
    hit.get_by_role("button", name=label, exact=True).click()
    hit.locator(".judge:not([aria-busy])").wait_for()


class TestVerdicts:
    def test_are_stored_changed_and_withdrawn(self, hit: "Locator", service: Service) -> None:
        press(hit, "It answers the query")
        assert pressed(hit) == ["good"]
        [said] = kept(service)
        assert (said["verdict"], said["query"]) == ("good", QUERY)
        assert said["node_id"] == hit.get_attribute("data-node-id")

        press(hit, "It does not answer the query")
        assert pressed(hit) == ["bad"]
        assert [each["verdict"] for each in kept(service)] == ["bad"]

        press(hit, "It does not answer the query")
        assert pressed(hit) == []
        assert kept(service) == []

    def test_are_shown_when_the_page_is_opened_again(
        self, hit: "Locator", page: "Page", service: Service
    ) -> None:
        press(hit, "It answers the query")

        page.reload()

        page.locator(".hit .judge [data-verdict=good][aria-pressed=true]").first.wait_for()

    def test_can_be_given_by_keyboard(self, hit: "Locator", page: "Page", service: Service) -> None:
        hit.get_by_text("Show more text").focus()

        page.keyboard.press("Tab")
        page.keyboard.press("Space")

        hit.locator("[data-verdict=good][aria-pressed=true]").wait_for()
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == (
            "It answers the query"
        )
        hit.get_by_role("group", name="Does it answer the query?").wait_for()

    def test_show_an_error_of_the_api(self, hit: "Locator", page: "Page") -> None:
        def refuse(route: "Route") -> None:
            route.fulfill(status=503, json={"code": "away", "detail": "Try again later."})

        page.route("**/api/v1/judgements/", refuse)

        press(hit, "It answers the query")

        page.wait_for_selector("#problem:not([hidden])")
        assert "Try again later." in page.inner_text("#problem")
        assert pressed(hit) == []

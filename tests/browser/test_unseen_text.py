"""What the pages say of documents that were read in part."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

SECRET = "Our lowest price is 60 euro."
WARNING = {
    "code": "hidden_text", "page_indexes": [0], "fix": "Show it in the document.",
    "detail": "28 characters of page 1 cannot be seen there or are struck out.",
}  # fmt: skip
UNSEEN = [{"reason": "hidden", "detail": "marked as hidden in the file", "char_count": 28}]


@pytest.fixture(scope="module")
def offer_id(service: Service) -> str:
    return service.add_file("plain", "offer.txt", b"Our offer is 90 euro for a night.")


@pytest.fixture
def offer(page: "Page", offer_id: str) -> "Page":
    """The page of a document, as the service answers for a file with a hidden paragraph."""

    def change(path: str, **changes: Any) -> None:
        def answer(route: "Route") -> None:
            route.fulfill(json={**route.fetch().json(), **changes})

        page.route(path, answer)

    change(f"**/artifacts/{offer_id}/", warnings=[WARNING])
    change("**/pages/0/", unseen=UNSEEN, unreadable_count=3, warnings=["hidden_text"])
    page.goto(f"/documents/{offer_id}/#key={KEY}")
    page.locator("#text", has_text="Our offer").wait_for()
    return page


class TestDocument:
    def test_says_how_much_of_a_page_cannot_be_seen_and_why(self, offer: "Page"):
        note = offer.inner_text("#unseen-note")

        assert "28 characters marked as hidden in the file. It is not searched." in note
        assert "3 characters of this page are left out" in offer.inner_text("#unreadable")
        assert "Show it in the document." in offer.inner_text("#warnings")

    def test_shows_the_text_after_a_click(self, offer: "Page"):
        rows = [{"reason": "hidden", "text": SECRET}]
        offer.route("**/pages/0/unseen", lambda route: route.fulfill(json={"results": rows}))
        assert SECRET not in offer.inner_text("main")

        offer.click("#show-unseen")

        offer.locator("#unseen-texts", has_text=SECRET).wait_for()
        assert offer.locator("#show-unseen").is_hidden()


class TestPageOfAWholeDocument:
    def test_says_nothing_of_it(self, page: "Page", offer_id: str):
        page.goto(f"/documents/{offer_id}/#key={KEY}")
        page.locator("#text", has_text="Our offer").wait_for()

        assert page.locator("#unseen").is_hidden()
        assert page.locator("#unreadable").is_hidden()


class TestDocuments:
    def test_lists_those_that_were_read_in_part(self, page: "Page", offer_id: str):
        asked: list[str] = []

        def answer(route: "Route") -> None:
            asked.append(route.request.url)
            body = route.fetch().json()
            for each in body["results"]:
                each["warnings"] = [WARNING]
            route.fulfill(json=body)

        page.route("**/artifacts/?**", answer)
        page.goto(f"/documents/?index=plain#key={KEY}")
        page.locator("#rows", has_text="Show it in the document.").first.wait_for()

        page.select_option("#read", "true")

        page.locator("#empty-text", has_text="No document is like that.").wait_for()
        assert "is_partial=true" in asked[-1]
        assert "is_partial=true" in page.url

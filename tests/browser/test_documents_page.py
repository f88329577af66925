"""The page that lists documents, in a real browser, against the real service."""

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


@pytest.fixture(scope="module", autouse=True)
def documents(service: Service) -> None:
    for number in range(51):
        text = {"text": f"Tern number {number} was ringed.", "title": f"Tern {number:02}"}
        service.api.post("indexes/plain/artifacts/", json=text)
    service.add("plain", text="Queleas flock.", title="Quelea")
    files = {"file": ("torn.pdf", b"%PDF-1.7\ntorn")}
    service.api.post("indexes/plain/artifacts/", files=files)


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.goto(f"/documents/?index=plain#key={KEY}")
    page.locator("#rows tr", has_text="torn").locator(".failed").first.wait_for()
    return page


class TestDocuments:
    def test_are_listed_with_the_reason_where_one_failed(self, admitted: "Page"):
        assert "The PDF is damaged and cannot be opened." in admitted.inner_text(
            "#rows tr >> nth=0"
        )
        assert " failed" in admitted.inner_text("#summary")

    def test_show_how_many_pages_of_a_scan_are_read(self, admitted: "Page"):
        def answer(route: "Route") -> None:
            body = route.fetch().json()
            being_read = {"status": "parsing", "ocr": {"pages_read": 12, "page_count": 300}}
            body["results"] = [{**body["results"][0], **being_read}]
            route.fulfill(json=body)

        admitted.route("**/indexes/plain/artifacts/?*", answer)
        admitted.reload()

        admitted.locator("#rows .parsing", has_text="is read … page 12 of 300").wait_for()

    def test_that_failed_are_tried_again(self, admitted: "Page", service: Service):
        path = "indexes/plain/artifacts/"
        [torn] = service.api.get(path, params={"status": "failed", "title": "torn"}).json()[
            "results"
        ]

        with admitted.expect_response(lambda response: response.url.endswith("/retry/")):
            admitted.click("#retry")

        after = service.api.get(f"artifacts/{torn['id']}/").json()
        assert after["revision"] > torn["revision"]

    def test_are_found_by_name_and_status_also_after_a_reload(self, admitted: "Page"):
        admitted.fill("#words", "quel")
        admitted.click("text=Find")
        admitted.locator("#rows tr").nth(1).wait_for(state="detached")
        admitted.select_option("#status", "failed")
        admitted.locator("#empty:not([hidden])").wait_for()
        admitted.reload()

        admitted.locator("#empty:not([hidden])").wait_for()
        assert admitted.inner_text("#empty") == "No document is like that."
        assert admitted.input_value("#words") == "quel"

    def test_can_be_paged_through(self, admitted: "Page"):
        admitted.click("#next")
        admitted.locator("#range", has_text="51 to").wait_for()

        assert admitted.locator("#next").is_disabled()
        admitted.click("#previous")
        admitted.locator("#range", has_text="1 to 50").wait_for()

    def test_open_their_page(self, admitted: "Page"):
        admitted.fill("#words", "quelea")
        admitted.click("text=Find")
        admitted.locator("#rows tr").nth(1).wait_for(state="detached")
        admitted.click("#rows a")

        admitted.locator("#text", has_text="Queleas flock.").wait_for()


class TestNearCopies:
    def test_are_listed_in_groups(self, admitted: "Page"):
        def answer(route: "Route") -> None:
            offset = "offset=1" in route.request.url
            [title, count] = ["Quelea", 2] if offset else ["Tern 07", 60]
            document = {"id": str(uuid4()), "title": title, "updated_at": "2026-02-03T10:00:00Z"}
            group = {"count": count, "documents": [document]}
            route.fulfill(json={"count": 2, "results": [group]})

        admitted.route("**/indexes/plain/duplicates/?*", answer)
        admitted.reload()
        admitted.click("text=2 groups of near copies")
        groups = admitted.locator("#near-copies > ol > li")
        groups.filter(has_text="Tern 07").filter(has_text="59 other documents").wait_for()
        admitted.click("#near-copies button")

        groups.nth(1).filter(has_text="Quelea").wait_for()
        assert admitted.locator("#near-copies button").is_hidden()
        assert groups.nth(1).locator("a[href*=documents]").count() == 1

    def test_are_not_mentioned_where_there_are_none(self, admitted: "Page"):
        admitted.locator("#rows tr").first.wait_for()

        assert admitted.locator("#near-copies").is_hidden()

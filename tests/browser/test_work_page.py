"""The page of the service's work, in a real browser, against the real service."""

from typing import TYPE_CHECKING

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

REASON = "The PDF is damaged and cannot be opened."


@pytest.fixture(scope="module", autouse=True)
def torn(service: Service) -> None:
    files = {"file": ("worn.pdf", b"%PDF-1.7\nworn")}
    service.api.post("indexes/plain/artifacts/", files=files)


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.goto(f"/work/#key={KEY}")
    page.locator("#failed tr", has_text=REASON).wait_for()
    return page


class TestWork:
    def test_that_failed_is_shown_with_its_reason_and_its_documents(self, admitted: "Page"):
        row = admitted.locator("#failed tr", has_text=REASON)

        assert "reading files" in row.inner_text()
        row.locator("a").click()
        admitted.locator("#rows tr", has_text="worn").wait_for()

    def test_that_failed_is_tried_again(self, admitted: "Page"):
        with admitted.expect_response(lambda response: response.url.endswith("/retry/")) as retried:
            admitted.locator("#failed tr", has_text=REASON).get_by_role("button").click()

        assert retried.value.json()["files"] >= 1

    def test_names_each_part_of_the_service(self, admitted: "Page"):
        parts = admitted.inner_text("#parts")

        assert "database" in parts
        assert "disk" in parts

    def test_is_not_shown_without_a_key(self, page: "Page"):
        page.goto("/work/")

        page.locator("#problem", has_text="Enter your API key").wait_for()
        assert not page.locator("#state").is_visible()

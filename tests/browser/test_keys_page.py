"""The page of API keys, in a real browser, against the real service."""

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"/keys/#key={KEY}")
    page.wait_for_selector("#new:not([hidden])")
    return page


def read_indexes(service: Service, secret: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.get(f"{service.url}/api/v1/indexes/", headers=headers, timeout=20)


class TestKey:
    def test_is_made_for_an_index_shown_once_and_revoked(self, admitted: "Page", service: Service):
        admitted.fill("#name", "bird readers")
        admitted.fill("#indexes", "plain")
        admitted.click("text=Make the key")
        admitted.wait_for_selector("#made:not([hidden])")

        secret = admitted.inner_text("#secret")
        listed = read_indexes(service, secret).json()["results"]
        assert [index["name"] for index in listed] == ["plain"]
        row = admitted.locator("#keys tbody tr", has_text="bird readers")
        assert secret not in row.inner_text()
        row.get_by_role("button", name="Revoke bird readers").click()
        admitted.locator("#keys .revoked", has_text="bird readers").wait_for()
        assert read_indexes(service, secret).status_code == 401

    def test_with_a_mistake_says_what_is_wrong(self, admitted: "Page"):
        admitted.fill("#name", "late readers")
        admitted.fill("#expires", "2020-01-01")
        admitted.click("text=Make the key")

        admitted.wait_for_selector("#problem:not([hidden])")
        assert admitted.inner_text("#problem")
        assert not admitted.locator("#made").is_visible()

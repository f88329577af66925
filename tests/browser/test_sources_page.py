"""The page of sources in a real browser; the answers about them are given by the test."""

from typing import TYPE_CHECKING, Any

import pytest

from strata_types.examples import SOURCE
from tests.serving import KEY

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

WAITING = {
    **SOURCE,
    "name": "reports",
    "health": "waiting",
    "waiting_removals": 120,
    "problem": {"code": "source_unavailable", "detail": "The folder went away."},
}
ENTRY = {
    "path": "lamp/care.md", "state": "failed", "artifact_id": None, "byte_count": 3,
    "missing_since": None, "attempts": 5, "next_attempt_at": SOURCE["listed_at"],
    "problem": {"code": "entry_refused", "detail": "The file cannot be read: <b>denied</b>."},
}  # fmt: skip
CHANGES = {"count": 1, "bytes": 2_048, "paths": ["new.md"]}


def list_of(*rows: Any) -> dict[str, Any]:
    return {"count": len(rows), "next": None, "previous": None, "results": rows}


@pytest.fixture
def asked(page: "Page") -> list[str]:
    """The changes that the page asked for; the page is shown."""
    requests: list[str] = []

    def answer(route: "Route") -> None:
        path = route.request.url.partition("/document-sources/")[2].partition("?")[0]
        if route.request.method == "POST":
            requests.append(path)
        if path.endswith("entries/"):
            rows = [ENTRY] if "state=failed" in route.request.url else []
            route.fulfill(json=list_of(*rows))
        elif path.endswith("preview/"):
            route.fulfill(json={"added": CHANGES})
        else:
            route.fulfill(json=list_of(SOURCE, WAITING) if not path else SOURCE)

    page.route("**/document-sources/**", answer)
    page.goto(f"/sources/#key={KEY}")
    page.wait_for_selector("#sources > li >> nth=1")
    return requests


def test_shows_how_each_source_is(page: "Page", asked: list[str]) -> None:
    handbook, reports = page.locator("#sources > li").all()

    assert "well" in handbook.inner_text()
    assert "folder, /srv/handbook, every 5m" in handbook.inner_text()
    assert "waits for your decision" in reports.inner_text()
    assert "The folder went away." in reports.inner_text()
    assert "120 documents are missing" in reports.inner_text()


def test_asks_before_many_are_removed(page: "Page", asked: list[str]) -> None:
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.click("text=They are gone")
    assert asked == []

    page.once("dialog", lambda dialog: dialog.accept())
    with page.expect_request("**/confirm/"):
        page.click("text=They are gone")

    assert asked == ["reports/confirm/"]


def test_reads_pauses_and_looks_first(page: "Page", asked: list[str]) -> None:
    handbook = page.locator("#sources > li").first
    for button, action in (("Read now", "run"), ("Pause", "pause")):
        with page.expect_request(f"**/{action}/"):
            handbook.locator(f"text={button}").click()
    handbook.locator("text=What would change").click()
    page.wait_for_selector("#preview li li")

    assert asked == [f"handbook/{action}/" for action in ("run", "pause", "preview")]
    assert "added: 1 document, 2,048 bytes" in page.inner_text("#preview")
    assert "The file cannot be read: <b>denied</b>." in page.inner_text("#entries")

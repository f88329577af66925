"""Editing documents on their pages: journeys of a law office, with a picture of each step in
``test-results/journeys``."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.test_accessibility import find_violations
from tests.browser.test_journeys import PICTURES, TOO_WIDE, Traveller
from tests.forked import serving_forked
from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CLIENTS, YEARS = ("orrin", "skerry", "voss"), (2023, 2024)
MANY = 500


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serving_forked(tmp_path_factory.mktemp("office")) as service:
        lines = [
            {
                "text": f"Clause {number}. The tenant of {client} pays in {year}.",
                "title": f"Lease {number}",
                "external_id": f"{client}/{year}/lease_{number}.pdf",
            }
            for client in CLIENTS
            for year in YEARS
            for number in range(10)
        ]
        add_all(service, "plain", lines)
        yield service


def add_all(service: Service, index: str, lines: list[dict[str, Any]]) -> None:
    body = "".join(f"{json.dumps(line)}\n" for line in lines)
    headers = {"Content-Type": "application/x-ndjson"}
    path = f"indexes/{index}/artifacts/batch"
    service.api.post(path, content=body, headers=headers).raise_for_status()


def find(page: "Page", words: str, count: int) -> None:
    page.fill("#words", words)
    page.press("#words", "Enter")
    page.locator("#summary", has_text=f"{count} of ").wait_for()


def apply(person: Traveller) -> None:
    """Look at the preview, and then change what it says."""
    person.page.click("#edit-apply")
    person.see("#edit-preview:not([hidden])")
    person.page.click("#edit-apply")


def count_seen(service: Service, key: str, folder: str = "") -> int:
    headers = {"Authorization": f"Bearer {key}"}
    parameters = {"folder": folder} if folder else {}
    answer = service.api.get("indexes/plain/artifacts/", params=parameters, headers=headers)
    count: int = answer.json()["count"]
    return count


def make_key(service: Service, name: str, scope: str, *groups: str) -> str:
    body = {"name": name, "scope": scope, "groups": list(groups)}
    secret: str = service.api.post("keys/", json=body).json()["secret"]
    return secret


def test_a_folder_of_a_client_is_restricted_afterwards(page: "Page", service: Service):
    person = Traveller(page, "law-office")
    clerk, partner = (
        make_key(service, "clerk", "search"),
        make_key(service, "partner", "write", "partners"),
    )
    seen_before = count_seen(service, clerk)
    page.goto(f"/documents/?index=plain#key={KEY}")
    person.see("#rows .select input")
    find(page, "orrin/", 20)
    page.check("#select-shown")
    person.see("#selected", has_text="20 documents selected")

    page.click("#share-selected")
    page.get_by_label("Groups", exact=True).fill("partners")
    apply(person)
    person.see("#progress-text", has_text="20 documents changed.")

    page.locator("#rows", has_text="Seen by partners").first.wait_for()
    assert page.evaluate(TOO_WIDE) == []
    assert (seen_before, count_seen(service, clerk)) == (60, 40)
    assert count_seen(service, clerk, "orrin/") == 0
    assert count_seen(service, partner) == 60

    page.click("#progress-actions >> text=Undo")
    person.see("#progress-text", has_text="20 documents changed back.")
    assert count_seen(service, clerk) == 60


def test_many_documents_are_edited_and_given_back(page: "Page", service: Service):
    lines = [{"text": f"Letter {number}.", "external_id": f"l{number}"} for number in range(MANY)]
    add_all(service, "library", lines)
    person = Traveller(page, "bulk")
    page.goto(f"/documents/?index=library#key={KEY}")
    page.check("#select-shown")
    page.click(f"text=Select all {MANY} documents of this index")
    person.see("#selected", has_text=f"{MANY} documents selected")

    page.click("#edit-selected")
    page.get_by_label("Another field", exact=True).fill("client")
    page.get_by_label("Value of the other field").fill("Orrin")
    apply(person)
    person.see("#progress-text", has_text=f"{MANY} documents changed.")
    first = service.api.get("indexes/library/artifacts/", params={"limit": 1}).json()["results"]
    page.click("#progress-actions >> text=Undo")
    person.see("#progress-text", has_text=f"{MANY} documents changed back.")

    after = service.api.get("indexes/library/artifacts/", params={"limit": 100}).json()["results"]
    assert first[0]["metadata"] == {"client": "Orrin"}
    assert all(each["metadata"] == {} for each in after)
    page.click("#recent summary")
    page.locator("#recent li", has_text="client: Orrin · undone").wait_for()


def test_a_document_is_edited_on_its_page(page: "Page", service: Service):
    person = Traveller(page, "edit-one")
    added = service.add("plain", title="Draft", text="The draft.", metadata={"client": "Voss"})
    page.goto(f"/documents/{added}/#key={KEY}")
    person.see("#edit-bar:not([hidden])")
    page.click("#edit-document")
    page.get_by_label("Title", exact=True).fill("Deed of the quay")
    page.get_by_label("client").fill("")
    page.get_by_label("Another field", exact=True).fill("year")
    page.get_by_label("Value of the other field").fill("2024")
    apply(person)

    page.locator("h1", has_text="Deed of the quay").wait_for()
    person.see("#facts", has_text="2024")
    assert "Voss" not in page.inner_text("#facts")
    page.locator("#history li", has_text="It was changed, alone or with others by").wait_for()
    page.click("#progress-actions >> text=Undo")
    page.locator("h1", has_text="Draft").wait_for()
    page.locator("#facts", has_text="Voss").wait_for()


def test_nothing_is_deleted_before_it_is_named(page: "Page", service: Service):
    service.add("plain", title="Waste paper", text="Nothing of use.")
    page.goto(f"/documents/?index=plain#key={KEY}")
    find(page, "waste", 1)
    page.check("#rows .select input")
    page.click("#delete-selected")
    page.locator("#edit-sample", has_text="Waste paper").wait_for()
    page.click("text=Delete 1 document for good")

    page.locator("#empty:not([hidden])").wait_for()
    page.locator("#progress-text", has_text="1 document deleted.").wait_for()
    assert page.locator("#progress-actions >> text=Undo").count() == 0


def test_a_preview_of_what_is_no_longer_asked_for_is_not_shown(page: "Page", service: Service):
    added = service.add("plain", title="Minutes", text="The minutes of the board.")
    page.goto(f"/documents/{added}/#key={KEY}")
    page.locator("#edit-bar:not([hidden])").wait_for()
    page.click("#edit-document")
    page.get_by_label("Another field", exact=True).fill("client")
    page.get_by_label("Value of the other field").fill("Orrin")
    held: list[Any] = []
    page.route("**/edits/preview", lambda route: held.append(route))
    with page.expect_request("**/edits/preview"):
        page.click("#edit-apply")
    page.get_by_label("Value of the other field").fill("Voss")
    with page.expect_response("**/edits/preview"):
        held[0].continue_()
    page.wait_for_load_state("networkidle")

    assert page.locator("#edit-preview").is_hidden()
    assert page.inner_text("#edit-apply") == "Show what changes"


def test_who_may_only_search_is_offered_no_change(page: "Page", service: Service):
    reader = make_key(service, "reader", "search")
    page.goto(f"/documents/?index=plain#key={reader}")
    page.locator("#rows tr").first.wait_for()
    page.wait_for_load_state("networkidle")

    assert page.locator(".select").count() == 0
    assert page.locator("#change-bar, #recent").locator("visible=true").count() == 0
    page.click("#rows a >> nth=0")
    page.locator("#facts dt").first.wait_for()
    page.wait_for_load_state("networkidle")
    assert page.locator("#edit-bar").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_the_selection_and_the_dialog_are_accessible(
    browser: "Browser", service: Service, scheme: Any, width: int
):
    context = browser.new_context(
        base_url=service.url, viewport={"width": width, "height": 844},
        color_scheme=scheme, reduced_motion="reduce",
    )  # fmt: skip
    page = context.new_page()
    page.goto(f"/documents/?index=plain#key={KEY}")
    page.check("#rows .select input >> nth=0")
    page.check("#rows .select input >> nth=1")
    found = find_violations(page)
    for button in ("#edit-selected", "#share-selected", "#delete-selected"):
        page.click(button)
        if button == "#share-selected":
            page.get_by_label("Groups", exact=True).fill("partners")
            page.click("#edit-apply")
            page.locator("#edit-preview:not([hidden])").wait_for()
        found += find_violations(page)
        page.screenshot(path=PICTURES / f"edit-{scheme}-{width}-{button[1:]}.png")
        page.click("#edit-cancel")

    assert found == []
    assert page.evaluate(TOO_WIDE) == []
    context.close()

"""The page of a document, in a real browser, against the real service."""

import re
import time
from typing import TYPE_CHECKING

import pytest

from tests.documents.parsing.makers import make_pdf_with_layout
from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

HEADINGS = ("Puffins of the north", "Razorbills of the south")


@pytest.fixture(scope="module")
def report_id(service: Service) -> str:
    """A PDF of two pages, which can be found."""
    return service.add_file("plain", "birds.pdf", make_pdf_with_layout(*HEADINGS))


@pytest.fixture
def results(page: "Page", report_id: str) -> "Page":
    page.goto(f"/?index=plain&q={HEADINGS[1]}#key={KEY}")
    page.wait_for_selector(".hit")
    return page


def open_hit(results: "Page", report_id: str) -> "Page":
    results.locator(f"a.open[href*='{report_id}']").first.click()
    results.wait_for_selector("#marks .mark")
    return results


class TestHit:
    def test_opens_its_page_with_the_passage_marked(self, results: "Page", report_id: str):
        shown = open_hit(results, report_id)

        assert shown.input_value("#number") == "2"
        assert shown.inner_text("#count") == "of 2"
        marked = "".join(shown.locator("#text mark").all_inner_texts())
        assert HEADINGS[1] in marked
        assert "#" not in shown.inner_text("#text")
        picture, mark = (
            shown.locator(name).first.bounding_box() for name in ("#canvas", "#marks .mark")
        )
        assert picture is not None
        assert mark is not None
        assert picture["x"] < mark["x"] < picture["x"] + picture["width"]
        assert mark["y"] < picture["y"] + picture["height"] / 4

    def test_leads_to_the_next_one_and_back_to_the_results(self, results: "Page", report_id: str):
        address = results.url
        shown = open_hit(results, report_id)
        first = shown.url

        shown.click("#next-hit")
        shown.wait_for_url(lambda url: url != first)
        shown.wait_for_selector("#results-link:not([hidden])")
        shown.click("#back")

        shown.wait_for_selector(".hit")
        assert shown.url == address

    def test_that_is_gone_shows_the_document_and_says_so(self, page: "Page", report_id: str):
        unknown = "source=00000000-0000-4000-8000-000000000000&start=0&end=4"
        page.goto(f"/documents/{report_id}/?{unknown}#key={KEY}")

        page.locator("#problem", has_text="The passage no longer exists").wait_for()
        assert "Puffins" in page.inner_text("#text")


class TestPages:
    def test_say_how_sure_ocr_is(self, page: "Page", report_id: str):
        def answer(route: "Route") -> None:
            route.fulfill(json={**route.fetch().json(), "ocr_confidence": 0.878})

        page.route("**/pages/1/", answer)
        page.goto(f"/documents/{report_id}/#key={KEY}")
        page.locator("#text", has_text="Puffins").wait_for()
        assert page.locator("#ocr").is_hidden()

        page.click("#next")

        page.locator("#ocr", has_text="Read by OCR, which is 87% sure.").wait_for()

    def test_can_be_turned(self, page: "Page", report_id: str):
        page.goto(f"/documents/{report_id}/#key={KEY}")
        page.locator("#text", has_text="Puffins").wait_for()

        page.click("#next")
        page.locator("#text", has_text="Razorbills").wait_for()
        page.keyboard.press("ArrowLeft")
        page.locator("#text", has_text="Puffins").wait_for()

        assert page.locator("#text td", has_text="$1,350").count() == 1
        assert page.locator("#previous").is_disabled()


class TestDocument:
    def test_lists_its_passages_and_marks_one(self, page: "Page", report_id: str):
        page.goto(f"/documents/{report_id}/?page=2#key={KEY}")

        page.click(f"#passage-list a:has-text('{HEADINGS[1]}')")

        page.wait_for_selector("#marks .mark")
        assert HEADINGS[1] in page.inner_text("#text mark >> nth=0")
        assert page.locator("#passage-kinds label:visible").all_inner_texts() == ["Passages"]

    def test_says_when_it_was_changed_and_what_searches_show(self, page: "Page", report_id: str):
        is_indexed = True

        def change(route: "Route") -> None:
            answer = route.fetch()
            artifact = answer.json()
            if not is_indexed:
                artifact |= {"revision": artifact["revision"] + 1, "status": "indexing"}
            route.fulfill(response=answer, json=artifact)

        page.route(f"**/artifacts/{report_id}/", change)
        page.goto(f"/documents/{report_id}/#key={KEY}")
        added = page.locator("#history li", has_text="Searches show it.")
        added.wait_for()
        assert re.search(r"Added by the key .*\. Revision [\d,]+\. Searches", added.inner_text())
        times = [
            each.get_attribute("datetime") or "" for each in page.locator("#history time").all()
        ]
        assert len(times) == 2
        assert times == sorted(times)

        is_indexed = False
        page.reload()
        page.locator("#history li", has_text="Searches still show revision").wait_for()

    def test_has_questions_that_are_edited(self, page: "Page", service: Service):
        artifact_id = service.add("physio", title="Knees", text="Bend the knee slowly. " * 10)
        page.goto(f"/documents/{artifact_id}/#key={KEY}")
        page.click("text=Edit the questions of its passage")
        page.fill("#passage-list textarea", "How is a knee bent?")
        with page.expect_response(lambda answer: answer.url.endswith("/questions")) as saved:
            page.click("#passage-list >> text=Save")

        assert saved.value.json()["questions"] == ["How is a knee bent?"]
        page.wait_for_selector("text=Edit the questions of its passage")

    def test_has_a_summary_that_is_deleted_and_written_again(self, page: "Page", service: Service):
        artifact_id = service.add("biomedical", title="Knees", text="Bend the knee slowly. " * 10)
        page.goto(f"/documents/{artifact_id}/#key={KEY}")
        first = page.locator(".summary", has_text="Document")
        first.locator("text=written by extractive").wait_for()
        page.on("dialog", lambda dialog: dialog.accept())

        first.locator("text=Delete").click()
        page.wait_for_selector(".summary >> text=Document, deleted")
        page.reload()
        page.wait_for_selector(".summary >> text=Document, deleted")
        first.locator("text=Have it written").click()

        page.wait_for_selector(".summary >> text=Document, being written")

    def test_that_is_unknown_says_so(self, page: "Page", service: Service):
        page.goto(f"/documents/00000000-0000-4000-8000-000000000000/#key={KEY}")

        page.wait_for_selector("#problem:not([hidden])")
        assert "There is no artifact" in page.inner_text("#problem")
        assert not page.is_visible("#delete")
        assert not page.is_visible("#number")

    def test_that_failed_says_why(self, page: "Page", service: Service):
        files = {"file": ("cut.pdf", b"%PDF-1.7\ncut")}
        added = service.api.post("indexes/plain/artifacts/", files=files).json()
        deadline = time.monotonic() + 60
        while service.api.get(f"artifacts/{added['id']}/").json()["status"] != "failed":
            assert time.monotonic() < deadline
            time.sleep(0.1)

        page.goto(f"/documents/{added['id']}/#key={KEY}")

        page.locator("#warnings", has_text="The PDF is damaged").wait_for()
        assert page.locator("#problem").is_hidden()

    def test_without_a_key_asks_for_one(self, page: "Page", report_id: str):
        page.goto(f"/documents/{report_id}/")

        page.wait_for_selector("#problem:not([hidden])")
        assert "Enter your API key on the search page." in page.inner_text("#problem")

    def test_can_be_deleted(self, page: "Page", service: Service):
        added = service.api.post("indexes/plain/artifacts/", json={"text": "Skuas steal."}).json()
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"/documents/{added['id']}/#key={KEY}")
        page.locator("#text", has_text="Skuas").wait_for()
        held: list[Route] = []
        page.route("**/api/v1/artifacts/*/", lambda route: held.append(route))

        page.click("#delete")

        page.locator("#receipt", has_text="It is being deleted").wait_for()
        held.pop().continue_()
        page.locator("#receipt", has_text="no search finds it any more").wait_for()
        assert service.api.get(f"artifacts/{added['id']}/").status_code == 404

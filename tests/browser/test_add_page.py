"""The page that adds documents, in a real browser, against the real service."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.documents.parsing.makers import make_pdf
from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Page, Route


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.goto(f"/add/?index=plain#key={KEY}")
    page.wait_for_selector("#index option[value=plain]", state="attached")
    assert page.input_value("#index") == "plain"
    return page


def choose(page: "Page", name: str, content: bytes) -> None:
    file: FilePayload = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files("#files", file)


def wait_for(page: "Page", name: str, state: str) -> str:
    """The text of the row of this name, once it has this state."""
    row = page.locator(f"#documents li[data-state={state}]", has_text=name)
    row.wait_for()
    return row.inner_text()


class TestFiles:
    def test_are_shown_until_they_are_ready(self, admitted: "Page", service: Service):
        choose(admitted, "gannet.pdf", make_pdf("Gannets dive from thirty metres."))

        assert "1 page" in wait_for(admitted, "gannet.pdf", "ready")
        assert admitted.inner_text("#summary") == "1 ready"
        answer = service.api.post(
            "search/pages", json={"index": "plain", "query": "gannets dive", "limit": 1}
        )
        assert answer.json()["hits"][0]["artifact"]["file_name"] == "gannet.pdf"

    def test_say_why_they_failed_without_another_try_of_the_same_file(self, admitted: "Page"):
        choose(admitted, "broken.pdf", b"%PDF-1.7\nno")

        assert "The PDF is damaged and cannot be opened." in wait_for(
            admitted, "broken.pdf", "failed"
        )
        assert admitted.locator("text=Try again").count() == 0

    def test_that_could_not_be_sent_can_be_tried_again(self, admitted: "Page"):
        admitted.route("**/artifacts/", lambda route: route.fulfill(status=503, json={}))
        choose(admitted, "later.txt", b"Auks dive later.")
        wait_for(admitted, "later.txt", "failed")
        admitted.unroute("**/artifacts/")

        admitted.click("text=Try again")

        wait_for(admitted, "later.txt", "ready")

    def test_chosen_before_the_indexes_are_known_are_sent_once_they_are(self, page: "Page"):
        waiting: list[Route] = []
        page.route("**/api/v1/indexes/?*", lambda route: waiting.append(route))
        page.goto(f"/add/?index=plain#key={KEY}")
        choose(page, "early.txt", b"Auks dive early.")
        while not waiting:
            page.wait_for_timeout(10)
        waiting.pop().continue_()

        wait_for(page, "early.txt", "ready")

    def test_of_a_folder_are_named_by_their_paths(
        self, admitted: "Page", service: Service, tmp_path: Path
    ):
        folder = tmp_path / "talks" / "2024"
        folder.mkdir(parents=True)
        (folder / "march.md").write_text("# March\n\nAuks nest in burrows.")

        admitted.set_input_files("#folder", tmp_path / "talks")

        wait_for(admitted, "talks/2024/march.md", "ready")

    def test_of_a_name_that_exists_are_added_once_somebody_chooses(
        self, admitted: "Page", service: Service
    ):
        def find() -> list[dict[str, Any]]:
            listed = service.api.get("indexes/plain/artifacts/", params={"limit": 100}).json()
            return [each for each in listed["results"] if each["file_name"] == "contract.txt"]

        choose(admitted, "contract.txt", b"The contract of Ada.")
        wait_for(admitted, "contract.txt", "ready")
        choose(admitted, "contract.txt", b"The contract of Bob.")
        assert "A document named 'contract.txt' was added on" in wait_for(
            admitted, "contract.txt", "exists"
        )
        [ada] = find()

        admitted.get_by_role("button", name="Keep both").click()
        admitted.locator("#documents li[data-state=ready] >> nth=1").wait_for()

        assert {each["id"] for each in find()} > {ada["id"]}
        choose(admitted, "contract.txt", b"The contract of Ada.")
        admitted.locator("#documents li[data-state=ready] >> nth=2").wait_for()
        assert len(find()) == 2

    def test_of_a_folder_that_was_changed_replace_what_they_are_told_to(
        self, admitted: "Page", service: Service, tmp_path: Path
    ):
        for content in ("first", "second"):
            for name in ("one.md", "two.md"):
                (tmp_path / "minutes").mkdir(exist_ok=True)
                (tmp_path / "minutes" / name).write_text(f"The {content} version of {name}.")
            admitted.set_input_files("#folder", tmp_path / "minutes")
            if content == "first":
                wait_for(admitted, "minutes/one.md", "ready")
                wait_for(admitted, "minutes/two.md", "ready")
        wait_for(admitted, "minutes/one.md", "exists")
        wait_for(admitted, "minutes/two.md", "exists")

        admitted.get_by_role("button", name="Replace all").click()

        row = admitted.locator("#documents li[data-state=ready]", has_text="It replaces one.md")
        row.wait_for()
        answer = service.api.get(
            "indexes/plain/artifacts/", params={"external_id": "minutes/one.md"}
        )
        assert answer.json()["count"] == 1

    def test_are_still_listed_after_a_reload(self, admitted: "Page"):
        choose(admitted, "skua.txt", b"Skuas steal fish.")
        wait_for(admitted, "skua.txt", "ready")

        admitted.reload()

        wait_for(admitted, "skua.txt", "ready")

    def test_that_are_dropped_are_added(self, admitted: "Page"):
        admitted.evaluate(
            """() => {
                const transfer = new DataTransfer();
                transfer.items.add(new File(["Terns fly from pole to pole."], "tern.txt"));
                const drop = new DragEvent("drop", { dataTransfer: transfer, cancelable: true });
                document.getElementById("drop").dispatchEvent(drop);
            }"""
        )

        wait_for(admitted, "tern.txt", "ready")


class TestTexts:
    def test_are_added_with_their_title(self, admitted: "Page"):
        admitted.click("text=Paste a text")
        admitted.fill("#title", "Puffins <b>at</b> sea")
        admitted.fill("#text", "Puffins spend the winter on the open sea.")
        admitted.click("text=Add the text")

        wait_for(admitted, "Puffins <b>at</b> sea", "ready")


class TestWithoutAKey:
    def test_it_says_where_to_enter_one(self, page: "Page"):
        page.goto("/add/")

        page.wait_for_selector("#problem:not([hidden])")

        assert "Enter your API key on the search page." in page.inner_text("#problem")

    def test_the_pages_are_linked_from_each_other(self, page: "Page"):
        page.goto("/")
        page.click("nav >> text=Add")
        page.wait_for_url("**/add/")
        assert page.locator("nav [aria-current=page]").inner_text() == "Add"
        page.click("nav >> text=Search")
        page.wait_for_selector("#key-panel")


class TestAbout:
    """The form for metadata and groups, drawn from the index's spec: that of ``papers``."""

    @pytest.fixture
    def papers(self, page: "Page") -> "Page":
        page.goto(f"/add/?index=papers#key={KEY}")
        page.wait_for_selector("#index option[value=papers]", state="attached")
        page.click("#about summary")
        return page

    def test_goes_with_each_document(self, papers: "Page", service: Service):
        papers.fill("#field-year", "2019")
        papers.fill("#field-authors", "Ada Lovelace, Graham Neubig")
        papers.fill("#groups", "readers")

        choose(papers, "parsing.txt", b"We parse sentences.")
        wait_for(papers, "parsing.txt", "ready")
        papers.click("#paste summary")
        papers.fill("#title", "Translation")
        papers.fill("#text", "We translate sentences.")
        papers.click("text=Add the text")
        wait_for(papers, "Translation", "ready")

        listed = service.api.get("indexes/papers/artifacts/", params={"limit": 100}).json()
        names = {"parsing", "Translation"}
        found = [each for each in listed["results"] if each["title"] in names]
        assert [each["groups"] for each in found] == [["readers"], ["readers"]]
        for each in found:
            assert each["metadata"] == {"year": 2019, "authors": ["Ada Lovelace", "Graham Neubig"]}

    def test_says_which_value_is_wrong(self, papers: "Page"):
        papers.fill("#groups", "*")

        choose(papers, "wrong.txt", b"We parse sentences.")

        assert "group" in wait_for(papers, "wrong.txt", "failed")

    def test_has_the_fields_of_the_chosen_index(self, papers: "Page"):
        papers.select_option("#index", "plain")

        assert papers.locator("#fields input").count() == 0
        assert papers.is_visible("#groups")

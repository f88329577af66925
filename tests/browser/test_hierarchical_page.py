"""The other searches of the search page, in a real browser."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

TITLE = "Keeping <b>samples</b> cold"
# Astral characters before the hit: code that counts UTF-16 units would mark the wrong text.
DECK = [
    "🧊🧊🧪 𝔗𝔥𝔢 𝔭𝔩𝔞𝔫. "
    + "Tubes are labelled in the ward and carried down by the porter twice a day. " * 8
    + "\n\nPlasma goes into the freezer within the hour 🧭 after it was drawn.",
    "Labels bear a bar code. <img src=x onerror='window.wasRun = true'> was written on one & kept.",
    "The courier signs for the dry ice. A logger records the temperature of the box.",
]
EXERCISES = [
    "Calf raises on a step load the plantar fascia. Begin with three sets of twelve repetitions.",
    "The Nordic hamstring curl is done kneeling, while a partner holds the ankles down.",
]
FREEZER = "plasma into the freezer within the hour"
HEEL = "how many calf raises for the plantar fascia"


@pytest.fixture(scope="module", autouse=True)
def _documents(service: Service) -> None:
    service.add("biomedical", title=TITLE, pages=DECK, metadata={"course": "methods"})
    service.add("biomedical", title="Fungal walls", text="Echinocandins act on the fungal wall.")
    service.add("physio", title="Heel and thigh", pages=EXERCISES)


@pytest.fixture
def admitted(page: "Page") -> "Iterator[Page]":
    """The page with a key; console errors fail the test."""
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(f"/#key={KEY}")
    page.wait_for_selector("label[data-index=biomedical]")
    yield page
    assert errors == []


def sync(page: "Page", query: str) -> None:
    page.wait_for_function(
        "query => document.title.startsWith(query) "
        "&& document.querySelector('#results').childElementCount "
        "&& !document.querySelector('#results').hasAttribute('aria-busy')",
        arg=query,
    )


def find(page: "Page", query: str, index: str, search: str | None = None) -> None:
    """Search as a person would, and wait for the hits."""
    page.check(f"input[name=index][value={index}]", force=True)
    page.fill("#q", query)
    if search is not None:
        page.check(f"input[name=search][value={search}]", force=True)
    page.press("#q", "Enter")
    sync(page, query)


def offered(page: "Page") -> list[str]:
    labels = page.locator("#searches label").all()
    return [label.inner_text() for label in labels if label.is_visible()]


def asked(page: "Page") -> dict[str, str]:
    return {name: said for name, [said] in parse_qs(urlsplit(page.url).query).items()}


def answer_to(service: Service, search: str, index: str, query: str) -> dict[str, Any]:
    answer = service.api.get(f"search/{search}", params={"index": index, "q": query})
    found: dict[str, Any] = answer.json()
    return found


class TestIndexes:
    def test_list_the_kinds_of_node_they_hold(self, service: Service) -> None:
        listed = service.api.get("indexes/").json()["results"]

        kinds = {index["name"]: index["kinds"] for index in listed}
        assert kinds["plain"] == ["chunk"]
        assert kinds["biomedical"] == ["chunk", "page_summary", "artifact_summary"]
        assert kinds["physio"] == ["question"]
        assert service.api.get("indexes/physio/").json()["kinds"] == ["question"]


class TestChoiceOfSearch:
    def test_offers_the_searches_that_the_index_supports(self, admitted: "Page") -> None:
        admitted.check("input[name=index][value=biomedical]", force=True)
        assert offered(admitted) == ["Passages", "Documents", "Summaries", "Answer"]

        admitted.click("#more-indexes")  # "plain" is empty
        admitted.check("input[name=index][value=plain]", force=True)
        assert offered(admitted) == ["Passages", "Answer"]

    def test_defaults_to_questions_if_the_index_has_only_questions(
        self, admitted: "Page", service: Service
    ) -> None:
        find(admitted, FREEZER, "biomedical", "hierarchical")

        find(admitted, HEEL, "physio")

        assert offered(admitted) == ["Questions", "Answer"]
        assert admitted.is_checked("input[name=search][value=questions]")
        assert asked(admitted) == {"index": "physio", "q": HEEL}
        [best, *_] = answer_to(service, "questions", "physio", HEEL)["hits"]
        assert admitted.locator(".hit").first.get_attribute("data-node-id") == best["node_id"]

    def test_is_kept_in_the_url_through_reload_and_back(self, admitted: "Page") -> None:
        find(admitted, FREEZER, "biomedical", "hierarchical")
        assert asked(admitted) == {"index": "biomedical", "q": FREEZER, "search": "hierarchical"}

        admitted.reload()
        sync(admitted, FREEZER)
        assert admitted.is_checked("input[name=search][value=hierarchical]")
        assert admitted.locator(".artifact").count() > 0

        admitted.check("input[name=search][value=pages]", force=True)
        admitted.wait_for_selector("#results > .hit")
        assert asked(admitted) == {"index": "biomedical", "q": FREEZER}

        admitted.go_back()
        admitted.wait_for_selector("#results > .artifact")
        assert admitted.is_checked("input[name=search][value=hierarchical]")

    def test_changes_if_the_index_does_not_support_the_one_in_the_url(
        self, admitted: "Page"
    ) -> None:
        admitted.goto(f"/?index=physio&q={HEEL}&search=hierarchical")

        sync(admitted, HEEL)
        assert admitted.is_checked("input[name=search][value=questions]")
        assert admitted.is_hidden("#problem")

    def test_shows_what_is_allowed_when_the_api_refuses_it(self, page: "Page") -> None:
        def claim_more(route: "Route") -> None:
            answer = route.fetch()
            body = answer.json()
            for index in body["results"]:
                index["kinds"] = ["chunk", "page_summary"]
            route.fulfill(response=answer, json=body)

        page.route("**/api/v1/indexes/", claim_more)
        page.goto(f"/?index=plain&q={HEEL}&search=hierarchical#key={KEY}")

        page.wait_for_selector("#problem:not([hidden])")
        said = page.inner_text("#problem")
        assert "plain holds no summaries" in said
        assert "Allowed: biomedical" in said


class TestDocuments:
    def test_are_listed_as_artifact_page_and_passage_in_the_order_of_the_answer(
        self, admitted: "Page", service: Service
    ) -> None:
        find(admitted, FREEZER, "biomedical", "hierarchical")

        answer = answer_to(service, "hierarchical", "biomedical", FREEZER)["artifacts"]
        shown = admitted.locator(".artifact")
        assert [
            card.get_attribute("data-artifact-id") for card in shown.all()
        ] == [artifact["artifact_id"] for artifact in answer]  # fmt: skip
        best, card = answer[0], shown.first
        assert card.locator("h2").text_content() == best["artifact_title"] == TITLE
        assert card.locator("> details > .gist").text_content() == best["summary_snippet"]
        assert len(best["pages"]) == card.locator(".page").count() == len(DECK)
        for group, page in zip(best["pages"], card.locator(".page").all(), strict=True):
            assert page.locator("> h3").inner_text().startswith(f"Page {group['page_index'] + 1}")
            assert page.locator("> .gist").text_content() == group["summary_snippet"]
            assert page.locator(".hit > .text").all_text_contents() == [
                chunk["text"] for chunk in group["supporting_chunks"]
            ]

    def test_mark_the_passage_at_its_offsets(self, admitted: "Page", service: Service) -> None:
        find(admitted, FREEZER, "biomedical", "hierarchical")
        [page, *_] = answer_to(service, "hierarchical", "biomedical", FREEZER)["artifacts"][0][
            "pages"
        ]
        hit = next(hit for hit in page["supporting_chunks"] if "freezer" in hit["text"])
        shown = admitted.locator(f".hit[data-node-id='{hit['node_id']}']")

        shown.get_by_text("Show more text").click()
        shown.locator(".context mark").wait_for()

        source = service.api.get(f"sources/{hit['source']['id']}/").json()
        slice_ = source["text"][hit["start_offset"] : hit["end_offset"]]
        assert hit["start_offset"] > 0
        assert shown.locator(".context mark").text_content() == slice_ == hit["text"]
        assert "freezer" in shown.locator("> .text mark").all_text_contents()

    def test_open_and_close_by_keyboard(self, admitted: "Page") -> None:
        find(admitted, FREEZER, "biomedical", "hierarchical")
        closed = admitted.locator(".artifact").first.locator(".chunks:not([open])").first
        closed.evaluate("each => { each.id = 'closed'; }")
        passages = admitted.locator("#closed > summary")

        passages.focus()
        admitted.keyboard.press("Enter")

        assert admitted.locator("#closed .hit").first.is_visible()
        admitted.keyboard.press("Enter")
        assert not admitted.locator("#closed .hit").first.is_visible()

    def test_do_not_run_scripts_in_their_text(self, admitted: "Page") -> None:
        for search in ("hierarchical", "summaries"):
            find(admitted, "label bar code written img", "biomedical", search)
            assert "<img src=x onerror=" in (admitted.locator("#results").text_content() or "")
            assert admitted.locator("#results img, #results b").count() == 0
        assert admitted.evaluate("window.wasRun") is None

    def test_fit_a_narrow_screen(self, admitted: "Page") -> None:
        admitted.set_viewport_size({"width": 360, "height": 740})

        find(admitted, FREEZER, "biomedical", "hierarchical")

        assert admitted.evaluate("document.documentElement.scrollWidth") == 360


class TestSummaries:
    def test_show_their_page_or_document_and_their_writer(
        self, admitted: "Page", service: Service
    ) -> None:
        find(admitted, FREEZER, "biomedical", "summaries")

        hits = answer_to(service, "summaries", "biomedical", FREEZER)["hits"]
        shown = admitted.locator(".hit").all()
        assert {hit["type"] for hit in hits} == {"page_summary", "artifact_summary"}
        for hit, item in zip(hits, shown, strict=True):
            place = item.locator(".place").inner_text()
            if hit["type"] == "page_summary":
                assert place.startswith("Page summary")
                assert f"page {hit['page_index'] + 1}" in place
            else:
                assert place.startswith("Document summary")
            assert item.locator(".writer").inner_text() == hit["model_name"] == "extractive"
            assert item.locator("> .text").text_content() == hit["summary_text"]


class TestQuestions:
    def test_are_replaced_by_the_passage_if_none_are_written(
        self, admitted: "Page", service: Service
    ) -> None:
        find(admitted, HEEL, "physio")

        [best, *_] = answer_to(service, "questions", "physio", HEEL)["hits"]
        hit = admitted.locator(".hit").first
        assert best["question"] is None  # without a language model
        assert hit.locator("h2").text_content() == best["summary"]
        assert hit.locator("> .text").text_content() == best["text"]
        assert best["metadata"]["muscle_groups"] == ["calves"]
        groups = hit.locator(".fields div", has_text="muscle_groups")
        assert groups.locator("dd").all_text_contents() == best["metadata"]["muscle_groups"]

    def test_mark_their_passage_in_its_context(self, admitted: "Page", service: Service) -> None:
        find(admitted, HEEL, "physio")
        hit = admitted.locator(".hit").first

        hit.get_by_text("Show more text").click()
        hit.locator(".context mark").wait_for()

        [best, *_] = answer_to(service, "questions", "physio", HEEL)["hits"]
        source = service.api.get(f"sources/{best['passage']['id']}/").json()
        slice_ = source["text"][best["start_offset"] : best["end_offset"]]
        assert hit.locator(".context mark").text_content() == slice_ == best["text"]

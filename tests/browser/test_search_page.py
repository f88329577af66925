"""The search page in a real browser, against the real service."""

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

TITLE = "Notes <b>from</b> the harbour"
# Astral characters before the hit: code that counts UTF-16 units would mark the wrong text.
HOSTILE = (
    "🌊🌊🦭 𝔗𝔥𝔢 𝔩𝔬𝔤 👩‍🚀 begins here. "
    + "The crew painted the railings and mended two nets in the afternoon sun. " * 9
    + "\n\n<script>window.wasRun = true</script> & <img src=x onerror='window.wasRun = true'> "
    "stood in the margin, written by a prankster. The quartermaster kept her spare sextant in a "
    "biscuit tin 🧭 beside the stove."
)
ARABIC = (
    "كان حارس المنارة يكتب في دفتره كل مساء عن لون البحر. في الشتاء كانت العواصف تحبسه في البرج "
    "أسبوعا كاملا، فيصنع من الخشب سفنا صغيرة لأطفال القرية."
)
QUESTION = "where did the quartermaster keep her sextant"


@pytest.fixture(scope="module", autouse=True)
def _documents(service: Service) -> None:
    pages = ["A page about ropes.", "A page about paint and brushes.", HOSTILE]
    service.add("plain", title=TITLE, pages=pages)
    service.add("plain", title="دفتر الحارس", text=ARABIC)


@pytest.fixture(scope="module")
def _papers(service: Service) -> None:
    """These documents alone: tests of other pages add to the same service."""
    for other in service.api.get("indexes/papers/artifacts/").json()["results"]:
        service.api.delete(f"artifacts/{other['id']}/").raise_for_status()
    for year, author in ((1816, "Ada Lovelace"), (1819, "Graham Neubig"), (1821, "Ada Lovelace")):
        service.add(
            "papers",
            title=f"Parsing in {year}",
            text=f"We parse sentences as one did in {year}.",
            metadata={"year": year, "authors": [author]},
        )


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.goto(f"/#key={KEY}")
    page.wait_for_selector("label[data-index=plain]")
    return page


class TestTyping:
    def test_searches_before_the_query_is_sent(self, admitted: "Page"):
        admitted.type("#q", "quartermaster sextant", delay=5)

        admitted.wait_for_selector(".hit")
        assert "q=quartermaster" in admitted.url

    def test_before_the_indexes_are_loaded_is_kept(self, admitted: "Page"):
        waiting: list[Route] = []
        admitted.route("**/api/v1/indexes/", lambda route: waiting.append(route))
        admitted.goto("/?index=plain")
        admitted.fill("#q", "lamp")
        while not waiting:
            admitted.wait_for_timeout(10)
        waiting.pop().continue_()
        admitted.unroute("**/api/v1/indexes/")

        admitted.wait_for_url("**q=lamp*")

        assert admitted.input_value("#q") == "lamp"

    def test_before_the_script_runs_is_kept(self, admitted: "Page"):
        waiting: list[Route] = []
        admitted.route("**/search/search.*js", lambda route: waiting.append(route))
        admitted.goto("/?index=plain", wait_until="commit")
        admitted.fill("#q", "lamp")
        while not waiting:
            admitted.wait_for_timeout(10)
        waiting.pop().continue_()

        admitted.wait_for_url("**q=lamp*")

        assert admitted.input_value("#q") == "lamp"


class TestBeside:
    def test_marks_what_only_one_ranking_has(self, admitted: "Page"):
        find(admitted, "nautical apparatus")  # no document has these words
        admitted.click("#options summary")
        admitted.select_option("#beside", "mode=sparse")
        admitted.wait_for_selector("#beside-results", state="attached")

        assert admitted.locator("#beside-results .hit").count() == 0
        hits = admitted.locator("#results .hit").count()
        assert admitted.locator("#results .verdict.only").count() == hits > 0

    def test_marks_nothing_in_the_same_ranking(self, admitted: "Page"):
        find(admitted, QUESTION)
        admitted.click("#options summary")
        admitted.select_option("#beside", "mode=hybrid")
        admitted.wait_for_selector("#beside-results .hit")

        assert admitted.locator(".verdict.only").count() == 0
        admitted.select_option("#beside", "")
        admitted.wait_for_selector("#beside-results", state="detached")


class TestMissedDocument:
    @pytest.fixture
    def searched(self, admitted: "Page") -> "Page":
        find(admitted, QUESTION)
        admitted.click("#missed summary")
        return admitted

    @pytest.mark.parametrize(
        ("title", "why"),
        [
            ("Notes", f"“{TITLE}” is hit 1."),
            ("No such title", "No document of this index has such a title."),
        ],
    )
    def test_is_explained(self, searched: "Page", title: str, why: str):
        searched.fill("#missed-title", title)
        searched.click("text=Say why")

        searched.locator("#missed-why", has_text=why).wait_for()

    @pytest.mark.usefixtures("_papers")
    def test_that_the_filter_leaves_out_is_explained(self, admitted: "Page"):
        admitted.goto('/?index=papers&q=parsing+sentences&filter={"year":1819}')
        admitted.wait_for_selector(".hit")
        admitted.click("#missed summary")
        admitted.fill("#missed-title", "Parsing in 1816")
        admitted.click("text=Say why")

        admitted.locator("#missed-why", has_text="The filter leaves").wait_for()

    def test_that_failed_is_explained(self, searched: "Page", service: Service):
        files = {"file": ("frayed.pdf", b"%PDF-1.7\nfrayed")}
        path = (
            f"artifacts/{service.api.post('indexes/plain/artifacts/', files=files).json()['id']}/"
        )
        while service.api.get(path).json()["status"] != "failed":
            time.sleep(0.2)
        searched.fill("#missed-title", "frayed")
        searched.click("text=Say why")

        searched.locator(
            "#missed-why", has_text="It could not be read: The PDF is damaged"
        ).wait_for()


def find(page: "Page", query: str, index: str = "plain") -> None:
    """Search as a person would, and wait for the hits."""
    page.check(f"input[name=index][value={index}]", force=True)
    page.fill("#q", query)
    page.press("#q", "Enter")
    page.wait_for_function(
        "query => document.title.startsWith(query) "
        "&& !document.querySelector('#results').hasAttribute('aria-busy')",
        arg=query,
    )


def answer_to(service: Service, query: str) -> list[dict[str, Any]]:
    answer = service.api.get("search/pages", params={"index": "plain", "q": query})
    hits: list[dict[str, Any]] = answer.json()["hits"]
    return hits


class TestKey:
    def test_is_requested_without_an_error_message(self, page: "Page") -> None:
        page.goto("/")

        page.wait_for_selector("#key-panel:not([hidden])")
        assert "strata key create" in page.inner_text("#key-panel")
        assert page.is_hidden("#problem")

    def test_is_accepted_when_typed(self, page: "Page") -> None:
        page.goto("/")
        page.wait_for_selector("#key-panel:not([hidden])")

        page.fill("#key", KEY)
        page.press("#key", "Enter")

        page.wait_for_selector("label[data-index=plain]")
        assert page.is_hidden("#key-panel")

    def test_is_removed_from_the_url_and_kept_through_a_reload(self, admitted: "Page") -> None:
        assert KEY not in admitted.url
        assert "#" not in admitted.url

        admitted.reload()

        admitted.wait_for_selector("label[data-index=plain]")

    def test_is_refused_with_an_explanation_when_wrong(self, page: "Page") -> None:
        page.goto("/#key=not-a-key")

        page.wait_for_selector("#problem:not([hidden])")
        assert page.inner_text("#problem").startswith(
            "This key is unknown, has expired or has been revoked."
        )
        assert page.is_visible("#key-panel")

    def test_is_not_needed_once_signed_in_to_the_admin(
        self, page: "Page", service: Service
    ) -> None:
        page.goto("/admin/")
        page.fill("input[name=username]", "admin")
        page.fill("input[name=password]", service.admin_password)
        page.press("input[name=password]", "Enter")
        page.wait_for_url("**/admin/")

        page.goto("/")

        page.wait_for_selector("label[data-index=plain]")
        find(page, QUESTION)
        assert page.locator(".hit").count() > 0
        page.click("#key-toggle")
        assert "You need no key" in page.inner_text("#key-panel")
        assert "you need an API key" not in page.inner_text("#key-panel")
        assert page.is_visible("nav >> text=admin")  # the way to their account and out


@pytest.mark.usefixtures("_papers")
class TestAFilter:
    def test_that_keeps_nothing_is_named_as_the_reason(self, admitted: "Page"):
        def busy(route: "Route") -> None:
            answer = route.fetch()
            body = answer.json()
            for index in body["results"]:
                index["nodes"]["pending"] = 1
            route.fulfill(response=answer, json=body)

        admitted.route("**/api/v1/indexes/", busy)
        filter_ = json.dumps({"authors": ["Nobody At All"]})
        admitted.goto(f"/?index=papers&q=parsing&filter={quote(filter_)}")

        admitted.locator("#status", has_text="Nothing found within the filter.").wait_for()
        assert "upper and lower case" in admitted.inner_text("#status")


class TestIndexes:
    def test_show_their_titles_and_number_of_nodes(
        self, admitted: "Page", service: Service
    ) -> None:
        for index in service.api.get("indexes/").json()["results"]:
            card = admitted.inner_text(f"label[data-index={index['name']}]")
            assert index["title"] in card
            held = f"{index['artifacts']} document" if index["artifacts"] else "empty"
            assert held in card

    def test_show_progress_while_something_is_pending(self, page: "Page") -> None:
        def half_done(route: "Route") -> None:
            answer = route.fetch()
            body = answer.json()
            for index in body["results"]:
                index["nodes"] = {"synced": 30, "pending": 90, "failed": 0, "deleting": 0}
            route.fulfill(response=answer, json=body)

        page.route("**/api/v1/indexes/", half_done)
        page.goto(f"/#key={KEY}")

        bar = page.locator("label[data-index=plain] progress")
        bar.wait_for()
        assert (bar.get_attribute("value"), bar.get_attribute("max")) == ("30", "120")
        page.unroute_all()
        bar.wait_for(state="hidden")  # the page retries by itself

    def test_without_documents_are_shown_on_demand(self, admitted: "Page") -> None:
        library = admitted.locator("label[data-index=library]")
        admitted.locator("#more-indexes", has_text="empty").wait_for()
        assert not library.is_visible()

        admitted.click("#more-indexes")

        library.wait_for()
        assert admitted.locator("#more-indexes").is_hidden()

    def test_suggest_what_to_do_before_a_query_is_typed(self, admitted: "Page") -> None:
        admitted.check("input[name=index][value=plain]", force=True)
        admitted.wait_for_selector("#empty p")

        admitted.click("#more-indexes")
        admitted.check("input[name=index][value=library]", force=True)

        admitted.wait_for_selector("#empty >> text=strata add")  # the index is empty


class TestSearch:
    def test_shows_document_page_and_verdict(self, admitted: "Page", service: Service) -> None:
        find(admitted, QUESTION)

        [best, *_] = answer_to(service, QUESTION)
        hit = admitted.locator(".hit").first
        assert hit.get_attribute("data-node-id") == best["node_id"]
        assert hit.locator("h2").text_content() == TITLE
        assert hit.locator(".place").inner_text().startswith("page 3")
        assert hit.locator(".verdict").inner_text() == "verified"
        assert not hit.locator(".score").is_visible()
        assert hit.locator("> .text").text_content() == best["text"]

    def test_marks_the_words_of_the_query(self, admitted: "Page") -> None:
        find(admitted, QUESTION)

        marks = admitted.locator(".hit").first.locator("> .text mark").all_text_contents()
        assert {"quartermaster", "sextant", "kept"} >= set(marks) >= {"quartermaster", "sextant"}

    def test_runs_no_script_of_a_document(self, admitted: "Page") -> None:
        find(admitted, "prankster margin script")
        admitted.locator(".hit >> text=Show more text").first.click()
        admitted.wait_for_selector(".context mark")

        assert "<script>window.wasRun" in admitted.locator(".hit").first.inner_text()
        assert admitted.locator("#results script, #results img, #results b").count() == 0
        assert admitted.evaluate("window.wasRun") is None

    def test_marks_the_hit_in_its_context_by_offsets_in_code_points(
        self, admitted: "Page", service: Service
    ) -> None:
        find(admitted, QUESTION)
        hit = admitted.locator(".hit").first
        hit.get_by_text("Show more text").click()
        hit.locator(".context mark").wait_for()

        [best, *_] = answer_to(service, QUESTION)
        source = service.api.get(f"sources/{best['source']['id']}/").json()
        slice_ = source["text"][best["start_offset"] : best["end_offset"]]
        assert best["start_offset"] > 0
        assert hit.locator(".context mark").text_content() == slice_ == best["text"]
        shown = hit.locator(".context .text:not(.neighbour)").text_content()
        assert shown == source["text"]
        assert hit.locator(".context .neighbour").count() == 1

    def test_shows_arabic_text_from_right_to_left(self, admitted: "Page") -> None:
        find(admitted, "حارس المنارة")

        text = admitted.locator(".hit").first.locator("> .text")
        assert text.text_content() == ARABIC
        assert text.evaluate("element => getComputedStyle(element).direction") == "rtl"
        assert "المنارة" in text.locator("mark").all_text_contents()

    def test_shows_that_a_hit_is_stale(self, admitted: "Page") -> None:
        def outdate(route: "Route") -> None:
            answer = route.fetch()
            body = answer.json()
            body["hits"][0] |= {"verdict": "stale", "text": "What it said before."}
            route.fulfill(response=answer, body=json.dumps(body))

        admitted.route("**/search/pages?*", outdate)
        find(admitted, QUESTION)
        hit = admitted.locator(".hit").first
        hit.get_by_text("Show more text").click()

        assert hit.locator(".verdict").inner_text() == "outdated"
        hit.locator(".context .notice").wait_for()
        assert hit.locator(".context mark").count() == 0

    def test_explains_scores_on_request(self, admitted: "Page") -> None:
        admitted.click("#options summary")
        admitted.check("#explain")
        find(admitted, QUESTION)

        hit = admitted.locator(".hit").first
        assert "#1" in hit.locator(".explain").inner_text()
        assert hit.locator(".score").is_visible()

    def test_shows_an_error_of_the_api(self, admitted: "Page") -> None:
        admitted.goto("/?index=no-such-index&q=anything")

        admitted.wait_for_selector("#problem:not([hidden])")
        assert "no-such-index" in admitted.inner_text("#problem")


class TestUrl:
    def test_holds_query_index_and_mode(self, admitted: "Page") -> None:
        find(admitted, QUESTION)
        admitted.click("#options summary")
        admitted.check("input[name=mode][value=sparse]", force=True)
        admitted.locator(".score", has_text="bm25").first.wait_for(state="attached")

        asked = {name: said for name, [said] in parse_qs(urlsplit(admitted.url).query).items()}
        assert asked == {"index": "plain", "q": QUESTION, "mode": "sparse"}

        admitted.goto("about:blank")
        admitted.goto(f"/?index=plain&q={QUESTION}&mode=sparse")

        admitted.locator(".score", has_text="bm25").first.wait_for(state="attached")
        assert admitted.input_value("#q") == QUESTION

    def test_follows_the_back_button(self, admitted: "Page") -> None:
        find(admitted, QUESTION)
        find(admitted, "ropes")

        admitted.go_back()

        admitted.wait_for_function("query => document.title.startsWith(query)", arg=QUESTION)
        assert admitted.input_value("#q") == QUESTION
        admitted.wait_for_selector(".hit mark >> text=sextant")


class TestKeyboard:
    def test_slash_focuses_the_search_box(self, admitted: "Page") -> None:
        admitted.locator("#options summary").focus()

        admitted.keyboard.press("/")

        assert admitted.evaluate("document.activeElement.id") == "q"
        assert admitted.input_value("#q") == ""


class TestNotes:
    def test_says_why_a_ranking_does_not_count(self, admitted: "Page") -> None:
        find(admitted, "حارس المنارة")

        assert "reads English only" in admitted.inner_text("#notes")

    def test_says_that_the_hits_are_about_something_else(self, admitted: "Page") -> None:
        find(admitted, "Who is the president of the USA?")

        assert admitted.locator("#results > .hit").count() > 0
        assert "about the query: no passage is similar to it" in admitted.inner_text("#notes")

        find(admitted, QUESTION)

        assert admitted.inner_text("#notes") == ""


class TestGrouping:
    def test_shows_one_hit_of_each_document(self, admitted: "Page", service: Service) -> None:
        herons = [f"The heron on page {number} waits for fish." for number in range(3)]
        service.add("plain", title="Herons", pages=herons)
        find(admitted, "heron waits")
        hits = admitted.locator(".hit", has_text="Herons")
        assert hits.count() > 1

        admitted.click("#options summary")
        admitted.select_option("#group", "artifact")

        hits.nth(1).wait_for(state="detached")
        assert hits.count() == 1
        assert "group_by=artifact" in admitted.url
        admitted.reload()
        admitted.wait_for_selector(".hit")
        assert admitted.input_value("#group") == "artifact"
        assert admitted.locator("#group").is_visible()

    def test_explains_what_a_second_passage_adds(self, admitted: "Page", service: Service) -> None:
        egrets = [f"The egret on page {number} waits for frogs." for number in range(3)]
        service.add("plain", title="Egrets", pages=egrets)
        find(admitted, "egret waits")

        admitted.click("#options summary")
        admitted.check("#explain")
        admitted.select_option("#group", "artifact")

        row = admitted.locator(".hit", has_text="Egrets").locator("tr", has_text="Second passage")
        row.wait_for()
        assert float(row.locator("td").nth(2).inner_text()) > 0


class TestFilters:
    """The controls drawn from the spec of ``papers``."""

    @pytest.fixture
    def filtered(self, admitted: "Page", _papers: None) -> "Page":
        admitted.goto("/?index=papers&q=parse+sentences")
        admitted.wait_for_selector("#results:not([aria-busy]) .hit")
        admitted.click("#filters summary")
        return admitted

    def titles(self, page: "Page", count: int) -> set[str | None]:
        page.locator(
            f"#status:has-text('{count} passage'), #status:has-text('{count} hit')"
        ).wait_for()
        page.wait_for_selector("#results:not([aria-busy])")
        return set(page.locator(".hit h2").all_text_contents())

    @pytest.mark.parametrize("filter", ["{year", "[1]", "null"])
    def test_that_cannot_be_read_are_reported(self, admitted: "Page", filter: str) -> None:
        admitted.goto(f"/?index=papers&q=parsing&filter={filter}")
        admitted.wait_for_selector("#problem:not([hidden])")

        assert "not a JSON object" in admitted.inner_text("#problem")
        assert admitted.locator(".hit").count() == 0

    def test_narrow_the_hits(self, filtered: "Page") -> None:
        filtered.fill("#field-year-gte", "1817")
        filtered.fill("#field-year-lte", "1830")
        filtered.press("#field-year-lte", "Tab")
        assert self.titles(filtered, 2) == {"Parsing in 1819", "Parsing in 1821"}

        filtered.fill("#field-authors", "Ada Lovelace, Alan Turing")
        filtered.press("#field-authors", "Tab")

        assert self.titles(filtered, 1) == {"Parsing in 1821"}
        assert filtered.inner_text("#filters-title") == "Filter (2)"

    def test_are_kept_in_the_address(self, filtered: "Page") -> None:
        filtered.fill("#field-year-lte", "1818")
        filtered.press("#field-year-lte", "Tab")
        self.titles(filtered, 1)

        filtered.reload()

        assert self.titles(filtered, 1) == {"Parsing in 1816"}
        assert filtered.input_value("#field-year-lte") == "1818"

    def test_without_a_control_are_kept(self, filtered: "Page") -> None:
        filtered.goto(
            '/?index=papers&q=parse+sentences&filter={"not":{"year":1816},"year":{"lte":1830}}'
        )

        assert self.titles(filtered, 2) == {"Parsing in 1819", "Parsing in 1821"}
        assert filtered.inner_text("#filters-title") == "Filter (2)"

    def test_offer_the_values_with_their_counts(self, filtered: "Page") -> None:
        filtered.click("[data-facet=authors] button:has-text('Ada Lovelace')")
        assert self.titles(filtered, 2) == {"Parsing in 1816", "Parsing in 1821"}
        assert filtered.input_value("#field-authors") == "Ada Lovelace"
        filtered.locator("[data-facet=year]:not(:has-text('1819'))").wait_for()
        assert "Graham Neubig 1" in filtered.inner_text("[data-facet=authors]").split("\n")

        filtered.click("[data-facet=year] button:has-text('1821')")
        assert self.titles(filtered, 1) == {"Parsing in 1821"}
        filtered.reload()
        filtered.click("#filters summary")
        chosen = filtered.locator(".facet [aria-pressed=true]")
        chosen.nth(1).wait_for()
        assert sorted(chosen.all_inner_texts()) == ["1821 1", "Ada Lovelace 1"]

        filtered.click("[data-facet=year] button:has-text('1821')")

        assert self.titles(filtered, 2) == {"Parsing in 1816", "Parsing in 1821"}

    def test_offer_what_has_no_value(self, filtered: "Page") -> None:
        button = filtered.locator("[data-facet=venue] button")
        assert button.inner_text() == "no value 3"

        button.click()
        filtered.locator("[data-facet=venue] [aria-pressed=true]").wait_for()
        filtered.reload()

        assert len(self.titles(filtered, 3)) == 3
        assert filtered.inner_text("#filters-title") == "Filter (1)"

    def test_are_cleared_with_another_index(self, filtered: "Page") -> None:
        filtered.fill("#field-year-lte", "1818")
        filtered.press("#field-year-lte", "Tab")
        self.titles(filtered, 1)

        filtered.check("input[name=index][value=plain]", force=True)

        filtered.locator("#filters").wait_for(state="hidden")
        assert "filter" not in filtered.url

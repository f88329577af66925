"""Streamed answers on the search page."""

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

HARBOUR = (
    "The harbour master keeps the tide tables in a blue ledger. <b>Boats leave before dawn</b> "
    "when the wind is in the east [1] as the almanac [2] says. The ferry does not sail on Sundays. "
)
QUESTION = "When do boats leave the harbour?"

# Gives the page the first event of an answer, and no other.
UNENDING = """() => {
  const real = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes("/ask")) return real(address, options);
    const data = JSON.stringify({ index: "plain", question: "When do boats leave the harbour?", hits: [], parsed: {}, identified: [], notes: [], took_ms: { total: 1 } });
    const body = new ReadableStream({
      start(stream) {
        stream.enqueue(new TextEncoder().encode(`id: 1\\nevent: metadata\\ndata: ${data}\\n\\n`));
        options.signal.addEventListener("abort", () => stream.error(new DOMException("", "AbortError")));
      },
    });
    return new Response(body);
  };
}"""  # noqa: E501


@pytest.fixture(scope="module", autouse=True)
def _documents(service: Service) -> None:
    service.add("plain", title="Harbour rules", text=HARBOUR)


@pytest.fixture
def asked(page: "Page") -> "Page":
    page.goto(f"/?index=plain#key={KEY}")
    page.wait_for_selector("label[data-index=plain]")
    page.get_by_label("Answer", exact=True).check()
    page.fill("#q", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer:not([aria-busy])")
    return page


class TestAnAnswer:
    def test_is_shown_above_its_hits_and_named_as_quoted(self, asked):
        said = asked.inner_text(".answer .text")

        assert "Boats leave before dawn" in said
        assert "Quoted from the documents" in asked.inner_text(".answer .place")
        assert asked.locator("#results > li").count() >= 1

    def test_shows_markup_of_documents_as_text(self, asked):
        assert "<b>Boats leave before dawn</b>" in asked.inner_text(".answer .text")
        assert asked.locator(".answer b").count() == 0

    def test_shows_the_marks_of_documents_as_text(self, asked):
        marks = asked.locator(".answer .mark").all_inner_texts()

        assert "in the east [1] as the almanac [2]" in asked.inner_text(".answer .text")
        assert marks
        assert not asked.locator(".answer .mark").first.evaluate(
            "mark => mark.previousSibling.textContent.endsWith('east ')"
        )

    def test_focuses_the_hit_of_a_clicked_citation(self, asked):
        mark = asked.locator(".answer .mark").first
        number = int(mark.inner_text())
        mark.click()

        hit = asked.locator("#results > li").nth(number - 1)
        assert hit.evaluate("hit => hit === document.activeElement")

    def test_marks_citations_that_do_not_support_their_sentence(self, asked):
        def make_unsupported(route):
            answer = route.fetch()
            body = answer.text().replace('"is_supported": true', '"is_supported": false')
            assert "false" in body
            route.fulfill(response=answer, body=body.replace('"extractive"', '"a-model"'))

        asked.route("**/api/v1/ask*", make_unsupported)
        asked.reload()

        asked.wait_for_selector(".answer:not([aria-busy])")
        assert asked.locator(".answer .mark").first.inner_text().endswith("?")
        assert "do not support the sentence" in asked.inner_text(".answer .place")

    def test_is_copied_with_its_sources(self, asked):
        asked.context.grant_permissions(["clipboard-read", "clipboard-write"])
        asked.click("text=Copy with sources")
        asked.wait_for_selector("text=Copied")

        copied = asked.evaluate("navigator.clipboard.readText()")
        assert "Boats leave before dawn" in copied
        assert re.fullmatch(r"\[\d+\] .+, page \d+", copied.splitlines()[-1])

    def test_can_be_stopped(self, page):
        """The stream of this answer never ends."""
        page.goto(f"/?index=plain#key={KEY}")
        page.wait_for_selector("label[data-index=plain]")
        page.evaluate(UNENDING)
        page.get_by_label("Answer", exact=True).check()
        page.fill("#q", QUESTION)
        page.keyboard.press("Enter")
        page.click("text=Stop")

        page.wait_for_selector(".answer:not([aria-busy])")
        assert "Stopped." in page.inner_text(".answer .place")

    def test_is_shown_again_from_its_url(self, asked):
        assert "search=ask" in asked.url
        asked.reload()

        asked.wait_for_selector(".answer:not([aria-busy])")
        assert "Boats leave" in asked.inner_text(".answer .text")

    def test_disappears_when_another_search_is_chosen(self, asked):
        asked.get_by_label("Passages", exact=True).check()
        asked.wait_for_selector("#results > li")

        assert asked.locator(".answer").count() == 0

    def test_continues_after_a_broken_connection(self, page):
        sent = []

        def break_off(route):
            sent.append(route.request.headers.get("last-event-id"))
            if len(sent) > 1:
                route.continue_()
                return
            answer = route.fetch()
            first = answer.text().split("\n\n")[0]
            route.fulfill(response=answer, body=f"{first}\n\n")

        page.route("**/api/v1/ask", break_off)
        page.goto(f"/?search=ask&index=plain&q={QUESTION}#key={KEY}")
        page.wait_for_selector(".answer:not([aria-busy])")

        assert sent[0] is None
        assert sent[1].endswith(".0")
        assert "Boats leave" in page.inner_text(".answer .text")


class TestAConversation:
    FOLLOW_UP = "And does the ferry sail on Sundays?"

    @pytest.fixture
    def continued(self, asked):
        """The follow-up is answered; the service has no language model, so the test rewrites it."""
        self.bodies: list[dict[str, Any]] = []

        def rewrite(route):
            self.bodies.append(route.request.post_data_json)
            answer = route.fetch()
            asked_as = json.dumps({"question": self.FOLLOW_UP})[1:-1]
            body = answer.text().replace(asked_as, '"question": "Does the ferry sail on Sundays?"')
            route.fulfill(response=answer, body=body)

        asked.route("**/api/v1/ask", rewrite)
        self.follow_up(asked)
        return asked

    def follow_up(self, page):
        page.fill("#follow-up", self.FOLLOW_UP)
        page.keyboard.press("Enter")
        self.wait_for(page, "does not sail on Sundays")

    def wait_for(self, page, text):
        page.locator(".answer:not([aria-busy]) > .text", has_text=text).wait_for()
        page.wait_for_selector("#follow-up")

    def test_sends_what_was_asked_before(self, continued):
        [body] = self.bodies

        assert body["query"] == self.FOLLOW_UP
        [turn] = body["history"]
        assert turn["question"] == QUESTION
        assert "Boats leave before dawn" in turn["answer"]
        assert "Read as “Does the ferry sail on Sundays?”" in continued.inner_text(".answer")
        continued.click("text=1 earlier question")
        assert QUESTION in continued.inner_text(".earlier")

    def test_survives_a_reload(self, continued):
        continued.reload()
        self.wait_for(continued, "does not sail on Sundays")

        assert continued.locator("text=1 earlier question").is_visible()
        assert len(self.bodies[-1]["history"]) == 1

    def test_ends_with_a_new_question(self, continued):
        continued.fill("#q", "When do boats leave?")
        continued.press("#q", "Enter")
        self.wait_for(continued, "Boats leave before dawn")

        assert self.bodies[-1]["history"] == []
        assert continued.locator(".earlier").count() == 0

    def test_can_be_deleted(self, continued):
        continued.click("text=Delete the conversation")
        continued.wait_for_selector("text=Deleted from this browser.")

        assert (
            continued.evaluate("Object.keys(sessionStorage).sort().join() + localStorage.length")
            == "index,key0"
        )
        continued.reload()
        self.wait_for(continued, "does not sail on Sundays")
        assert self.bodies[-1]["history"] == []

    def test_is_deleted_with_its_key(self, continued):
        continued.click("#key-toggle")
        continued.click("#key-forget")
        continued.wait_for_selector("#key-panel:not([hidden])")

        assert continued.evaluate("sessionStorage.length + localStorage.length") == 0

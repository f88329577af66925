"""Whole journeys in a real browser, with a picture of each step in ``test-results/journeys``."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pytest

from tests.documents.parsing.makers import make_pdf_with_layout
from tests.faults.armed import armed
from tests.serving import KEY, ROOT, Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FilePayload, Page

PICTURES = ROOT / "test-results" / "journeys"
READY_MS = 60_000
HEADINGS = ("Puffins of the north", "Razorbills of the south")
QUESTION = "How did the year go in the markets in which we sell?"
# The elements for which the page would scroll sideways.
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("main *")]
        .filter((each) => each.getBoundingClientRect().right > innerWidth)
        .map((each) => each.outerHTML.slice(0, 200))"""


class Traveller:
    """A person at a page, of which each step is pictured."""

    def __init__(self, page: "Page", journey: str) -> None:
        self.page, self.journey, self.step = page, journey, 0

    def see(self, selector: str, has_text: str | None = None) -> None:
        self.step += 1
        try:
            self.page.locator(selector, has_text=has_text).first.wait_for(timeout=READY_MS)
        finally:
            path = PICTURES / f"{self.journey}-{self.step}.png"
            self.page.screenshot(full_page=True, path=path)

    def give(self, name: str, content: bytes) -> None:
        self.page.wait_for_selector("#index option[value=plain]", state="attached")
        file: FilePayload = {"name": name, "mimeType": "application/pdf", "buffer": content}
        self.page.set_input_files("#files", file)


@pytest.fixture(scope="module", autouse=True)
def pictures() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A new installation with one index, whose spec may be edited."""
    specs = tmp_path_factory.mktemp("specs")
    shutil.copy(ROOT / "specs" / "plain.yaml", specs)
    with armed(tmp_path_factory.mktemp("served"), STRATA_SPECS_DIR=str(specs)) as service:
        yield service


def test_from_the_first_visit_to_a_rolled_back_recipe(page: "Page"):
    page.on("dialog", lambda dialog: dialog.accept())
    person = Traveller(page, "first-visit")
    page.goto(f"/#key={KEY}")
    person.see("#empty", has_text="Three steps to your first answer")

    page.click("text=Add documents")
    person.give("birds.pdf", make_pdf_with_layout(*HEADINGS))
    person.see("#documents li[data-state=ready]")

    page.click("nav >> text=Search")
    page.fill("#q", HEADINGS[1])
    page.press("#q", "Enter")
    person.see(".hit")
    page.locator("a.open").first.click()
    person.see("#marks .mark")

    page.click("#back")
    page.get_by_label("Answer", exact=True).check()
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    person.see(".answer:not([aria-busy])")
    page.locator(".answer .mark").first.click()
    page.locator(".hit:focus a.open").first.click()
    person.see("#marks .mark")

    page.goto(f"/?index=plain&q={HEADINGS[1]}")
    page.locator(".judge button").first.click()
    person.see(".judge [aria-pressed=true]")

    page.click("nav >> text=Indexes")
    page.click("#rows a")
    page.locator("#plan .good").wait_for()
    text = page.input_value("#spec-text")
    page.fill("#spec-text", text + "chunks: {strategies: [{name: sentence, max_chars: 300}]}\n")
    page.click("text=Save")
    person.see("#plan table")
    page.click("text=Build it beside")
    page.click("text=Promote when complete")
    person.see("#builds .live", has_text="Build 2")
    page.click("#measure")
    person.see("#runs td", has_text="hybrid")
    page.click("text=Roll back to this")
    person.see("#builds .live", has_text="Build 1")


def test_from_a_failed_file_to_one_that_is_found(page: "Page"):
    person = Traveller(page, "failed-file")
    page.goto(f"/add/?index=plain#key={KEY}")
    person.give("terns.pdf", b"%PDF-1.7\ntorn")
    person.see("#documents li[data-state=failed]", has_text="The PDF is damaged")

    page.click("nav >> text=Work")
    person.see("#failed td", has_text="The PDF is damaged")
    page.goto("/add/?index=plain")
    person.give("terns.pdf", make_pdf_with_layout("Terns", "Ringing terns"))
    person.see("#documents li[data-state=exists]", has_text="terns.pdf")
    page.get_by_role("button", name="Replace it").click()
    person.see("#documents li[data-state=ready]", has_text="terns.pdf")
    page.goto("/?index=plain&q=Ringing+terns")
    person.see(".hit", has_text="Ringing terns")


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 390), ("dark", 1100)], ids=["phone", "dark"]
)
def test_on_a_phone_and_in_the_dark(
    browser: "Browser", service: Service, scheme: Literal["light", "dark"], width: int
):
    service.add("plain", title="Auks", text="Auks nest in burrows.", external_id="auks")
    context = browser.new_context(
        base_url=service.url, viewport={"width": width, "height": 844}, color_scheme=scheme
    )
    page = context.new_page()
    person = Traveller(page, f"{scheme}-{width}")
    page.goto(f"/?index=plain&q=where+auks+nest#key={KEY}")
    person.see(".hit")
    for address, selector in {
        "/documents/?index=plain": "#rows tr",
        "/add/": "#files",
        "/indexes/?index=plain": "#plan p",
        "/work/": "#parts li",
        "/keys/": "#keys tr",
    }.items():
        page.goto(address)
        page.locator(selector).first.wait_for(state="attached")
        assert page.evaluate(TOO_WIDE) == [], address
        person.see("h1")
    context.close()


def test_two_tenants_see_only_their_documents(browser: "Browser", service: Service):
    secrets = {}
    for tenant, text in {"red": "Red cormorants dry wings.", "blue": "Blue herons wait."}.items():
        service.add("plain", title=f"Notes of {tenant}", text=text, groups=[tenant])
        key = {"name": tenant, "scope": "search", "indexes": ["plain"], "groups": [tenant]}
        secrets[tenant] = service.api.post("keys/", json=key).json()["secret"]
    for tenant, other in (("red", "blue"), ("blue", "red")):
        context = browser.new_context(base_url=service.url)
        page = context.new_page()
        person = Traveller(page, f"tenant-{tenant}")
        page.goto(f"/?index=plain&limit=50&q=cormorants+herons#key={secrets[tenant]}")
        person.see(".hit", has_text=f"Notes of {tenant}")
        assert f"Notes of {other}" not in page.inner_text("body")
        page.goto("/documents/?index=plain")
        person.see("#rows tr", has_text=f"Notes of {tenant}")
        assert f"Notes of {other}" not in page.inner_text("body")
        context.close()

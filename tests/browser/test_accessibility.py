"""axe finds no violation on any page, in light and dark, on a screen and on a phone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "The lamp of the harbour"
SCREEN, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def artifact_id(service: Service) -> str:
    pages = [
        "# Duties\n\nThe lamp is lit at dusk.\n\n| month | oil |\n|---|---|\n| May | 3 |",
        "Fog.",
    ]
    return str(service.add("plain", title=TITLE, pages=pages))


@pytest.fixture(
    params=[("light", SCREEN), ("dark", SCREEN), ("light", PHONE), ("dark", PHONE)],
    ids=["light", "dark", "light-phone", "dark-phone"],
)
def page(
    request: pytest.FixtureRequest, browser: "Browser", service: Service, artifact_id: str
) -> "Iterator[Page]":
    scheme, viewport = request.param
    context = browser.new_context(
        base_url=service.url, viewport=viewport, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"/#key={KEY}")
    page.wait_for_selector("label[data-index=plain]")
    yield page
    context.close()


def find_violations(page: "Page") -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{each['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for each in Axe().run(page).response["violations"]
        for node in each["nodes"]
    ]


class TestEveryPage:
    @pytest.mark.parametrize("query", ["lamp", "when+is+the+lamp+lit&explain=true", ""])
    def test_search(self, page: "Page", query: str) -> None:
        page.goto(f"/?index=plain&q={query}")
        page.wait_for_selector(
            "#results:not([aria-busy]) .hit" if query else "#empty:not([hidden])"
        )

        assert find_violations(page) == []

    @pytest.mark.parametrize("search", ["hierarchical", "ask"])
    def test_groups_and_answers(self, page: "Page", search: str) -> None:
        page.goto(f"/?index=plain&search={search}&q=when+is+the+lamp+lit")
        page.wait_for_selector("#results:not([aria-busy]) > li")

        assert find_violations(page) == []

    def test_filters(self, page: "Page", service: Service) -> None:
        service.add("papers", title="Buoys", text="We moor buoys.", metadata={"year": 1816})
        page.goto('/?index=papers&q=buoys&filter={"year":[1816]}')
        page.click("#filters summary")
        page.wait_for_selector(".facet button")

        assert find_violations(page) == []

    def test_error(self, page: "Page") -> None:
        page.goto("/?index=absent&q=lamp")
        page.wait_for_selector("#problem:not([hidden])")

        assert find_violations(page) == []

    def test_add(self, page: "Page") -> None:
        page.goto("/add/?index=papers")
        page.click("#about summary")

        assert find_violations(page) == []

    def test_documents(self, page: "Page") -> None:
        page.goto("/documents/?index=plain")
        page.wait_for_selector(f"text={TITLE}")

        assert find_violations(page) == []

    def test_document(self, page: "Page", artifact_id: str) -> None:
        page.goto(f"/documents/{artifact_id}/")
        page.wait_for_selector("text=The lamp is lit at dusk.")

        assert find_violations(page) == []

    @pytest.mark.parametrize("query", ["", "?index=plain"])
    def test_indexes(self, page: "Page", query: str) -> None:
        page.goto(f"/indexes/{query}")
        page.wait_for_selector("#rows tr, #plan .good")

        assert find_violations(page) == []

    @pytest.mark.parametrize(
        ("address", "shown"),
        [("/work/", "#state"), ("/keys/", "#keys"), ("/settings/", "#webhooks")],
    )
    def test_work_and_settings(self, page: "Page", address: str, shown: str) -> None:
        page.goto(address)
        page.wait_for_selector(f"{shown}:not([hidden])")

        assert find_violations(page) == []

    def test_adding_a_person(self, page: "Page") -> None:
        page.goto("/settings/")
        page.click("text=Add a person")

        assert find_violations(page) == []

    @pytest.mark.parametrize(
        "address", ["/concepts/", "/sources/", "/pipelines/", "/admin/login/", "/nowhere/"]
    )
    def test_others(self, page: "Page", address: str) -> None:
        page.goto(address)
        page.wait_for_load_state("networkidle")

        assert find_violations(page) == []

    def test_text_of_the_admin_can_be_read(self, page: "Page", service: Service) -> None:
        page.goto("/sign-in/")
        page.fill("input[name=username]", "admin")
        page.fill("input[name=password]", service.admin_password)
        page.press("input[name=password]", "Enter")
        page.wait_for_selector("nav >> text=admin")
        for path in ("/admin/", "/admin/auth/group/add/"):
            page.goto(path)
            page.wait_for_load_state("networkidle")

            assert [each for each in find_violations(page) if "color-contrast" in each] == []

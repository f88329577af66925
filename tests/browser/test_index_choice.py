"""Which index the pages show first, in a real browser, against the real service."""

from typing import TYPE_CHECKING

import pytest

from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def admitted(page: "Page", service: Service) -> "Page":
    service.add("papers", text="Auks dive.", title="Auk")
    page.goto(f"/work/#key={KEY}")
    return page


def read_choice(page: "Page", path: str) -> str:
    page.goto(path)
    page.wait_for_selector("#index option:checked", state="attached")
    return page.input_value("#index")


class TestFirstIndex:
    def test_is_for_any_document_where_documents_are_added(self, admitted: "Page"):
        assert read_choice(admitted, "/add/") == "plain"

    def test_has_documents_where_they_are_listed(self, admitted: "Page", service: Service):
        chosen = read_choice(admitted, "/documents/")

        assert service.api.get(f"indexes/{chosen}/").json()["artifacts"] > 0

    def test_is_the_one_chosen_last_on_any_page(self, admitted: "Page"):
        admitted.goto("/add/")
        admitted.select_option("#index", "papers")

        assert read_choice(admitted, "/documents/") == "papers"
        admitted.goto("/")
        admitted.wait_for_selector("input[name=index][value=papers]:checked", state="attached")

    def test_is_that_of_the_address(self, admitted: "Page"):
        admitted.goto("/indexes/?index=papers")
        admitted.wait_for_selector("#builds li")

        assert read_choice(admitted, "/add/?index=plain") == "plain"
        assert read_choice(admitted, "/documents/") == "plain"

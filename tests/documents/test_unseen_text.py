"""Text of a page that cannot be seen on it is kept apart, counted, and shown to few."""

import pytest

from access.grants import Scope
from documents.contents import TextContent
from documents.models import Artifact, Page
from documents.pages import add_reading
from documents.parsing import ParsedPage
from documents.parsing.document import DocumentDraft, Limits, UnseenText
from documents.services import replace_content
from tests.clients import client_with_key
from tests.factories import give
from tests.rereading import add_file
from tests.unseen import DELETED, OFFER, SECRET, ReaderOfUnseenText, add_offer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def reader(build, settings, tmp_path, monkeypatch) -> ReaderOfUnseenText:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return ReaderOfUnseenText(monkeypatch)


@pytest.fixture
def offer() -> Artifact:
    return add_offer()


def get(scope: Scope, artifact: Artifact, rest: str = ""):
    return client_with_key(scope=scope).get(f"/api/v1/artifacts/{artifact.pk}/{rest}")


class TestPage:
    def test_has_no_unseen_text(self, offer):
        first = offer.pages.get(index=0)

        assert first.text == OFFER
        assert [source.text for source in first.sources.all()] == [OFFER]

    def test_names_how_much_is_unseen_and_why(self, offer):
        page = get(Scope.SEARCH, offer, "pages/0/").json()

        assert page["unseen"] == [
            {
                "reason": "hidden",
                "detail": "marked as hidden in the file",
                "char_count": len(SECRET),
            },
            {
                "reason": "deleted",
                "detail": "deleted or struck out",
                "char_count": len(DELETED),
            },
        ]
        assert (page["unseen_start"], page["unreadable_count"]) == (None, 0)
        assert page["warnings"] == ["hidden_text"]

    def test_counts_unreadable_characters(self):
        document = add_file("Fares: ??? for the ferry.", "fares.txt")

        page = get(Scope.SEARCH, document, "pages/0/").json()

        assert (page["text"], page["unreadable_count"]) == ("Fares:  for the ferry.", 3)
        assert page["warnings"] == ["unreadable_text"]

    def test_of_which_nothing_is_left_out_has_no_warning(self, offer):
        pages = get(Scope.SEARCH, offer, "pages/").json()["results"]

        assert [page["warnings"] for page in pages] == [["hidden_text"], []]


class TestUnseenText:
    @pytest.mark.parametrize("scope", [Scope.WRITE, Scope.MANAGE])
    def test_is_read_by_those_who_may_change_the_document(self, offer, scope):
        assert get(scope, offer, "pages/0/unseen").json()["results"] == [
            {"reason": "hidden", "text": SECRET},
            {"reason": "deleted", "text": DELETED},
        ]

    def test_is_not_read_by_others(self, offer):
        refused = get(Scope.SEARCH, offer, "pages/0/unseen")
        shown = [get(Scope.SEARCH, offer, rest) for rest in ("", "pages/", "pages/0/")]

        assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
        for each in (refused, *shown):
            assert SECRET not in each.content.decode()

    def test_of_a_document_that_the_key_may_not_see_is_as_if_it_did_not_exist(self):
        offer = add_offer(groups=["keepers"])
        client = client_with_key(scope=Scope.WRITE, groups=["guests"])

        answer = client.get(f"/api/v1/artifacts/{offer.pk}/pages/0/unseen")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_artifact")

    def test_goes_with_new_content(self, offer):
        replace_content(offer.pk, TextContent(("A text.",)))

        [page] = Page.every_reading.filter(artifact=offer)
        assert (page.unseen, page.warnings) == ([], [])


class TestReading:
    def test_that_differs_only_in_unseen_text_is_another_one(self, offer):
        seen = [ParsedPage(page.text) for page in offer.pages.all()]
        offer.warnings = []

        add_reading(offer, seen, 1)

        assert [page.unseen for page in Page.every_reading.filter(reading=1)] == [[], []]

    def test_with_the_same_unseen_text_is_the_same(self, offer):
        pages = [
            ParsedPage(page.text, unseen=[UnseenText(*each) for each in page.unseen])
            for page in offer.pages.all()
        ]

        add_reading(offer, pages, 1)

        assert not Page.every_reading.filter(reading=1).exists()


class TestWarnings:
    def test_name_their_pages_and_what_helps(self, offer):
        [warning] = get(Scope.SEARCH, offer).json()["warnings"]

        assert (warning["code"], warning["page_indexes"]) == ("hidden_text", [0])
        assert "unseen_text: index" in warning["fix"]

    def test_name_all_pages_that_have_one(self):
        draft = DocumentDraft(Limits.from_settings())
        for index in range(3):
            draft.warn("plain_page", f"Page {index + 1} was read without tables.", index)
        draft.add_page("Text.")

        [warning] = draft.finish("application/pdf").warnings

        assert warning.detail == "Page 1 was read without tables."
        assert warning.page_indexes == (0, 1, 2)

    def test_select_documents_that_were_read_in_part(self, offer):
        whole = give("The ferry leaves at noon.")
        whole.warnings = [{"code": "plain_page", "detail": 'It names "hidden_text".'}]
        whole.save()
        client = client_with_key(scope=Scope.SEARCH)

        found = {
            is_partial: [
                each["id"]
                for each in client.get(
                    "/api/v1/indexes/plain/artifacts/", {"is_partial": is_partial}
                ).json()["results"]
            ]
            for is_partial in ("true", "false")
        }

        assert found == {"true": [str(offer.pk)], "false": [str(whole.pk)]}
        assert client.get("/api/v1/indexes/plain/").json()["artifacts_partial"] == 1

"""What of unseen text an index holds, by its spec, and what its hits say."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from documents import reading
from documents.models import Artifact, Page
from indexing import lifecycle
from indexing.models import IndexBuild
from indexing.services import audit_documents
from tests.clients import client_with_key
from tests.factories import sync
from tests.rereading import add_file, finish
from tests.unseen import DELETED, OFFER, SECRET, ReaderOfUnseenText, add_offer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def reader(build, settings, tmp_path, monkeypatch) -> ReaderOfUnseenText:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return ReaderOfUnseenText(monkeypatch)


@pytest.fixture
def api() -> APIClient:
    return client_with_key()


@pytest.fixture
def offer(build) -> Artifact:
    artifact = add_offer()
    sync(build, artifact)
    return artifact


def search(api: APIClient, query: str = SECRET) -> dict[str, dict[str, Any]]:
    hits = api.get("/api/v1/search/pages", {"index": "plain", "q": query}).json()["hits"]
    return {hit["text"]: hit for hit in hits}


def set_unseen_text(specs, choice: str) -> IndexBuild:
    specs(f"title: Plain\nunseen_text: {choice}\n")
    return lifecycle.apply_spec("plain")


@pytest.fixture
def with_unseen(specs, offer) -> IndexBuild:
    """A live build that holds unseen text."""
    build = set_unseen_text(specs, "index")
    finish(build)
    lifecycle.promote_build(build)
    return build


def parse_again() -> None:
    for artifact in Artifact.objects.unparsed():
        reading.parse_artifact(artifact.pk)
    sync(IndexBuild.objects.live().get(), *Artifact.objects.all())


class TestHits:
    def test_hold_no_unseen_text(self, api, offer):
        hits = search(api)

        assert OFFER in hits
        assert all(SECRET not in text and DELETED not in text for text in hits)

    def test_name_the_warnings_of_their_page(self, api, offer):
        hits = search(api, OFFER)

        assert hits[OFFER]["warnings"] == ["hidden_text"]
        assert hits["The second page has all of its text."]["warnings"] == []

    def test_name_warnings_also_without_a_check(self, api, offer):
        given = {"index": "plain", "q": OFFER, "verify": "false"}
        [first, *_] = api.get("/api/v1/search/pages", given).json()["hits"]

        assert (first["verdict"], first["warnings"]) == (None, ["hidden_text"])

    def test_follow_the_warnings_of_a_reading_with_the_same_text(self, api, build, offer):
        Page.objects.update(warnings=[])
        assert audit_documents(build) == {offer.pk}

        sync(build, offer)

        assert search(api, OFFER)[OFFER]["warnings"] == []


class TestIndexWithUnseenText:
    def test_finds_it_and_says_that_it_is_not_seen(self, api, with_unseen):
        hits = search(api)

        assert hits[SECRET]["verdict"] == hits[DELETED]["verdict"] == "exact"
        assert hits[SECRET]["warnings"] == ["hidden_text", "unseen_passage"]
        assert hits[OFFER]["warnings"] == ["hidden_text"]

    def test_has_it_in_sources_of_its_own_below_a_heading(self, with_unseen, offer):
        page = offer.pages.get(index=0)

        assert page.text[: page.unseen_start] == OFFER
        assert [(each.heading, each.text) for each in page.sources.order_by("ordinal")] == [
            ("", OFFER),
            ("Not seen on the page: marked as hidden in the file", SECRET),
            ("Not seen on the page: deleted or struck out", DELETED),
        ]

    def test_reads_only_documents_with_unseen_text_anew(self, specs, offer, build):
        add_file(OFFER, "whole.txt")

        assert lifecycle.find_outdated_artifacts("plain", 0, with_unseen=True) == [offer.pk]
        assert lifecycle.find_outdated_artifacts("plain", 0) == []

    def test_reads_new_documents_in_the_same_way(self, api, with_unseen):
        artifact = add_offer(" Ask for it.", external_id="second")
        sync(with_unseen, artifact)

        assert artifact.sources.filter(text=SECRET).exists()

    def test_holds_it_no_longer_after_a_rollback(self, api, with_unseen, offer):
        lifecycle.roll_back_index("plain")

        assert SECRET not in search(api)
        assert [page.unseen_start for page in offer.pages.all()] == [None, None]

    def test_holds_it_no_longer_after_a_rollback_in_documents_added_meanwhile(
        self, api, with_unseen
    ):
        sync(with_unseen, add_offer(" Ask for it.", external_id="second"))

        lifecycle.roll_back_index("plain")
        parse_again()

        assert SECRET not in search(api)

    def test_holds_that_of_documents_added_while_it_was_built(self, api, specs, offer):
        build = set_unseen_text(specs, "index")
        second = add_offer(" Ask for it.", external_id="second")
        finish(build)
        lifecycle.promote_build(build, is_forced=True)

        parse_again()

        assert second.sources.filter(text=SECRET).exists()

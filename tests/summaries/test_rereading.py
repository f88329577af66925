"""Summaries and questions of a build that reads documents anew, beside those of the live one."""

import pytest

from documents.models import Artifact
from indexing import lifecycle
from indexing.models import IndexBuild, Node
from indexing.services import read_next
from indexing.verification import verify_build
from retrieval.search.hit_checks import Verdict
from summaries import services
from summaries.models import Annotation, Summary
from tests.rereading import NEW, OLD, NewerReader, add_file
from tests.retrieval.search.asking import SearchRequest, search_questions, search_summaries
from tests.summaries.conftest import write_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(wide, writer) -> Artifact:
    artifact = add_file(OLD, "heron.txt", index="wide")
    write_all(wide, artifact)
    return artifact


@pytest.fixture
def begun(document, monkeypatch) -> IndexBuild:
    NewerReader(monkeypatch)
    build = lifecycle.apply_spec("wide", rereads=True)
    read_next(build)
    return build


@pytest.fixture
def complete(begun, document) -> IndexBuild:
    write_all(begun, document)
    return begun


def find(search, build: IndexBuild) -> set[tuple[str, Verdict | None]]:
    answer = search(SearchRequest(indexes=[build], query="shallows"))
    return {(hit.payload["kind"], hit.verdict) for hit in answer.hits}


class TestWrittenTexts:
    def test_of_both_builds_are_of_their_own_reading(self, complete, wide):
        [old] = Summary.objects.of_pages().filter(build=wide)
        [new] = Summary.objects.of_pages().filter(build=complete)

        assert (old.page.text, new.page.text) == (OLD, NEW)
        assert ("her0n" in old.text, "her0n" in new.text) == (True, False)
        assert {each.source.text for each in Annotation.objects.filter(build=complete)} == {NEW}
        for build in (wide, complete):
            assert verify_build(build).findings == {}

    def test_are_exact_hits_before_and_after_the_promotion(self, complete, wide):
        summaries = {("page_summary", Verdict.EXACT), ("artifact_summary", Verdict.EXACT)}
        for _ in range(2):
            for build in (wide, complete):
                assert find(search_summaries, build) == summaries
                assert find(search_questions, build) == {("question", Verdict.EXACT)}
            lifecycle.promote_build(complete)

    def test_name_the_number_of_pages(self, complete):
        [node] = Node.objects.filter(build=complete, kind="artifact_summary")

        assert node.details["page_count"] == 1

    def test_by_hand_are_copied_to_the_page_with_the_same_number(self, document, monkeypatch):
        services.edit_summary(document.pk, document.pages.get().pk, "What a person wrote.")
        NewerReader(monkeypatch)
        begun = lifecycle.apply_spec("wide", rereads=True)
        read_next(begun)

        write_all(begun, document)

        summary = Summary.objects.of_pages().get(build=begun)
        assert (summary.text, summary.page.text) == ("What a person wrote.", NEW)

    def test_by_hand_are_saved_in_both_builds(self, complete, wide, document):
        rows = services.edit_summary(document.pk, document.pages.get().pk, "By hand.")

        assert {(row.build_id, row.page.text) for row in rows} == {
            (wide.pk, OLD),
            (complete.pk, NEW),
        }
        for build in (wide, complete):
            write_all(build, document)
            assert verify_build(build).findings == {}

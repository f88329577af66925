"""Quotes and the extraction of concepts when a build with other readings becomes live."""

import pytest

from concepts.extraction import sources_without_extraction
from concepts.models import Instance
from concepts.quotes import add_quote
from concepts.tasks import reconcile_concepts
from documents.models import Artifact
from indexing import lifecycle
from indexing.models import IndexBuild
from tests.concepts.conftest import INDEX
from tests.factories import sync
from tests.rereading import NEW, OLD, NewerReader, add_file, finish

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(knowledge, monkeypatch) -> Artifact:
    artifact = add_file(OLD, "heron.txt", index=INDEX)
    sync(knowledge, artifact)
    return artifact


@pytest.fixture
def complete(document, heron, monkeypatch) -> IndexBuild:
    add_quote(heron.pk, "in the shallows", artifact_id=document.pk)
    NewerReader(monkeypatch)
    build = lifecycle.apply_spec(INDEX, rereads=True)
    finish(build)
    return build


def quoted_text() -> str:
    reconcile_concepts()
    [instance] = Instance.objects.not_lost()
    assert instance.source is not None
    return instance.source.text


class TestQuotes:
    def test_are_of_what_searches_see(self, complete):
        assert quoted_text() == OLD

        lifecycle.promote_build(complete)
        assert quoted_text() == NEW

        lifecycle.roll_back_index(INDEX)
        assert quoted_text() == OLD


class TestExtraction:
    def test_is_due_for_a_source_once_searches_see_it(self, complete, document):
        def due() -> list[str]:
            return [source.text for source in sources_without_extraction(complete)]

        assert due() == [OLD]

        lifecycle.promote_build(complete)

        assert due() == [NEW]

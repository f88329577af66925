"""Values that PostgreSQL stores differently from SQLite, and must return as they were hashed."""

import pytest

from core.exceptions import StrataError
from documents.models import Artifact
from documents.serializers import validate_text_artifact
from documents.services import AddOutcome, add_artifact
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.factories import sync

pytestmark = pytest.mark.django_db


@pytest.fixture
def build(build):
    """Empty on the server, too, where a worker of an earlier test may have left points."""
    for collection in build.collections():
        get_store().drop_collection(collection)
    return build


def add(**given):
    return add_artifact(
        "plain", **validate_text_artifact({"text": "A.", "external_id": "x", **given})
    )


class TestMetadata:
    @pytest.mark.parametrize(
        "value",
        [1.0, 0.1, 1e-7, 1e15, 1e16, -1e18, -0.0, 2**63 - 1, "a\x00b", "\ud800", "Ω", [1.50, None]],
        ids=repr,
    )
    def test_is_read_as_it_was_hashed(self, build, value):
        artifact, _ = add(metadata={"value": value, "a": {"b": value}})

        sync(build, artifact)

        kept = Artifact.objects.get()
        assert repr(kept.metadata["value"]) == repr(artifact.metadata["value"])
        assert verify_build(build).findings == {}
        _, verdict = add(metadata={"value": value, "a": {"b": value}})
        assert verdict == AddOutcome.UNCHANGED

    def test_refuses_an_integer_that_would_be_read_as_another(self, build):
        with pytest.raises(StrataError, match="64 bits"):
            add(metadata={"value": 1e22})


class TestText:
    def test_is_stored_without_characters_that_postgresql_refuses(self, build):
        artifact, _ = add(text="A\x00B \ud800.", title="Nul \x00")

        sync(build, artifact)

        assert artifact.sources.get().text == "A\ufffdB \ufffd."
        assert verify_build(build).findings == {}

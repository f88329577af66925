"""Titles from the content or, as a spec may ask, from the names of files."""

from pathlib import Path

import pytest

from documents import reading, titles
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.services import add_artifact, replace_content, update_artifact
from indexing import tasks
from indexing.models import IndexBuild, Node
from indexing.services import store_search_settings
from tests.factories import give, sync

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "ACME_lease-2019.md"
HERONS = b"# Herons\n\nThe heron waits for fish."


@pytest.fixture(autouse=True)
def files(settings, tmp_path) -> Path:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return settings.STRATA_FILES_DIR


def choose(build: IndexBuild, source: str) -> IndexBuild:
    """Change the setting of the build's index; return the build as others read it then."""
    store_search_settings(build.index, build.spec.model_copy(update={"document_titles": source}))
    return IndexBuild.objects.live().get(pk=build.pk)


def add(content: bytes = HERONS, name: str = NAME, **given) -> Artifact:
    artifact, _ = add_artifact("plain", save_incoming_file(name, [content]), **given)
    reading.parse_artifact(artifact.pk)
    artifact.refresh_from_db()
    return artifact


class TestNewDocuments:
    def test_have_the_title_of_their_content_by_default(self, build):
        assert add().title == "Herons"

    def test_have_the_name_of_their_file_where_the_spec_says_so(self, build):
        choose(build, "file")

        assert add().title == NAME

    def test_are_named_by_their_file_before_they_are_read(self, build):
        choose(build, "file")

        artifact, _ = add_artifact("plain", save_incoming_file(NAME, [HERONS]))

        assert artifact.title == NAME

    def test_keep_the_title_that_they_are_given(self, build):
        choose(build, "file")

        assert add(title="The lease").title == "The lease"

    def test_that_are_replaced_get_the_name_of_the_new_file(self, build):
        choose(build, "file")
        artifact = add()

        replace_content(artifact.pk, save_incoming_file("new.md", [b"# Storks\n\nThey clap."]))
        reading.parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert artifact.title == "new.md"


class TestAChangeOfTheSetting:
    def test_reaches_the_documents_that_have_been_read(self, build):
        artifact, named, text = add(), add(b"# Storks", "b.md", title="Storks by Ann"), give()
        choose(build, "file")

        tasks.reconcile_indexes()

        [artifact.refresh_from_db(), named.refresh_from_db(), text.refresh_from_db()]
        assert [each.title for each in (artifact, named, text)] == [
            NAME, "Storks by Ann", "Field notes",
        ]  # fmt: skip

    @pytest.mark.parametrize("content", [HERONS, b"The heron waits for fish."])
    def test_and_back_restores_the_titles(self, build, content):
        artifact = add(content)
        before = artifact.title
        for source in ("file", "content"):
            choose(build, source)
            tasks.reconcile_indexes()

        artifact.refresh_from_db()
        assert artifact.title == before != NAME

    def test_shows_the_title_of_content_that_was_read_in_between(self, build):
        choose(build, "file")
        artifact = add()
        choose(build, "content")
        tasks.reconcile_indexes()

        artifact.refresh_from_db()
        assert artifact.title == "Herons"

    def test_changes_nothing_the_second_time(self, build):
        add()
        choose(build, "file")

        assert [titles.follow_setting("plain") for _ in range(2)] == [1, 0]

    def test_leaves_out_documents_that_are_titled_by_people(self, build):
        artifact = add()
        choose(build, "file")
        update_artifact(artifact.pk, title="The lease")

        assert titles.follow_setting("plain") == 0

    def test_gives_a_revision_and_no_younger_date(self, build):
        artifact = add()
        choose(build, "file")
        titles.follow_setting("plain")

        changed = Artifact.objects.get()
        assert changed.revision > artifact.revision
        assert changed.updated_at == artifact.updated_at

    def test_reaches_the_points(self, build, store):
        artifact = add()
        sync(build, artifact)
        build = choose(build, "file")

        tasks.reconcile_indexes()
        sync(build, artifact)

        node = Node.objects.get(build=build)
        assert node.context.startswith(NAME)
        points = store.retrieve(build.collection("chunk"), [node.point_id])
        assert points[node.point_id].payload["artifact_title"] == NAME

    def test_needs_no_new_build(self, build):
        changed = choose(build, "file")

        assert changed.spec.document_titles == "file"
        assert changed.spec.fingerprint == build.fingerprint

"""The rows of earlier releases after an upgrade."""

from importlib import import_module
from unicodedata import normalize

import pytest
from django.apps import apps

from documents.models import Artifact, PendingRevision
from documents.services import TextContent, add_artifact

migration = import_module("documents.migrations.0008_external_ids_in_nfc")
names_migration = import_module("documents.migrations.0012_groups_and_urls_in_nfc")
DECOMPOSED, COMPOSED = (normalize(form, "Größe") for form in ("NFD", "NFC"))


def store_as_earlier_releases(artifact: Artifact, external_id: str) -> None:
    Artifact.objects.filter(pk=artifact.pk).update(
        external_id=external_id, identity=f"id {external_id}"
    )


@pytest.mark.django_db
class TestExternalIdsInNfc:
    def test_are_found_by_either_form_and_written_to_the_points(self):
        artifact, _ = add_artifact("plain", TextContent(("One.",)), external_id="x")
        store_as_earlier_releases(artifact, DECOMPOSED)

        migration.normalise_external_ids(apps, None)

        again, verdict = add_artifact("plain", TextContent(("One.",)), external_id=DECOMPOSED)
        assert (again.pk, verdict, again.external_id) == (artifact.pk, "unchanged", COMPOSED)
        assert again.revision > artifact.revision
        assert again.attributes_hash == again.compute_attributes_hash()
        assert PendingRevision.objects.filter(pk=again.revision, changed_id=again.pk).exists()

    def test_leave_two_documents_that_differ_only_in_the_form(self):
        first, _ = add_artifact("plain", TextContent(("One.",)), external_id="x")
        store_as_earlier_releases(first, DECOMPOSED)
        second, _ = add_artifact("plain", TextContent(("Two.",)), external_id=COMPOSED)

        migration.normalise_external_ids(apps, None)

        assert {each.external_id for each in Artifact.objects.all()} == {DECOMPOSED, COMPOSED}
        assert Artifact.objects.get(external_id=COMPOSED).pk == second.pk


@pytest.mark.django_db
class TestGroupsAndUrlsInNfc:
    def test_are_found_and_compared_in_nfc(self):
        text, url = TextContent(("One.",)), f"https://example.org/{DECOMPOSED}"
        artifact, _ = add_artifact("plain", text, title="x", url=url)
        Artifact.objects.filter(pk=artifact.pk).update(groups=[DECOMPOSED, COMPOSED, "a"])

        names_migration.normalise_names(apps, None)

        again, verdict = add_artifact("plain", text, title="x", url=normalize("NFC", url))
        assert (again.pk, verdict) == (artifact.pk, "unchanged")
        assert again.groups == [COMPOSED, "a"]
        assert again.revision > artifact.revision
        assert again.attributes_hash == again.compute_attributes_hash()

    def test_keep_two_texts_that_differ_only_in_the_form_of_their_url(self):
        text, url = TextContent(("One.",)), f"https://example.org/{DECOMPOSED}"
        for form in (url, normalize("NFC", url)):
            add_artifact("plain", text, url=form)

        names_migration.normalise_names(apps, None)

        assert Artifact.objects.count() == 2

    def test_leave_other_documents_as_they_are(self):
        artifact, _ = add_artifact("plain", TextContent(("One.",)), groups=["b", "a"])

        names_migration.normalise_names(apps, None)

        assert Artifact.objects.get().revision == artifact.revision

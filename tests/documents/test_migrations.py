"""The rows of earlier releases after an upgrade."""

import unicodedata
from importlib import import_module

import pytest
from django.apps import apps

from documents.models import Artifact, PendingRevision
from documents.services import TextContent, add_artifact

migration = import_module("documents.migrations.0008_external_ids_in_nfc")
DECOMPOSED, COMPOSED = (unicodedata.normalize(form, "Größe") for form in ("NFD", "NFC"))


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

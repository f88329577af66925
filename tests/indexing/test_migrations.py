"""Migrations that change rows of builds made before."""

from importlib import import_module

import pytest
from django.apps import apps

from documents.models import Artifact
from tests.factories import give
from tests.written import make_build

pytestmark = pytest.mark.django_db
migration = import_module("indexing.migrations.0006_dates_in_points")


class TestDatesInPoints:
    def test_makes_documents_due_whose_points_have_a_date_that_the_store_could_not_read(
        self, store, embedder
    ):
        make_build("minutes", metadata={"at": {"type": "datetime"}})
        make_build("letters")
        written = "20240501T100000Z", "2024-05-01", None
        dated = [give("Fog.", index="minutes", title=str(each)) for each in written]
        other = give("Fog.", index="letters", metadata={"at": "20240501T100000Z"})
        for artifact, value in zip(dated, written, strict=True):
            Artifact.objects.filter(pk=artifact.pk).update(metadata={"at": value})
        before = dict(Artifact.objects.values_list("pk", "revision"))

        migration.make_due(apps, None)

        after = dict(Artifact.objects.values_list("pk", "revision"))
        assert after[dated[0].pk] > max(before.values())
        assert {pk for pk in after if after[pk] != before[pk]} == {dated[0].pk}
        assert after[other.pk] == before[other.pk]

"""Deletes the data of a retired build: its collections, and the rows that refer to it."""

from django.db import models
from django.utils import timezone

from indexing.models import IndexBuild
from indexing.stores import get_store

ROWS_PER_STATEMENT = 5_000  # removed at once: takes at most a second
LATE_WRITE_SECONDS = 3_600  # by then no worker still writes to a removed build


def delete_build_data(build: IndexBuild) -> None:
    """Drop the collections of a retired build and delete its rows; safe to call again.

    Raises:
        StoreUnavailable: calling again continues where this ended.
    """
    store = get_store()
    for collection in build.collections():
        store.drop_collection(collection)
    # Rows of every app that refer to the build; one-to-one rows about it, such as its cost, stay.
    for relation in IndexBuild._meta.get_fields(include_hidden=True):
        if not isinstance(relation, models.ManyToOneRel) or relation.one_to_one:
            continue
        rows = relation.related_model._base_manager.filter(**{relation.field.name: build})
        while ids := list(rows.values_list("pk", flat=True)[:ROWS_PER_STATEMENT]):
            rows.model._base_manager.filter(pk__in=ids).delete()
    IndexBuild.objects.filter(pk=build.pk, removed_at=None).update(removed_at=timezone.now())

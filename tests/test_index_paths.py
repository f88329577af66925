"""The paths from rows to the names of their indexes."""

import pytest
from django.apps import apps

from access.grants import Grant
from core.index_paths import get_index_path

OF_NO_INDEX = {
    "access.apikey", "access.grouprights", "access.openididentity", "access.authorization",
    "audit.subject", "audit.chain", "webhooks.delivery", "documents.removedoriginal",
    "indexing.throughput",
}  # fmt: skip
OURS = {
    model._meta.label_lower: model
    for model in apps.get_models()
    if not model.__module__.startswith(("django.", "axes.", "django_otp."))
}


@pytest.mark.parametrize("label", sorted(OURS))
def test_each_table_has_one_or_belongs_to_no_index(db, label):
    model = OURS[label]

    if label in OF_NO_INDEX:
        assert get_index_path(model) == ""
    else:
        path = get_index_path(model)
        assert not list(model._base_manager.filter(**{path: "none"}).values_list(path))
        assert not Grant(indexes=frozenset()).limit(model._base_manager.all()).exists()

from collections import defaultdict
from datetime import UTC
from typing import Any

from django.db import migrations

from indexing.spec.dates import to_stored_date


def make_due(apps: Any, schema_editor: Any) -> None:
    """Make documents due whose points have a date in a form that the store could not read."""
    Artifact = apps.get_model("documents", "Artifact")
    PendingRevision = apps.get_model("documents", "PendingRevision")
    fields: dict[str, set[str]] = defaultdict(set)
    for index, recipe in apps.get_model("indexing", "IndexBuild").objects.values_list(
        "index", "recipe"
    ):
        for name, field in recipe.get("metadata", {}).items():
            if field["type"] == "datetime":
                fields[index].add(name)
    for index, names in fields.items():
        rows = Artifact.objects.filter(index=index).order_by().values_list("pk", "metadata")
        for pk, metadata in rows.iterator():
            values = [metadata.get(name) for name in names]
            if any(to_stored_date(value, UTC) != value for value in values):
                revision = PendingRevision.objects.create(index=index, changed_id=pk).pk
                Artifact.objects.filter(pk=pk).update(revision=revision)


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0011_unseen_text"),
        ("indexing", "0005_leases"),
    ]

    operations = [
        migrations.RunPython(make_due, migrations.RunPython.noop),
    ]

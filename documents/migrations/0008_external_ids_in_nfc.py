import json
from typing import Any

from django.db import migrations

from core.text import clean_text, hash_text


def normalise_external_ids(apps: Any, schema_editor: Any) -> None:
    """Write external ids as they are compared from now on. Of two that differ only in their form,
    the one in NFC stays as it is, and so does the other: both documents are kept."""
    Artifact = apps.get_model("documents", "Artifact")
    PendingRevision = apps.get_model("documents", "PendingRevision")
    for row in Artifact.objects.exclude(external_id=None).order_by().iterator():
        external_id = clean_text(row.external_id)
        identity = f"id {external_id}"
        if external_id == row.external_id or len(external_id) > 255:
            continue
        if Artifact.objects.filter(index=row.index, identity=identity).exists():
            continue
        row.external_id, row.identity = external_id, identity
        attributes = [
            row.title, row.file_name, row.url, row.external_id, row.media_type, row.metadata,
            row.groups,
        ]  # fmt: skip
        Artifact.objects.filter(pk=row.pk).update(
            external_id=external_id,
            identity=identity,
            attributes_hash=hash_text(json.dumps(attributes, sort_keys=True)),
            # The reconciliation then writes the external id to the document's points.
            revision=PendingRevision.objects.create(index=row.index, changed_id=row.pk).pk,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0007_places"),
    ]

    operations = [
        migrations.RunPython(normalise_external_ids, migrations.RunPython.noop),
    ]

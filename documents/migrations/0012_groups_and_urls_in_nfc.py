import json
from typing import Any

from django.db import migrations

from core.text import hash_text, normalise


def normalise_names(apps: Any, schema_editor: Any) -> None:
    """Write groups and URLs as they are compared from now on. A text whose identity, which its URL
    is a part of, would become that of another document keeps its URL."""
    Artifact = apps.get_model("documents", "Artifact")
    PendingRevision = apps.get_model("documents", "PendingRevision")
    for row in Artifact.objects.order_by().iterator():
        groups, url = [normalise(each) for each in row.groups], normalise(row.url)
        if groups == row.groups and url == row.url:
            continue
        identity = row.identity
        if identity == _identify_text(row.sha256, row.title, row.url):
            identity = _identify_text(row.sha256, row.title, url)
        same = Artifact.objects.filter(index=row.index, identity=identity).exclude(pk=row.pk)
        if len(url) > 2_000 or same.exists():
            url, identity = row.url, row.identity
        row.groups, row.url = sorted(set(groups)), url
        attributes = [
            row.title, row.file_name, row.url, row.external_id, row.media_type, row.metadata,
            row.groups,
        ]  # fmt: skip
        Artifact.objects.filter(pk=row.pk).update(
            groups=row.groups,
            url=url,
            identity=identity,
            attributes_hash=hash_text(json.dumps(attributes, sort_keys=True)),
            # The reconciliation then writes the groups to the document's points.
            revision=PendingRevision.objects.create(index=row.index, changed_id=row.pk).pk,
        )


def _identify_text(sha256: str, title: str, url: str) -> str:
    return f"text {hash_text(json.dumps([sha256, title or None, url or None]))}"


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0011_unseen_text"),
    ]

    operations = [
        migrations.RunPython(normalise_names, migrations.RunPython.noop),
    ]

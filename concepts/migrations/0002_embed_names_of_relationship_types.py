from typing import Any

from django.db import migrations


def plan_anew(apps: Any, schema_editor: Any) -> None:
    """The category is no longer part of the embedded text, and the name is embedded apart, too.
    The reconciliation plans rows without a hash again, in every build."""
    apps.get_model("concepts", "RelationshipType").objects.update(text_hash="")


class Migration(migrations.Migration):

    dependencies = [
        ("concepts", "0001_release_0_2_0"),
    ]

    operations = [
        migrations.RunPython(plan_anew, migrations.RunPython.noop),
    ]

from hashlib import sha256
from typing import Any

from django.db import migrations, models


def hash_secrets(apps: Any, schema_editor: Any) -> None:
    subjects = apps.get_model("audit", "Subject").objects
    for subject in subjects.exclude(secret=""):
        secret_hash = sha256(subject.secret.encode()).hexdigest()
        subjects.filter(pk=subject.pk).update(secret_hash=secret_hash)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0003_revisions_of_documents"),
    ]

    operations = [
        migrations.AddField(
            model_name="subject",
            name="secret_hash",
            field=models.CharField(
                default="", help_text="SHA-256 of the secret, also later.", max_length=64
            ),
            preserve_default=False,
        ),
        migrations.RunPython(hash_secrets, migrations.RunPython.noop),
    ]

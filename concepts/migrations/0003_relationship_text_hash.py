from django.db import migrations, models


class Migration(migrations.Migration):
    """The reconciliation plans the node of every relationship, because none has a hash yet."""

    dependencies = [
        ("concepts", "0002_embed_names_of_relationship_types"),
    ]

    operations = [
        migrations.AddField(
            model_name="relationship",
            name="text_hash",
            field=models.CharField(blank=True, default="", editable=False, max_length=64),
        ),
    ]

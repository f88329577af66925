from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('indexing', '0002_drop_background_verification'),
    ]

    operations = [
        migrations.AddField(
            model_name='indexeddocument',
            name='kinds_to_regenerate',
            field=models.JSONField(default=list, help_text='Kinds whose nodes are embedded and texts written again when it is planned.'),
        ),
        migrations.DeleteModel(
            name='Regeneration',
        ),
    ]

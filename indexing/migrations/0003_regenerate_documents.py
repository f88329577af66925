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
        migrations.RemoveIndex(
            model_name='indexeddocument',
            name='document_unfinished',
        ),
        migrations.AddIndex(
            model_name='indexeddocument',
            index=models.Index(condition=models.Q(('state', 'ready'), _negated=True), fields=['build', 'state', 'kinds_to_regenerate'], name='document_unfinished'),
        ),
        migrations.DeleteModel(
            name='Regeneration',
        ),
    ]

"""The edits of an index go with it: they say what was written to its documents."""

from typing import Any

from django.dispatch import receiver

from curation.models import Edit
from indexing.removal import index_removal


@receiver(index_removal, dispatch_uid="curation.index_removal")
def remove_edits(index: str, **kwargs: Any) -> None:
    Edit.objects.filter(index=index).delete()

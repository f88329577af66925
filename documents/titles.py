"""Titles of documents that their owners have not titled: from the content or, where the spec says
so, the name of the file."""

from django.db import transaction

from documents.index_catalog import get_catalog
from documents.models import Artifact, PendingRevision
from documents.parsing import title_from_file_name

ROWS_PER_TRANSACTION = 200


def choose_title(index: str, file_name: str, content_title: str) -> str:
    """The title of a file's document. ``content_title``: empty if its content has none."""
    if get_catalog().titles_by_file(index):
        return file_name
    return content_title or title_from_file_name(file_name)


def set_title(artifact: Artifact, content_title: str) -> None:
    """Title a document whose file was read, unless its owner has titled it."""
    if artifact.has_user_title:
        return
    if get_catalog().titles_by_file(artifact.index):
        artifact.title, artifact.content_title = artifact.file_name, content_title
    elif content_title:
        artifact.title, artifact.content_title = content_title, None


def follow_setting(index: str) -> int:
    """Give the documents of an index that are titled otherwise the titles that its spec asks for
    now; return how many. Each gets a new revision, and stays as old as it was."""
    by_file = get_catalog().titles_by_file(index)
    others = Artifact.objects.filter(
        index=index, state=Artifact.State.PARSED, has_file=True, has_user_title=False,
        content_title__isnull=by_file,
    )  # fmt: skip
    count = 0
    while True:
        with transaction.atomic():
            rows = list(others.select_for_update().order_by("pk")[:ROWS_PER_TRANSACTION])
            if not rows:
                return count
            revisions = PendingRevision.objects.bulk_create(
                PendingRevision(index=index, changed_id=row.pk) for row in rows
            )
            for row, revision in zip(rows, revisions, strict=True):
                hidden = row.content_title
                row.content_title = row.title if by_file else None
                row.title = choose_title(index, row.file_name, hidden or "")
                row.attributes_hash = row.compute_attributes_hash()
                row.revision = revision.pk
            Artifact.objects.bulk_update(
                rows, ["title", "content_title", "attributes_hash", "revision"]
            )
        count += len(rows)

"""Documents for tests, added as users add them."""

from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

from django.conf import settings
from django.utils import timezone

from documents.models import Artifact
from documents.services import TextContent, add_artifact
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.services import (
    DocumentPlanner,
    load_specs,
    loading,
    make_documents_due,
    store_search_settings,
    sync_nodes,
)
from indexing.spec.loaded import get_specs

PARAGRAPHS = [
    "The heron stands in the shallows at dawn. It waits for fish without moving.",
    "Granite cools slowly under the ground. Its crystals have time to grow large.",
    "A ledger with two columns keeps merchants honest. Every debit has its credit.",
    "Bread rises because yeast breathes. The dough traps what it breathes out.",
]


def load_index(name: str) -> IndexBuild:
    """Load one spec; return its empty live build. Loading all takes longer than most tests."""
    with mock.patch.object(loading, "get_specs", return_value={name: get_specs()[name]}):
        load_specs()
    return IndexBuild.objects.live().get(index=name)


def give(text: str = "\n\n".join(PARAGRAPHS), *, index: str = "plain", **given: Any) -> Artifact:
    """Add a text of one page; a ``title`` is generated if none is given."""
    given.setdefault("title", "Field notes")
    return add_artifact(index, TextContent((text,)), **given)[0]


def original_path(artifact: Artifact) -> Path:
    """Where the folder of originals holds that of the artifact."""
    return Path(settings.STRATA_FILES_DIR) / artifact.original_name


def sync(build: IndexBuild, *artifacts: Artifact) -> None:
    """Plan these artifacts and sync the build completely."""
    ids = [artifact.pk for artifact in artifacts]
    make_documents_due([build.pk], ids)
    due = IndexedDocument.objects.due(build).filter(artifact__in=ids)
    due.update(content_hash="")  # draft all nodes, also of documents that look unchanged
    while claim := due.claim_batch(len(ids)):
        DocumentPlanner().plan_claimed(build, claim)
    while sync_nodes(build):
        pass


def change_search(build: IndexBuild, **changes: Any) -> None:
    """Change these settings below ``search`` of the build's index."""
    search = build.spec.search.model_copy(update=changes)
    store_search_settings(build.index, build.spec.model_copy(update={"search": search}))


def declare_synonyms(index: str, field: str, value: str, *synonyms: str) -> IndexBuild:
    """Declare other words for a value of a field, which needs no new build; return the live one."""
    build = IndexBuild.objects.live().get(index=index)
    declared = build.spec.metadata[field]
    values = tuple(
        each.model_copy(update={"synonyms": synonyms}) if each.value == value else each
        for each in declared.values or ()
    )
    metadata = build.spec.metadata | {field: declared.model_copy(update={"values": values})}
    store_search_settings(build.index, build.spec.model_copy(update={"metadata": metadata}))
    return IndexBuild.objects.live().get(index=index)


def add_nodes(build: IndexBuild, artifact: Artifact, count: int, **values: Any) -> list[Node]:
    """Add only ledger rows, which is all that the lists use."""
    values = {"kind": "question", "text": "Why?", "state": Node.State.SYNCED, **values}
    rows = [
        Node(
            build=build, artifact=artifact, point_id=uuid4(), attributes_hash="", input_hash="now",
            synced_input_hash="now", payload_hash="", embedding_model="m", dimension=384,
            planned_at=timezone.now(), **values,
        )
        for _ in range(count)
    ]  # fmt: skip
    return Node.objects.bulk_create(rows, batch_size=500)

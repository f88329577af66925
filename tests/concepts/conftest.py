"""An index that holds concepts, and a client with a key."""

import pytest
from rest_framework.test import APIClient

from concepts import tasks as concept_tasks
from concepts.services import create_concept
from indexing.models import IndexBuild
from tests.clients import client_with_key
from tests.factories import load_index

INDEX = "knowledge"


@pytest.fixture
def knowledge(db, store, embedder) -> IndexBuild:
    """The empty live build of the index."""
    return load_index(INDEX)


@pytest.fixture
def client(db) -> APIClient:
    return client_with_key()


@pytest.fixture
def relocations(monkeypatch):
    """Records the ids of documents whose quotes are to be relocated, and relocates none."""
    artifact_ids: list[str] = []
    monkeypatch.setattr(
        concept_tasks.relocate_quotes,
        "delay",
        lambda artifact_id: artifact_ids.append(artifact_id),
    )
    return artifact_ids


@pytest.fixture
def heron(knowledge):
    return create_concept(INDEX, "Heron", description="A wading bird", search_terms=["Ardea"])

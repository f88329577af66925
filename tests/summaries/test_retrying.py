"""Retrying what failed of an index, over HTTP."""

import pytest

from access.grants import Scope
from documents.models import Artifact
from indexing.models import IndexedDocument, Node
from indexing.services import DocumentPlanner
from summaries import viewsets
from tests.clients import client_with_key
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/indexes/plain/retry/"


@pytest.fixture(autouse=True)
def reconciled(monkeypatch) -> list[bool]:
    """One element for each time that a reconciliation was requested, instead of it."""
    requested: list[bool] = []
    monkeypatch.setattr(viewsets, "enqueue_reconciliation", lambda: requested.append(True))
    return requested


@pytest.fixture
def failed(build) -> Node:
    sync(build, give())
    node = Node.objects.earliest("pk")
    Node.objects.filter(pk=node.pk).update(state=Node.State.FAILED, attempts=5, last_error="?")
    return node


def test_makes_failed_nodes_pending(build, failed, reconciled):
    answer = client_with_key().post(ADDRESS)

    assert answer.status_code == 202
    assert answer.json() == {"files": 0, "documents": 0, "texts": 0, "nodes": 1}
    failed.refresh_from_db()
    assert (failed.state, failed.attempts, failed.last_error) == (Node.State.PENDING, 0, "")
    assert reconciled == [True]


def test_reads_failed_files_again(build):
    artifact = give()
    Artifact.objects.filter(pk=artifact.pk).update(
        state=Artifact.State.FAILED, has_file=True, error_code="corrupt_file"
    )

    answer = client_with_key().post(ADDRESS)

    assert answer.json()["files"] == 1
    artifact.refresh_from_db()
    assert (artifact.state, artifact.error_code) == (Artifact.State.RECEIVED, "")


def test_plans_documents_again_whose_planning_was_given_up(build):
    artifact = give()
    sync(build, artifact)
    documents = IndexedDocument.objects.filter(build=build, artifact=artifact)
    documents.update(state=IndexedDocument.State.FAILED, attempts=5, last_error="?")
    Node.objects.all().delete()

    answer = client_with_key().post(ADDRESS)

    assert answer.json()["documents"] == 1
    claim = IndexedDocument.objects.due(build).claim_batch(1)
    assert claim is not None
    DocumentPlanner().plan_claimed(build, claim)
    assert Node.objects.filter(artifact=artifact).exists()


def test_changes_nothing_without_failures_and_in_other_indexes(build, failed):
    Node.objects.update(state=Node.State.SYNCED)
    answer = client_with_key().post(ADDRESS).json()
    assert answer == {"files": 0, "documents": 0, "texts": 0, "nodes": 0}

    other = client_with_key(scope=Scope.WRITE, indexes=["library"])
    assert other.post(ADDRESS).status_code == 404
    assert client_with_key(scope=Scope.SEARCH).post(ADDRESS).status_code == 403

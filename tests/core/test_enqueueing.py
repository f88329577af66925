import logging

import pytest
from django.db import transaction
from kombu.exceptions import OperationalError

from core.enqueueing import enqueue_on_commit
from documents.models import Artifact
from documents.tasks import reconcile_documents
from indexing import tasks
from tests.factories import give

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=[OperationalError("refused"), ValueError("a defect")], ids=str)
def failing(request, monkeypatch):
    """Tasks that cannot be sent."""

    def delay(**ids):
        raise request.param

    for task in (tasks.plan_build, reconcile_documents):
        monkeypatch.setattr(task, "delay", delay)


class TestEnqueueOnCommit:
    def test_sends_the_task_once_it_is_committed(self, monkeypatch):
        sent = []
        monkeypatch.setattr(reconcile_documents, "delay", lambda **ids: sent.append(ids))

        with transaction.atomic():
            enqueue_on_commit(reconcile_documents, artifact_id="1")
            assert sent == []

        assert sent == [{"artifact_id": "1"}]

    @pytest.mark.usefixtures("failing", "build")
    def test_keeps_the_rows_if_the_task_cannot_be_sent(self, caplog):
        with caplog.at_level(logging.WARNING):
            artifact = give()

        assert Artifact.objects.filter(pk=artifact.pk).exists()
        assert "The broker cannot be reached" in caplog.text or "a defect" in caplog.text

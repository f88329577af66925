"""The service in the test's process, where only the test delivers messages."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from celery import Task
from django.core.wsgi import get_wsgi_application
from django.db.models import F
from django.utils import timezone

from access.models import ApiKey
from documents.models import Artifact
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.tasks import enqueue_reconciliation
from indexing.verification import VerificationReport, verify_build

PERIODIC_TASKS = 12  # after these, all must be sound: a document may need one for each stage
LONG_AGO = timezone.timedelta(days=1)


@dataclass
class Messages:
    """Messages that were sent but not yet delivered."""

    waiting: list[tuple[Task, dict[str, Any]]] = field(default_factory=list)
    is_expected: Callable[[Exception], bool] = lambda error: False

    def send(self, task: Task, args: Any = None, kwargs: Any = None, **options: Any) -> None:
        """Replaces Celery's ``send``; encodes the message as JSON, as a broker does."""
        assert not args, "tasks take keyword arguments only"
        self.waiting.append((task, json.loads(json.dumps(kwargs or {}))))

    def deliver(self, place: int = 0, *, keep: bool = False) -> None:
        """Run one message's task; an exception ends the task, as in a worker."""
        task, kwargs = self.waiting[place] if keep else self.waiting.pop(place)
        try:
            task(**kwargs)
        except Exception as error:
            if not self.is_expected(error):
                raise

    def deliver_all(self) -> None:
        while self.waiting:
            self.deliver()

    def lose_all(self) -> None:
        self.waiting.clear()


class Inside:
    """The service with its API, without a socket."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        transport = httpx.WSGITransport(app=get_wsgi_application(), raise_app_exceptions=False)
        secret = ApiKey.issue("tests")[1]
        self.api = httpx.Client(
            transport=transport,
            base_url="http://testserver/api/v1/",
            headers={"Authorization": f"Bearer {secret}"},
        )

    def expire_leases(self) -> None:
        for rows in (Node.objects, Artifact.objects, IndexedDocument.objects):
            held = rows.filter(leased_until__isnull=False)
            held.update(leased_until=F("leased_until") - LONG_AGO)

    def reconcile(self) -> None:
        """Send the messages that beat sends each minute."""
        enqueue_reconciliation()

    def sync(self, index: str = "plain") -> VerificationReport:
        """Run only the reconciliation until the index is sound; return the last report. Other
        messages are lost."""
        self.messages.lose_all()
        self.expire_leases()
        for _ in range(PERIODIC_TASKS):
            self.reconcile()
            self.messages.deliver_all()
            report = verify_build(IndexBuild.objects.live().get(index=index))
            if report.is_sound:
                break
        return report


@contextmanager
def capturing(monkeypatch: Any) -> Iterator[Messages]:
    """In the block, only the test delivers messages."""
    messages = Messages()
    with monkeypatch.context() as patched:
        patched.setattr(Task, "apply_async", lambda task, *a, **k: messages.send(task, *a, **k))
        yield messages

"""The service inside the test's own process, where the test alone delivers its messages."""

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

PERIODIC_TASKS = 12  # after which everything must be sound: a document may need one for each stage
LONG_AGO = timezone.timedelta(days=1)


@dataclass
class Messages:
    """Sent and not delivered yet."""

    waiting: list[tuple[Task, dict[str, Any]]] = field(default_factory=list)
    is_expected: Callable[[Exception], bool] = lambda error: False

    def send(self, task: Task, args: Any = None, kwargs: Any = None, **options: Any) -> None:
        """In place of Celery's own; as JSON, as a broker would carry it."""
        assert not args, "tasks take keyword arguments only"
        self.waiting.append((task, json.loads(json.dumps(kwargs or {}))))

    def deliver(self, place: int = 0, *, keep: bool = False) -> None:
        """Have one worked on; what it raises ends it, as a worker would let it."""
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
    """The service as its users reach it, without a socket."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        transport = httpx.WSGITransport(app=get_wsgi_application(), raise_app_exceptions=False)
        secret = ApiKey.issue("tests")[1]
        self.api = httpx.Client(
            transport=transport,
            base_url="http://testserver/api/v1/",
            headers={"Authorization": f"Bearer {secret}"},
        )

    def let_leases_run_out(self) -> None:
        """As if their time had passed."""
        for rows in (Node.objects, Artifact.objects, IndexedDocument.objects):
            held = rows.filter(leased_until__isnull=False)
            held.update(leased_until=F("leased_until") - LONG_AGO)

    def reconcile(self) -> None:
        """Send what beat sends each minute."""
        enqueue_reconciliation()

    def sync(self, index: str = "plain") -> VerificationReport:
        """What the reconciliation makes of it, all messages lost but its own: sound, or the last
        report."""
        self.messages.lose_all()
        self.let_leases_run_out()
        for _ in range(PERIODIC_TASKS):
            self.reconcile()
            self.messages.deliver_all()
            report = verify_build(IndexBuild.objects.live().get(index=index))
            if report.is_sound:
                break
        return report


@contextmanager
def capturing(monkeypatch: Any) -> Iterator[Messages]:
    """No message is delivered but by the test."""
    messages = Messages()
    with monkeypatch.context() as patched:
        patched.setattr(Task, "apply_async", lambda task, *a, **k: messages.send(task, *a, **k))
        yield messages

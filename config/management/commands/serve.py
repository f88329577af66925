import contextlib
import os
import secrets
import signal
import socket
import threading
import time
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from access import server
from access.models import ApiKey
from config import embedded
from config.progress import watch_progress
from documents.exceptions import StrataError
from indexing.management.prepared import prepare_database

ADMIN_NAME = "admin"


class Command(BaseCommand):
    help = "Run the whole service in this process: web server, workers, sweep, vector engine."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on.")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--demo", action="store_true", help="At the first start, add the demo documents."
        )

    def handle(self, *, host: str, port: int, demo: bool, **options: Any) -> None:
        if settings.STRATA_VECTOR_STORE != "embedded":
            raise CommandError(
                "serve is the embedded form. With these settings, run a web server on "
                "config.wsgi and Celery workers on config."
            )
        listener = _listen(host, port)
        try:
            with embedded.owning_store():
                self._serve(listener, host, port, demo)
        except StrataError as error:
            raise CommandError(f"{error} {error.fix or ''}".strip()) from None
        finally:
            listener.close()
        # Model and engine run threads of their own that would hold up a normal exit; by now
        # everything is written and closed.
        self.stdout.flush()
        self.stderr.flush()
        os._exit(0)

    def _serve(self, listener: socket.socket, host: str, port: int, demo: bool) -> None:
        for note in prepare_database():
            self.stderr.write(self.style.WARNING(note))
        is_first_start = not ApiKey.objects.exists()
        shown_host = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104
        url = f"http://{shown_host}:{port}"
        self._greet(url, is_first_start)
        web = embedded.web_server(host, port)
        is_over = threading.Event()
        with embedded.working(), server.announced(url):
            background = [threading.Thread(target=watch_progress, args=[is_over], daemon=True)]
            if demo and is_first_start:
                background.append(threading.Thread(target=_add_demo, daemon=True))
            for thread in background:
                thread.start()
            with _terminated_like_interrupted():
                web.run(sockets=[listener])
            is_over.set()
            self.stderr.write("Stopping; what is not done yet goes on at the next start.")

    def _greet(self, url: str, is_first_start: bool) -> None:
        lines = [f"Strata serves at {url}", f"API documentation at {url}/api/docs/"]
        if is_first_start:
            given = settings.STRATA_ADMIN_KEY
            secret = ApiKey.issue("admin", secret=given or None)[1]
            password = secrets.token_urlsafe(12)
            get_user_model().objects.create_superuser(ADMIN_NAME, password=password)
            shown = "$STRATA_ADMIN_KEY" if given else secret
            lines += [
                "",
                "Made at this first start, and shown this once:",
                f"  admin login  {ADMIN_NAME} / {password}   ({url}/admin/)",
                f"  API key      {shown}",
                "",
                *([] if given else [f"Open {url}/#key={secret}", "or paste:"]),
                f'  curl -H "Authorization: Bearer {shown}" \\',
                f"    '{url}/api/v1/search/pages?index=python-reference&q=what+does+yield+from+do'",
            ]
        else:
            lines += [
                "New keys: manage.py key create NAME; "
                f"a new password: manage.py changepassword {ADMIN_NAME}",
            ]
        self.stdout.write("\n".join([*lines, ""]))
        self.stdout.flush()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise CommandError(
            f"Cannot listen on {host}:{port}: {error.strerror}. Choose another --port."
        ) from None
    listener.set_inheritable(False)
    return listener


@contextlib.contextmanager
def _terminated_like_interrupted() -> Any:
    """uvicorn ends on either signal, then raises it again for whoever runs it; we end cleanly."""
    previous = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _add_demo() -> None:
    time.sleep(0.5)  # the web server first
    call_command("demo", verbosity=0)

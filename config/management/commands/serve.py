import ipaddress
import os
import secrets
import signal
import threading
from contextlib import ExitStack
from itertools import chain, count
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks.registry import registry
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from access.models import ApiKey
from config import embedded, web_server
from config.folders import start_project_folder
from config.preloading import freeze_loaded_objects, preload_apps, preload_models_in_use
from config.progress import show_indexing_progress
from config.release import require_same_indexing
from config.server_settings import collect_settings
from config.tracing import flush_spans
from core import running_server
from core.commands import LocalCommand, prepare_database
from documents.models import Artifact
from indexing.spec.loaded import get_specs
from indexing.stores import exclusive_store_access
from summaries.writers import QUESTIONS_FIX, describe_missing_texts

ADMIN_NAME = "admin"


class Command(LocalCommand):
    help = (
        "Run the whole service in this process: web server, workers, the check of each minute, "
        "vector engine."
    )
    prepares_database = False  # before this process owns the store
    # An index whose spec has a mistake is left out, and the others are served.
    requires_system_checks = sorted(registry.tags_available() - {"specs"})

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on.")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--demo", action="store_true", help="Add the demo documents at the first start."
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="Serve even if this release would index documents differently.",
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        for note in start_project_folder():  # before the checks, which need the folders
            self.stdout.write(note)
        return super().execute(*args, **options)

    def handle(self, *, host: str, port: int, demo: bool, force: bool, **options: Any) -> None:
        if settings.STRATA_VECTOR_STORE != "embedded":
            raise CommandError(
                "serve runs only with the embedded settings. With the current settings, run a web "
                "server on config.asgi and Celery workers on config."
            )
        if not _is_loopback(host) and not set(settings.ALLOWED_HOSTS) - set(
            settings.STRATA_LOOPBACK_HOSTS
        ):
            raise CommandError(
                f"--host {host} admits other machines, so the service needs the names by which "
                "they may address it. Set ALLOWED_HOSTS, such as "
                "ALLOWED_HOSTS=search.example.org,192.168.1.20"
            )
        stopped = _make_stop_event()
        with exclusive_store_access():
            self._serve(host, port, stopped, has_demo=demo, is_forced=force)
        # Threads of the model and the engine would delay a normal exit; everything is written and
        # closed by now.
        flush_spans()
        self.stdout.flush()
        self.stderr.flush()
        os._exit(0)

    def _serve(
        self, host: str, port: int, stopped: threading.Event, *, has_demo: bool, is_forced: bool
    ) -> None:
        for note in (*prepare_database(), *require_same_indexing(is_forced=is_forced)):
            self.stderr.write(self.style.WARNING(note))
        used = set(Artifact.objects.values_list("index", flat=True).distinct())
        specs = {name: spec for name, spec in get_specs().items() if name in used}
        if missing := describe_missing_texts(specs):
            self.stderr.write(self.style.WARNING(f"{missing} {QUESTIONS_FIX}"))
        is_first_start = not get_user_model().objects.filter(is_superuser=True).exists()
        shown_host = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104
        url = f"http://{shown_host}:{port}"
        with ExitStack() as running:
            # Before the web server answers, or a command that starts then would take the store.
            running.enter_context(running_server.registered_server(url, _collect_settings()))
            try:
                running.enter_context(web_server.run_web_server(host, port))
            except OSError as error:
                raise CommandError(
                    f"Cannot listen on {host}:{port}: {error}. Choose another --port."
                ) from None
            self._print_welcome(url, is_first_start, has_demo)
            running.enter_context(embedded.run_local_workers())
            background = [
                threading.Thread(target=show_indexing_progress, args=[stopped], daemon=True),
                threading.Thread(target=_preload, daemon=True),
            ]
            if has_demo and is_first_start:
                background.append(threading.Thread(target=call_command, args=["demo"], daemon=True))
            for thread in background:
                thread.start()
            stopped.wait()
            self.stderr.write("Stopping. Unfinished work continues at the next start.")

    def _print_welcome(self, url: str, is_first_start: bool, has_demo: bool) -> None:
        lines = [f"Strata is running at {url}", f"API documentation at {url}/api/docs/"]
        if is_first_start:
            admin_key = settings.STRATA_ADMIN_KEY
            if not (admin_key and ApiKey.find_by_secret(admin_key) is not None):
                secret = ApiKey.issue(_choose_key_name(), secret=admin_key or None)[1]
            password = secrets.token_urlsafe(12)
            get_user_model().objects.create_superuser(ADMIN_NAME, password=password)
            shown = "$STRATA_ADMIN_KEY" if admin_key else secret
            path = "search/pages?index=python-reference&q=what+does+yield+from+do"
            if not has_demo:
                path = "indexes/"
            lines += [
                "",
                "Created at this first start and shown only once:",
                f"  admin login  {ADMIN_NAME} / {password}   ({url}/admin/)",
                f"  API key      {shown}",
                "",
                *([] if admin_key else [f"Open {url}/#key={secret}", "or run:"]),
                f'  curl -H "Authorization: Bearer {shown}" \\',
                f"    '{url}/api/v1/{path}'",
            ]
        else:
            lines += [
                "New keys: strata key create NAME; "
                f"a new password: strata changepassword {ADMIN_NAME}",
            ]
        self.stdout.write("\n".join([*lines, ""]))
        self.stdout.flush()


def _collect_settings() -> dict[str, str]:
    """The settings of this process, and the keys of the endpoints that the specs name."""
    models = (model for spec in get_specs().values() for model in spec.embedding_specs)
    return collect_settings(model.endpoint.api_key_variable for model in models if model.endpoint)


def _choose_key_name() -> str:
    """A name that no active key has."""
    taken = set(ApiKey.objects.active().values_list("name", flat=True))
    numbered = (f"admin {number}" for number in count(2))
    return next(name for name in chain(["admin"], numbered) if name not in taken)


def _preload() -> None:
    """Load models and pipelines at the same time: searches need only models, questions both."""
    models = threading.Thread(target=preload_models_in_use, daemon=True)
    models.start()
    preload_apps()
    models.join()
    freeze_loaded_objects()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _make_stop_event() -> threading.Event:
    """An event that Ctrl-C or SIGTERM sets."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped

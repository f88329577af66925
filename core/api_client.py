"""The client of commands that ask the API: it sends requests to the running server, or without one
this process answers them.

Either way a command sends the same request and gets the same answer or error.
"""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.management.base import BaseCommand

from core.command_hooks import close_store
from core.commands import ensure_workers, prepare_database, reported_errors
from core.exceptions import StrataError
from core.expected_errors import answered_errors
from core.running_server import RunningServer, find_server, own_key

API_PATH = "/api/v1/"
TIMEOUT_SECONDS = 600.0  # verifying or comparing takes minutes; Ctrl-C ends a shorter wait


@dataclass(frozen=True, slots=True)
class ApiClient:
    http: httpx.Client
    has_server: bool  # False: this process answers
    runs_workers: bool  # whether this process does the work that requests leave behind

    def send(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Send a request to a path below ``api/v1/``; ``content`` as of ``httpx.Client.request``.
        Raises ``StrataError``: the error that the API answered."""
        response = self.http.request(method, path, **content)
        require_success(response)
        return response

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON at a path; parameters that are None are left out."""
        query = {name: value for name, value in parameters.items() if value is not None}
        return self.send("GET", path, params=query).json()

    def post(self, path: str, body: Any) -> Any:
        return self.send("POST", path, json=body).json()


@contextmanager
def open_api(*, runs_workers: bool = False) -> Iterator[ApiClient]:
    """Open the API. Errors inside the block become a ``CommandError`` that says what to do.

    ``runs_workers``: without a server, workers of this process do the work that requests leave
    behind, if it may own the store. Otherwise the next server does it, or Celery's workers.
    """
    server = find_server()
    with open_indexes(server), ExitStack() as stack:
        if server is not None:
            http = server.open_client(TIMEOUT_SECONDS, API_PATH)
        else:
            http = _open_in_process(stack)
        works_here = runs_workers and server is None and stack.enter_context(ensure_workers())
        yield ApiClient(stack.enter_context(http), server is not None, works_here)


@contextmanager
def open_indexes(server: RunningServer | None) -> Iterator[None]:
    """Prepare the database if no server runs, close the store at the end, and convert errors to
    ``CommandError``."""
    try:
        with reported_errors():
            if server is None:
                prepare_database()
            yield
    finally:
        close_store()


class ApiCommand(BaseCommand):
    """A command that only asks the API. Its start runs no system checks, which would import every
    view: a server has run them at its own start."""

    requires_system_checks = ()


def require_success(response: httpx.Response) -> None:
    """Check that a request succeeded. Raises ``StrataError``: the error that the API answered."""
    if response.is_success:
        return
    response.read()
    try:
        content = response.json()
    except ValueError:
        content = {}
    raise StrataError.from_json({"detail": f"The answer was {response.status_code}.", **content})


def _open_in_process(stack: ExitStack) -> httpx.Client:
    """A client whose requests this process answers, until ``stack`` closes."""
    for logger in (logging.getLogger("django.request"), answered_errors):
        stack.enter_context(_log_only_bugs(logger))
    # https, because the production form redirects other requests.
    host = settings.ALLOWED_HOSTS[0].removeprefix(".").replace("*", "localhost")
    return httpx.Client(
        base_url=f"https://{host}{API_PATH}",
        headers={"Authorization": f"Bearer {stack.enter_context(own_key())}"},
        transport=httpx.WSGITransport(WSGIHandler()),
    )


@contextmanager
def _log_only_bugs(logger: logging.Logger) -> Iterator[None]:
    """Log no expected error: the command prints it."""

    def is_about_bug(record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", None) == HTTPStatus.INTERNAL_SERVER_ERROR

    logger.addFilter(is_about_bug)
    try:
        yield
    finally:
        logger.removeFilter(is_about_bug)

"""The client of commands that ask the API: it sends requests to the running server, or without one
this process answers them.

Either way a command sends the same request and gets the same answer or error.
"""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, ClassVar

import httpx
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler

from core.command_hooks import close_store, local_workers
from core.commands import StrataCommand, has_embedded_store, prepare_database, reported_errors
from core.exceptions import StrataError
from core.expected_errors import answered_errors
from core.running_server import find_server, own_key

API_PATH = "/api/v1/"
TIMEOUT_SECONDS = 600.0  # verifying or comparing takes minutes; Ctrl-C ends a shorter wait


@dataclass(frozen=True, slots=True)
class ApiClient:
    http: httpx.Client
    has_server: bool  # False: this process answers

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

    def post(self, path: str, body: Any = None) -> Any:
        return self.send("POST", path, json=body).json()

    def list_indexes(self) -> list[str]:
        return [index["name"] for index in self.get("indexes/")["results"]]

    def wake_workers(self) -> None:
        """Have them look now for what was written without a request, not within a minute."""
        self.send("POST", "reconcile/")

    @contextmanager
    def working(self) -> Iterator[bool]:
        """Have the work that requests leave behind done until the block ends: by the server, by
        Celery's workers, or by workers of this process. Yields whether this process works."""
        works_here = not self.has_server and has_embedded_store()
        with local_workers() if works_here else nullcontext():
            yield works_here


@contextmanager
def open_api() -> Iterator[ApiClient]:
    """Open the API. Errors inside the block become a ``CommandError`` that says what to do."""
    server = find_server()
    try:
        with reported_errors(), ExitStack() as stack:
            if server is not None:
                http = server.open_client(TIMEOUT_SECONDS, API_PATH)
            else:
                prepare_database()
                http = _open_in_process(stack)
            yield ApiClient(stack.enter_context(http), server is not None)
    finally:
        if server is None:
            close_store()


class ApiCommand(StrataCommand):
    """A command that asks the API. Its start runs no system checks, which would import every view:
    a server has run them at its own start."""

    requires_system_checks = ()
    # A command that needs the current specs also beside a running server sets this.
    prepares_database: ClassVar[bool] = False

    @cached_property
    def api(self) -> ApiClient:
        """The API, opened when the command first needs it, and closed when it ends."""
        return self._stack.enter_context(open_api())

    def execute(self, *args: Any, **options: Any) -> Any:
        with ExitStack() as self._stack:
            return super().execute(*args, **options)


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

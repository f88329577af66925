"""Search from a command: through the running server, or in this process if no server runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from django.core.management.base import CommandError
from django.db import DatabaseError

from access.grants import EVERYTHING
from core.exceptions import StrataError
from core.running_server import RunningServer, ServerUnreachable, find_server
from indexing.management.base_command import prepare_database
from indexing.stores import close_store
from retrieval.searches import run_search

SEARCH_TIMEOUT_SECONDS = 60  # a server that also indexes may be slow

# Search parameters in the API's format -> the answer in the API's format.
SearchFunction = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def open_search(kind: str = "pages") -> Iterator[SearchFunction]:
    """Open a function that runs one kind of search, with the API's parameters and answer.

    Errors inside the block become a ``CommandError`` that says what to do.
    """
    server = find_server()
    with open_indexes(server):
        if server is None:
            yield lambda parameters: run_search(kind, parameters, EVERYTHING).content
            return
        with httpx.Client(
            base_url=server.url,
            headers={"Authorization": f"Bearer {server.key}"},
            timeout=SEARCH_TIMEOUT_SECONDS,
            trust_env=False,  # the server is on this machine: no proxy
        ) as client:
            yield lambda parameters: parse_response(
                client.post(f"/api/v1/search/{kind}", json=parameters)
            )


@contextmanager
def open_indexes(server: RunningServer | None) -> Iterator[None]:
    """Prepare the database if no server runs, close the store at the end, and convert errors to
    ``CommandError``."""
    try:
        if server is None:
            prepare_database()
        yield
    except StrataError as error:
        raise CommandError(format_error(error)) from None
    except (httpx.HTTPError, ServerUnreachable) as error:
        raise CommandError(f"The running server did not answer: {error}") from None
    except DatabaseError as error:
        raise CommandError(
            f"The database reported an error: {error}. Run manage.py doctor for details."
        ) from None
    finally:
        close_store()


def parse_response(response: httpx.Response) -> dict[str, Any]:
    """The JSON content of the server's response.

    Raises:
        StrataError: the server's own error.
    """
    content: dict[str, Any] = response.json()
    if not response.is_success:
        raise StrataError(content["detail"], allowed=content.get("allowed"), fix=content.get("fix"))
    return content


def format_error(error: StrataError) -> str:
    """Join an error's detail, allowed values and fix into sentences."""
    parts = [error.detail if error.detail.endswith((".", "!", "?")) else f"{error.detail}."]
    if error.allowed:
        parts.append(f"There are: {', '.join(error.allowed)}.")
    if error.fix:
        parts.append(error.fix)
    return " ".join(parts)

"""How commands search: through the running server, or in this process where none runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from django.core.management.base import CommandError
from django.db import DatabaseError

from core.exceptions import StrataError
from core.running_server import RunningServer, ServerUnreachable, find_server
from indexing.management.base_command import prepare_database
from indexing.stores import close_store
from retrieval.search_responses import SEARCH_BY_KIND

SEARCH_TIMEOUT_SECONDS = 60  # a server that also indexes may take its time

# Search parameters as the API takes them -> the answer as the API gives it.
SearchFunction = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def open_search(kind: str = "pages") -> Iterator[SearchFunction]:
    """Search parameters in, the answer out, both as the API has them, for one of its searches.

    Whatever goes wrong meanwhile leaves the block as a ``CommandError`` that says what to do.
    """
    server = find_server()
    with prepared_indexes(server):
        if server is None:
            yield lambda parameters: SEARCH_BY_KIND[kind](parameters).content
            return
        with httpx.Client(
            base_url=server.url,
            headers={"Authorization": f"Bearer {server.key}"},
            timeout=SEARCH_TIMEOUT_SECONDS,
            trust_env=False,  # no proxy has any business between us and ourselves
        ) as client:
            yield lambda parameters: read_answer(
                client.post(f"/api/v1/search/{kind}", json=parameters)
            )


@contextmanager
def prepared_indexes(server: RunningServer | None) -> Iterator[None]:
    """A block that may ask this server, or, where there is none, the indexes themselves: they
    are prepared first and let go of in the end. Errors leave it as ``CommandError``."""
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
            f"The database does not answer as it should: {error}. manage.py doctor says more."
        ) from None
    finally:
        close_store()


def read_answer(response: httpx.Response) -> dict[str, Any]:
    """What the server answered.

    Raises:
        StrataError: the server's own error.
    """
    content: dict[str, Any] = response.json()
    if not response.is_success:
        raise StrataError(content["detail"], allowed=content.get("allowed"), fix=content.get("fix"))
    return content


def format_error(error: StrataError) -> str:
    """All an error says, in sentences."""
    parts = [error.detail if error.detail.endswith((".", "!", "?")) else f"{error.detail}."]
    if error.allowed:
        parts.append(f"There are: {', '.join(error.allowed)}.")
    if error.fix:
        parts.append(error.fix)
    return " ".join(parts)

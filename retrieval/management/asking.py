"""How commands search: in this process, or, where a server owns the vector engine, through it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from django.core.management.base import CommandError
from django.db import DatabaseError

from access.server import find_server
from documents.exceptions import StrataError
from indexing.management.prepared import prepare_database
from indexing.stores import close_store
from retrieval.answering import ANSWERS
from retrieval.evaluation import Search

SEARCH_SECONDS = 60  # a server that also indexes may take its time


@contextmanager
def asking(kind: str = "pages") -> Iterator[Search]:
    """Search parameters in, the answer out, both as the API has them, for one of its searches.

    Whatever goes wrong meanwhile leaves the block as a ``CommandError`` that says what to do.
    """
    server = find_server()
    try:
        if server is None:
            prepare_database()
            yield lambda parameters: ANSWERS[kind](parameters).content
            return
        with httpx.Client(
            base_url=server.url,
            headers={"Authorization": f"Bearer {server.key}"},
            timeout=SEARCH_SECONDS,
            trust_env=False,  # no proxy has any business between us and ourselves
        ) as client:

            def search_there(parameters: dict[str, Any]) -> dict[str, Any]:
                answer = client.post(f"/api/v1/search/{kind}", json=parameters)
                content = answer.json()
                if not answer.is_success:
                    raise StrataError(
                        content["detail"], allowed=content.get("allowed"), fix=content.get("fix")
                    )
                return content

            yield search_there
    except StrataError as error:
        raise CommandError(_explain(error)) from None
    except httpx.HTTPError as error:
        raise CommandError(f"The running server did not answer: {error}") from None
    except DatabaseError as error:
        raise CommandError(
            f"The database does not answer as it should: {error}. manage.py doctor says more."
        ) from None
    finally:
        close_store()


def _explain(error: StrataError) -> str:
    parts = [error.detail if error.detail.endswith((".", "!", "?")) else f"{error.detail}."]
    if error.allowed:
        parts.append(f"There are: {', '.join(error.allowed)}.")
    if error.fix:
        parts.append(error.fix)
    return " ".join(parts)

import asyncio
import os
from functools import partial
from typing import Any

import httpx
from django.core.management.base import CommandParser

from core.commands import StrataCommand
from core.exceptions import StrataError
from core.running_server import find_server

CHECK_SECONDS = 30


class Command(StrataCommand):
    help = (
        "Serve MCP on standard input and output, for an agent on this machine. The answers come "
        "from a running service."
    )
    requires_system_checks = []
    prepares_database = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--url",
            default=os.environ.get("STRATA_URL", ""),
            help="Address of the service; by default STRATA_URL, then the service that runs on "
            "this data folder. STRATA_KEY is the API key; a service on this data folder needs it "
            "only to restrict the agent.",
        )

    def handle(self, *, url: str, **options: Any) -> None:
        find_service = partial(_find_service, url, os.environ.get("STRATA_KEY", ""))
        _check_service(*find_service())
        from mcp_server.bridge import serve_stdio  # imports the package mcp

        asyncio.run(serve_stdio(find_service))


def _find_service(url: str, key: str) -> tuple[str, str]:
    """Its address and the key to use.

    Raises:
        StrataError: none is named, and none runs on this data folder.
    """
    if url:
        return url.rstrip("/"), key
    server = find_server()
    if server is None:
        raise StrataError(
            "No service runs on this data folder.",
            fix="Start one with strata serve, or name another with --url and its key with "
            "STRATA_KEY.",
        )
    return server.url, key or server.key


def _check_service(url: str, key: str) -> None:
    """Check that the service answers and takes the key.

    Raises:
        StrataError: the service does not answer or refuses the key.
    """
    if not key:
        return  # public indexes need none; only a search shows whether there are any
    try:
        response = httpx.get(
            f"{url}/api/v1/indexes/",
            headers={"Authorization": f"Bearer {key}"},
            timeout=CHECK_SECONDS,
            trust_env=False,
        )
    except httpx.HTTPError as error:
        raise StrataError(f"The service at {url} does not answer: {error}") from None
    if response.status_code == httpx.codes.UNAUTHORIZED:
        raise StrataError(f"The service at {url} refuses the key: {response.json()['detail']}")

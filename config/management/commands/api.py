import sys
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
from django.core.management.base import CommandError, CommandParser

from core.api_client import API_PATH, ApiCommand
from core.command_options import format_json, parse_assignments, parse_json
from core.commands import has_embedded_store

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Command(ApiCommand):
    help = "Send a request to the API and print its answer: for whatever has no command of its own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("method", type=str.upper, choices=METHODS, metavar="METHOD")
        parser.add_argument("path", help=f"Below {API_PATH}, such as indexes/plain/builds/")
        content = parser.add_mutually_exclusive_group()
        content.add_argument("--data", metavar="JSON", help="The body; @FILE reads it from a file.")
        content.add_argument("--file", type=Path, help="A file to upload.")
        parser.add_argument(
            "--query", action="append", default=[], metavar="NAME=VALUE",
            help="A parameter of the query string; may be given several times.",
        )  # fmt: skip

    def handle(
        self,
        *,
        method: str,
        path: str,
        data: str | None,
        file: Path | None,
        query: Sequence[str],
        **options: Any,
    ) -> None:
        try:
            url = httpx.URL(path)
        except httpx.InvalidURL as error:
            raise CommandError(f"{path!r} is not a path: {error}. [invalid]") from None
        if url.is_absolute_url:
            raise CommandError(f"Give the path below {API_PATH} only. [invalid]")
        if query:
            url = url.copy_merge_params(parse_assignments(query, "--query"))
        content: dict[str, Any] = {}
        if data is not None:
            content["json"] = parse_json(_read_data(data), "--data")
        if file is not None:
            content["files"] = {"file": (file.name, _read_file(file))}
        response = self.api.send(
            method,
            str(url).removeprefix("/").removeprefix(API_PATH.removeprefix("/")),
            headers={"Accept": "application/json, */*;q=0.5"},
            **content,
        )
        self._print(response)
        is_work_left = response.status_code == HTTPStatus.ACCEPTED and not self.api.has_server
        if is_work_left and has_embedded_store():
            self.stderr.write("Accepted. The next strata serve does the rest.")

    def _print(self, response: httpx.Response) -> None:
        """Print JSON indented, and anything else as it is."""
        if response.headers.get("Content-Type", "").startswith("application/json"):
            self.stdout.write(format_json(response.json()))
        elif response.content:
            self.stdout.flush()
            sys.stdout.buffer.write(response.content)
            sys.stdout.buffer.flush()


def _read_data(data: str) -> str | bytes:
    return _read_file(Path(data[1:])) if data.startswith("@") else data


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}. [invalid]") from None

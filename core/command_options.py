"""Options and output of commands that ask the API: JSON, and pairs of names and values."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.commands import format_error
from core.exceptions import InvalidInput, Malformed


def add_json_option(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", help="Print the API's answer.")


def format_json(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False, indent=2)


def parse_json(text: str | bytes, option: str) -> Any:
    """Read the JSON value of an option. Raises ``CommandError``: the value of ``option`` is not
    JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        problem = Malformed(
            f"{option} is not valid JSON: {error}.",
            fix='Write it as {"name": "value"}, in quotation marks for the shell.',
        )
        raise CommandError(format_error(problem)) from None


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python reads but JSON does not have."""
    raise ValueError(f"{name} is not a value")


def parse_assignments(assignments: Sequence[str], option: str) -> dict[str, str]:
    """Read ``NAME=VALUE`` pairs. Raises ``CommandError``: one is malformed or repeats a name."""
    values: dict[str, str] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not name or not equals:
            problem = InvalidInput(
                f"{option}: {text!r} is not a pair of a name and a value.",
                fix="Write it as NAME=VALUE.",
            )
            raise CommandError(format_error(problem))
        if name in values:
            problem = InvalidInput(f"{option} gives {name} twice.", fix="Give it once.")
            raise CommandError(format_error(problem))
        values[name] = value
    return values

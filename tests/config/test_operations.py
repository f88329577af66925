"""The pages of operations and of commands list what there is."""

import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from mcp_server.tools import DECLARED_OPERATIONS, TOOLS
from strata_client import AsyncStrata, Strata
from tests.openapi.document import Document

OWN_APPS = {path.parent.name for path in Path(settings.BASE_DIR).glob("*/apps.py")} | {"presets"}
DOCS = Path(settings.BASE_DIR) / "docs" / "reference"
OWN_COMMANDS = {name for name, app in get_commands().items() if app.partition(".")[0] in OWN_APPS}
BY_BODY = "_by_body"  # the operation that takes the parameters of another one in a body
CODE = re.compile("`(.*?)`")


class Row(NamedTuple):
    tag: str
    summary: str
    request: str
    command: str
    method: str  # of the client
    tools: str  # or why there is none


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    rows, tag = [], ""
    for line in (DOCS / "operations.md").read_text().splitlines():
        if line.startswith("## "):
            tag = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith("| operation |"):
            rows.append(Row(tag, *line.removeprefix("| ").removesuffix(" |").split(" | ")))
    return rows


@pytest.fixture(scope="module")
def document() -> Document:
    return Document()


def describe_operations(document: Document) -> Iterator[tuple[str, str, str, set[str]]]:
    """The tag, the summary, the request and the tools of each operation."""
    for operation in document.operations.values():
        if operation.id.endswith(BY_BODY):
            continue
        ids = {operation.id, operation.id + BY_BODY}
        has_body_form = operation.id + BY_BODY in document.operations
        methods = "GET, POST" if has_body_form else operation.method.upper()
        path = operation.path.removeprefix("/api/v1/")
        tools = {tool.name for tool in TOOLS.values() if ids & {*tool.operations}}
        [tag] = operation.content["tags"]
        yield tag, operation.content["summary"], f"`{methods} {path}`", tools


def list_words(parser: ArgumentParser) -> Iterator[str]:
    """The options of a command and, where it has some, of its actions; and their choices."""
    for action in parser._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())
        if isinstance(action, _SubParsersAction):
            for each in action.choices.values():
                yield from list_words(each)


class TestPageOfOperations:
    def test_lists_exactly_the_operations_of_the_openapi_document(self, rows, document):
        listed = {(row.tag, row.summary, row.request) for row in rows}
        existing = {described[:3] for described in describe_operations(document)}

        assert listed == existing
        assert len(rows) == len(listed)

    def test_names_existing_commands_actions_and_options(self, rows):
        unknown = []
        for row in rows:
            name, *words = row.command.strip("`").split()
            if name == "api":
                method, path = row.request.strip("`").split(", ")[0].split()
                unknown += [row] if words != [method, path] else []
                continue
            app = get_commands()[name]
            parser = load_command_class(app, name).create_parser("manage.py", name)
            unknown += [row for word in words if word not in set(list_words(parser))]

        assert not unknown

    def test_names_existing_methods_of_both_clients(self, rows):
        with Strata("http://strata.test") as strata:
            for client in (strata, AsyncStrata("http://strata.test")):
                assert all(callable(attrgetter(row.method.strip("`"))(client)) for row in rows)

    def test_names_the_tools_of_each_operation_or_says_why_there_is_none(self, rows, document):
        tools = {request: names for _, _, request, names in describe_operations(document)}

        for row in rows:
            names = tools[row.request]
            assert {*CODE.findall(row.tools)} == names if names else row.tools, row

    def test_tools_use_existing_operations(self, document):
        used = {
            *DECLARED_OPERATIONS,
            *(name for each in TOOLS.values() for name in each.operations),
        }

        assert used <= set(document.operations)


class TestPageOfCommands:
    def test_lists_exactly_the_commands_of_strata(self):
        text = (DOCS / "commands.md").read_text().partition("## Make targets")[0]
        cells = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
        listed = {code.split()[0] for cell in cells for code in CODE.findall(cell)}

        assert listed == OWN_COMMANDS

"""The table of operations holds what there is, and its page is up to date."""

import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from config.operations import BODY_SUFFIX, DOCUMENT, NO_TOOL, list_usages, render_operations
from mcp_server.tools import TOOLS
from strata_client import AsyncStrata, Strata
from tests.openapi.document import Document

OWN_APPS = {path.parent.name for path in Path(settings.BASE_DIR).glob("*/apps.py")} | {"presets"}
COMMANDS_PAGE = Path(settings.BASE_DIR) / "docs" / "reference" / "commands.md"
OWN_COMMANDS = {name for name, app in get_commands().items() if app.partition(".")[0] in OWN_APPS}


@pytest.fixture(scope="module")
def document() -> Document:
    return Document()


def list_words(parser: ArgumentParser) -> Iterator[str]:
    """The options of a command and, where it has some, of its actions; and their choices."""
    for action in parser._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())
        if isinstance(action, _SubParsersAction):
            for each in action.choices.values():
                yield from list_words(each)


class TestTable:
    def test_has_exactly_the_operations_of_the_openapi_document(self, document):
        names = {name.removesuffix(BODY_SUFFIX) for name in document.operations}

        assert set(list_usages()) == names
        assert {name for tool in TOOLS.values() for name in tool.operations} <= set(
            document.operations
        )

    def test_names_existing_commands_actions_and_options(self):
        unknown = []
        for command in {faces.command for faces in list_usages().values()} - {""}:
            name, *words = command.split()
            app = get_commands()[name]
            parser = load_command_class(app, name).create_parser("manage.py", name)
            unknown += [command for word in words if word not in set(list_words(parser))]

        assert not unknown

    def test_names_existing_methods_of_both_clients(self):
        with Strata("http://strata.test") as strata:
            clients = (strata, AsyncStrata("http://strata.test"))
            for faces in list_usages().values():
                assert all(
                    callable(attrgetter(faces.client or "request")(each)) for each in clients
                )

    def test_has_a_reason_for_each_tag_without_a_tool(self, document):
        tags = {operation.content["tags"][0] for operation in document.operations.values()}

        assert tags == set(NO_TOOL)


class TestPage:
    def test_is_up_to_date(self, document):
        assert DOCUMENT.read_text() == render_operations(document.content), (
            "Run `python -m config.operations`."
        )


class TestPageOfCommands:
    def test_lists_exactly_the_commands_of_strata(self):
        text = COMMANDS_PAGE.read_text().partition("## Make targets")[0]
        cells = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
        listed = {code.split()[0] for cell in cells for code in re.findall("`(.*?)`", cell)}

        assert listed == OWN_COMMANDS

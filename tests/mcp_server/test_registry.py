"""``server.json``, with which the registry of MCP servers lists Strata."""

import json
import re
import tomllib
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.conf import settings
from django.core.management import get_commands
from django.urls import resolve

from tests.serving import ROOT

SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

TEXT = {"type": "string", "minLength": 1}
INPUT = {
    "description": TEXT,
    "placeholder": TEXT,
    "format": {"enum": ["string", "number", "boolean", "filepath"]},
    "isRequired": {"type": "boolean"},
    "isSecret": {"type": "boolean"},
}


def an_object(required: str, **properties: Any) -> dict[str, Any]:
    """``required``: names with spaces between them. No other property is allowed."""
    return {
        "type": "object", "required": required.split(), "properties": properties,
        "additionalProperties": False,
    }  # fmt: skip


def a_list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": items}


# The rules of the registry's schema of 2025-12-11 for what Strata declares.
NAMED_INPUT = an_object("name description", name=TEXT, **INPUT)
SCHEMA = an_object(
    "$schema name title description version packages remotes",
    **{
        "$schema": {"pattern": r"/schemas/2025-12-11/server\.schema\.json$"},
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
        "title": {**TEXT, "maxLength": 100},
        "description": {**TEXT, "maxLength": 100},
        "version": {"pattern": r"^\d+\.\d+\.\d+$"},
    },
    packages=a_list(
        an_object(
            "registryType registryBaseUrl identifier version transport",
            registryType={"const": "pypi"},
            registryBaseUrl={"const": "https://pypi.org"},
            identifier=TEXT,
            version=TEXT,
            runtimeHint={"const": "uvx"},
            packageArguments=a_list(
                an_object("type value", type={"const": "positional"}, value=TEXT)
            ),
            transport=an_object("type", type={"const": "stdio"}),
            environmentVariables=a_list(NAMED_INPUT),
        )
    ),
    remotes=a_list(
        an_object(
            "type url",
            type={"const": "streamable-http"},
            url={"pattern": r"^https?://\S+$"},
            variables={"type": "object", "additionalProperties": an_object("", **INPUT)},
            headers=a_list(NAMED_INPUT),
        )
    ),
)


def test_follows_the_rules_of_the_registry():
    jsonschema.validate(SERVER, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(SERVER | {"status": "active"}, SCHEMA)


def test_names_the_wheel_of_this_version_and_its_command():
    [package] = SERVER["packages"]

    assert SERVER["version"] == package["version"] == settings.STRATA_RELEASE
    assert package["identifier"] == PROJECT["name"]
    assert package["identifier"] in PROJECT["scripts"]  # as uvx calls it
    [argument] = package["packageArguments"]
    assert get_commands()[argument["value"]] == "mcp_server"


def test_names_variables_that_the_command_reads():
    [package] = SERVER["packages"]
    names = {each["name"] for each in package["environmentVariables"]}
    command = (ROOT / "mcp_server/management/commands/mcp.py").read_text()
    settings = (ROOT / "config/environment.py").read_text()

    read = set(re.findall(r'os\.environ\.get\("(\w+)"', command))
    assert names == read | {"STRATA_DATA_DIR"}
    assert '"STRATA_DATA_DIR"' in settings


def test_names_the_address_of_the_http_form():
    [remote] = SERVER["remotes"]

    path = remote["url"].removeprefix("https://{host}")
    assert resolve(path).url_name == "mcp"
    assert set(re.findall(r"{(\w+)}", remote["url"])) == remote["variables"].keys()
    assert [header["name"] for header in remote["headers"]] == ["Authorization"]


def test_marks_each_key_as_secret():
    [package], [remote] = SERVER["packages"], SERVER["remotes"]

    inputs = package["environmentVariables"] + remote["headers"]
    secret = {each["name"] for each in inputs if each.get("isSecret")}
    assert secret == {"STRATA_KEY", "Authorization"}


def test_is_claimed_by_the_description_of_the_wheel():
    """The registry looks for the name in the package's description, with nothing behind it."""
    readme = (ROOT / PROJECT["readme"]).read_text()

    assert re.findall(r"mcp-name: (\S+)(?=\s|-->)", readme) == [SERVER["name"]]

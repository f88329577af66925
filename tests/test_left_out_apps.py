"""The service runs without any of its optional apps: its checks, its API's description, its pages,
indexing, searches, questions, ``verify``, and the tools of agents."""

import os
import shutil

import pytest
from django.conf import settings

from tests.forked import run_forked
from tests.optional_apps import OPTIONAL

PROGRAM = """
import json
import warnings
from importlib import import_module
from importlib.util import find_spec

import django
import jsonschema_rs
warnings.simplefilter("error", RuntimeWarning)
django.setup()
from django.apps import apps
from django.core.management import call_command
from django.test.utils import setup_test_environment
from drf_spectacular import validation
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from access.models import ApiKey
from indexing import tasks
from indexing.exceptions import InvalidSpec
from indexing.spec import dump_recipe, parse_spec, read_stored_spec
from indexing.spec.app_sections import MISSING_APPS
from tests.left_out import LEFT_OUT

setup_test_environment()
validation.jsonschema = jsonschema_rs  # the validator in Python takes seconds of each run
call_command("check", fail_level="WARNING")
call_command("migrate", verbosity=0)
call_command("spectacular", validate=True, fail_on_warn=True, file="/dev/null")
tasks.load_new_specs()
client = APIClient()
for page in ("", "add/", "documents/", "indexes/", "work/", "keys/", "settings/", "health/live"):
    assert client.get(f"/{page}").status_code == 200, page
client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
given = {"title": "Herons", "pages": ["The heron waits in shallow water."]}
added = client.post("/api/v1/indexes/plain/artifacts/", given, format="json")
assert added.status_code in (200, 201, 202), added.content
tasks.reconcile_indexes()
questions = ["search/pages?index=plain&q=heron", "ask?index=plain&q=what waits in water"]
if not apps.is_installed("answers"):
    assert client.get(f"/api/v1/{questions.pop()}").status_code == 404
    assert b'value="ask"' not in client.get("/").content
for path in questions:
    answer = client.get(f"/api/v1/{path}", HTTP_ACCEPT="application/json")
    assert answer.json()["hits"][0]["verdict"] == "exact", answer.content
if apps.is_installed("guests"):
    found = client.post("/v1/vector_stores/plain/search", {"query": "heron"}, format="json")
    assert found.json()["data"][0]["verdict"] == "exact", found.content
    models = client.get("/v1/models").status_code
    assert models == (200 if apps.is_installed("answers") else 404)
client.delete(f"/api/v1/artifacts/{added.json()['id']}/")
call_command("verify")
WITH_SECTIONS = {"concepts", "evidence", "feeds", "spaces"}
assert set(MISSING_APPS.values()) == WITH_SECTIONS.intersection(LEFT_OUT)
plain = parse_spec("plain", "")
refused = {f"{section}: true": (section, app) for section, app in MISSING_APPS.items()}
if "answers" in LEFT_OUT:
    refused["search: {pipeline: papers}"] = "search.pipeline", "answers"
    refused["identifiers: {isbn: {pattern: '[0-9]{13}'}}"] = "identifiers", "answers"
for text, (setting, app) in refused.items():
    try:
        parse_spec("some", text)
    except InvalidSpec as error:
        assert str(error).startswith(f"some.yaml: {setting}: the app {app} is not"), error
    else:
        raise AssertionError(text)
for section in MISSING_APPS:
    assert parse_spec("plain", f"{section}: false") == plain
    recipe = dump_recipe(plain) | {section: {"bits": 384}}
    assert read_stored_spec(json.dumps(recipe), None).fingerprint == plain.fingerprint
if apps.is_installed("mcp_server"):
    from mcp_server.operations import get_operation
    from mcp_server.tools import TOOLS

    for tool in TOOLS.values():
        Draft202012Validator.check_schema(tool.make_schema())
        assert all(map(get_operation, tool.operations)), tool.name
    for module in (f"{app}.agent_tools" for app in LEFT_OUT):
        if find_spec(module):
            names = {tool.name for tool in import_module(module).TOOLS}
            assert names and not names & TOOLS.keys(), names
"""


@pytest.mark.parametrize("app", ["all", *OPTIONAL])
def test_the_service_runs_without(app, tmp_path):
    # Other specs need some of the apps, and are refused without them.
    shutil.copy(settings.BASE_DIR / "specs" / "plain.yaml", tmp_path)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.left_out",
        "STRATA_TEST_LEFT_OUT": app,
        "STRATA_SPECS_DIR": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    ended = run_forked([str(program)], environment)

    assert ended.returncode == 0, ended.stderr

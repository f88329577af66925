"""The service without the app: no kinds, searches or providers of it, and specs that need it are
refused by name."""

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings

REPORT = """
import json, sys
import django
django.setup()
from indexing.exceptions import InvalidSpec
from indexing.kinds import KINDS
from indexing.providers import PROVIDERS
from indexing.spec import parse_spec
from indexing.spec.stored import read_stored_spec
from mcp_server.tools import make_search_schema
from retrieval.all_searches import SEARCHES

def refuse(text):
    try:
        parse_spec("gallery", text)
    except InvalidSpec as error:
        return str(error)
    return ""

stored = json.dumps({"version": 2, "name": "gallery", "images": {}})
print(json.dumps({
    "kinds": list(KINDS),
    "providers": list(PROVIDERS),
    "searches": list(SEARCHES),
    "search over MCP": make_search_schema()["properties"],
    "refusals": {text: refuse(text) for text in json.load(sys.stdin)},
    "stored kinds": read_stored_spec(stored, None).kinds,
    "modules": [name for name in sys.modules if name.partition(".")[0] == "spaces"],
}))
"""

NEEDS = {
    "images: true\n": "images",
    "chunks: {embed: false}\nimages: true\n": "images",
    "metadata: {smiles: {type: keyword}}\ncompounds: true\n": "compounds",
    "embedding: {provider: clip}\n": "embedding.provider",
    "embedding: {provider: rdkit}\n": "embedding.provider",
}
UNKNOWN = "embedding: {provider: acme}\n"
SOUND = "images: false\n"


@pytest.fixture(scope="module")
def report():
    variables = {"DJANGO_SETTINGS_MODULE": "tests.left_out", "STRATA_TEST_LEFT_OUT": "spaces"}
    run = subprocess.run(
        [sys.executable, "-c", REPORT],
        input=json.dumps([*NEEDS, UNKNOWN, SOUND]),
        env=os.environ | variables,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_nothing_of_it_is_loaded(report):
    assert report["modules"] == []
    assert {"image", "compound"}.isdisjoint(report["kinds"])
    assert {"images", "structures"}.isdisjoint(report["searches"])
    assert report["providers"] == ["fastembed", "huggingface", "openai"]


@pytest.mark.parametrize("text", NEEDS)
def test_a_spec_that_needs_it_is_refused_by_name(report, text):
    assert report["refusals"][text].startswith(
        f"gallery.yaml: {NEEDS[text]}: the app spaces is not installed: it is missing in "
        "INSTALLED_APPS"
    )


def test_agents_are_told_of_the_other_searches(report):
    assert report["search over MCP"]["kind"]["enum"] == report["searches"]
    assert report["search over MCP"]["query"]["description"] == (
        'What to look for. Words are searched by meaning too; "exact phrase", -word, +word, OR and '
        "field:value are read."
    )


def test_other_specs_are_read(report):
    assert report["refusals"][SOUND] == ""
    assert (
        "there is no provider 'acme'; allowed here: fastembed, huggingface, openai"
        in (report["refusals"][UNKNOWN])
    )


def test_a_stored_spec_that_needs_it_stays_readable(report):
    assert report["stored kinds"] == ["chunk"]

"""Compare the values of the Helm chart with docker-compose.yml and the settings; no Helm is needed.

``tests/helm`` renders it.
"""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from django.conf import settings

from tests.compose import read_our_services
from tests.config.test_containers import list_readings
from tests.serving import ROOT

CHART = ROOT / "charts" / "strata"
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
SETTINGS: dict[str, Any] = SCHEMA["definitions"]["settings"]["properties"]
SECRETS: dict[str, Any] = SCHEMA["properties"]["secrets"]["properties"]
# `hosts`, `ingress.path`, and what the probes look at.
OF_THE_CHART = {"ALLOWED_HOSTS", "STRATA_BASE_PATH", "STRATA_HEARTBEAT_FILE"}


def test_takes_every_variable_that_compose_passes_on():
    passed = {
        name
        for service, each in read_our_services().items()
        if service != "flower"
        for name in each["environment"]
    }

    assert set(SETTINGS) | set(SECRETS) == passed - OF_THE_CHART


def test_takes_no_secret_as_a_setting():
    secret = {name for name in SETTINGS if name.endswith(("_KEY", "_SECRET", "_ID"))}

    assert secret == {"STRATA_OIDC_CLIENT_ID"}  # which every sign-in shows
    assert set(SETTINGS) & set(SECRETS) == set()
    refused = SCHEMA["properties"]["secrets"]["propertyNames"]["not"]["enum"]
    assert set(refused) == set(SETTINGS)


@pytest.mark.parametrize(
    ("reader", "accepted", "refused"),
    [
        ("read_int", 1, "many"),
        ("read_number", 0.5, 0),
        ("read_url", "https://models.example.org/v1", "models.example.org"),
        ("_read_flag", 1, 2),
    ],
)
def test_takes_the_values_that_the_settings_take(reader, accepted, refused):
    names = list_readings()[reader] & set(SETTINGS)

    assert names
    for name in names:
        jsonschema.validate(accepted, SETTINGS[name])
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(refused, SETTINGS[name])


def test_has_a_schema_for_each_value():
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    assert set(SCHEMA["properties"]) - {"global"} == set(values)


def test_has_the_version_of_the_service():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["version"] == chart["appVersion"] == settings.STRATA_RELEASE

"""The chart as Helm renders it; without Helm's library these tests are skipped."""

from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
import yaml

from tests.serving import ROOT

CHART = ROOT / "charts" / "strata"
VALUES = {
    path.name.removesuffix("-values.yaml"): path for path in sorted((CHART / "ci").glob("*.yaml"))
}


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="Helm's library is not installed; .ci/helm runs them with it")
    for item in items:
        if find_spec("helm_python") is None and item.path.parent.name == "helm":
            item.add_marker(skip)


def read_values(name: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(VALUES[name].read_text())
    return values


def render(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The manifests of a release named ``search``, hooks among them.

    Raises:
        HelmValuesError: the chart's schema refuses the values.
    """
    import helm_python

    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(chart.merge_values(values))
        rendered = chart.render(values, name="search", namespace="strata")
    texts = [text for path, text in rendered.items() if not path.endswith("NOTES.txt")]
    return [found for text in texts for found in yaml.safe_load_all(text) if found]


@cache
def render_named(name: str) -> list[dict[str, Any]]:
    return render(read_values(name))


def of_kind(manifests: list[dict[str, Any]], *kinds: str) -> dict[str, dict[str, Any]]:
    """By their names without that of the release."""
    return {
        found["metadata"]["name"].removeprefix("search-strata-"): found
        for found in manifests
        if found["kind"] in kinds
    }


def pods(manifests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The spec of each pod."""
    owners = of_kind(manifests, "Deployment", "Job")
    return {name: owner["spec"]["template"]["spec"] for name, owner in owners.items()}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    [only] = pod["containers"]
    assert isinstance(only, dict)
    return only


def environment(pod: dict[str, Any]) -> dict[str, Any]:
    """The variables that the pod itself sets."""
    return {each["name"]: each.get("value") for each in container(pod).get("env", [])}

"""Fixtures for the tests of both clients."""

from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.serving import Service, serving


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def nowhere_in_particular(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment may name a developer's own Strata server; ignore it."""
    monkeypatch.delenv("STRATA_URL", raising=False)
    monkeypatch.delenv("STRATA_KEY", raising=False)


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server for both clients, until the last test in this folder."""
    with serving(tmp_path_factory.mktemp("served")) as service:
        yield service


@pytest.fixture(scope="package")
def schemas() -> dict[str, Any]:
    """The schemas of the server's OpenAPI document."""
    return SchemaGenerator().get_schema(public=True)["components"]["schemas"]

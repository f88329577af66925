"""What the tests of either form share."""

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
    """Whoever runs the tests may have a Strata of their own."""
    monkeypatch.delenv("STRATA_URL", raising=False)
    monkeypatch.delenv("STRATA_KEY", raising=False)


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server for both forms, until the last test below this folder."""
    with serving(tmp_path_factory.mktemp("served")) as service:
        yield service


@pytest.fixture(scope="package")
def schemas() -> dict[str, Any]:
    """What the server's OpenAPI document declares."""
    return SchemaGenerator().get_schema(public=True)["components"]["schemas"]

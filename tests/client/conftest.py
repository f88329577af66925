"""Fixtures for the tests of both clients."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.forked import serving_forked
from tests.serving import Service

CLIENT = Path(__file__).resolve().parents[2] / "client/src/strata_client"


def _written_at(folder: str) -> float:
    return max((file.stat().st_mtime for file in (CLIENT / folder).glob("*.py")), default=0.0)


if _written_at("_sync") < _written_at("_async"):
    raise pytest.UsageError(
        "The synchronous client is missing or older than the asynchronous one: make .venv/.dev"
    )


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_configured_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the developer's own Strata server, which the environment may name."""
    monkeypatch.delenv("STRATA_URL", raising=False)
    monkeypatch.delenv("STRATA_KEY", raising=False)


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server for both clients, until the last test in this folder."""
    with serving_forked(tmp_path_factory.mktemp("served")) as service:
        yield service


@pytest.fixture(scope="package")
def schemas() -> dict[str, Any]:
    """The schemas of the server's OpenAPI document."""
    return SchemaGenerator().get_schema(public=True)["components"]["schemas"]

"""A data folder of a service, with the service running and without."""

from pathlib import Path

import pytest

from tests.serving import Service, serving


@pytest.fixture
def idle(tmp_path: Path) -> Service:
    """A data folder no server runs on."""
    data = tmp_path / "data"
    data.mkdir()
    return Service(data)


@pytest.fixture
def served(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    with serving(data) as service:
        yield service

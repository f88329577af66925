import pytest

from tests.access.oauth.asking import Agent, make_browser
from tests.asking_mcp import answer_in_this_thread


@pytest.fixture(autouse=True)
def in_this_thread(monkeypatch):
    answer_in_this_thread(monkeypatch)


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def browser():
    return make_browser()

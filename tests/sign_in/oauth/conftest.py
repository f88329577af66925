import pytest
from rest_framework.test import APIClient

from tests.sign_in.oauth.asking import Agent, make_browser


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def browser() -> APIClient:
    return make_browser()

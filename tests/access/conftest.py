"""The service that has something of everything, which the tests of the OpenAPI document fill."""

from tests.images.conftest import clip, pair  # noqa: F401
from tests.openapi.conftest import filled, models  # noqa: F401

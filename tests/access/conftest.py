"""The fixtures of the OpenAPI tests: a service with data for every operation."""

from tests.images.conftest import clip, pair  # noqa: F401
from tests.openapi.conftest import filled, models  # noqa: F401

"""The models that embed the pictures of the service that the OpenAPI tests fill."""

from tests.spaces.images.conftest import pair  # noqa: F401

"""Whole journeys below a path that a header names, behind a real nginx."""

from collections.abc import Iterator

import pytest

from tests.browser import test_journeys as journeys
from tests.browser.test_below_a_path import page
from tests.nginx import nginx, read_documented_locations
from tests.serving import Service

__all__ = ["page", "pictures", "service_at_the_root"]

pictures, service_at_the_root = journeys.pictures, journeys.service


@pytest.fixture(scope="module")
def service(
    service_at_the_root: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    folder, upstream = tmp_path_factory.mktemp("nginx"), service_at_the_root.url
    with nginx(folder, upstream, read_documented_locations()) as service_at_the_root.url:
        yield service_at_the_root


# Run again here, in the same order, with the fixtures above.
test_from_the_first_visit = journeys.test_from_the_first_visit_to_a_rolled_back_recipe
test_from_a_failed_file = journeys.test_from_a_failed_file_to_one_that_is_found

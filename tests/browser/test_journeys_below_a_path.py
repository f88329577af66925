"""Whole journeys below a path of a host, behind a real nginx."""

from tests.browser import test_journeys as journeys
from tests.browser.test_below_a_path import page, service, service_at_the_root

__all__ = ["page", "pictures", "service", "service_at_the_root"]

pictures = journeys.pictures
# Run again here, in the same order, with the fixtures above.
test_from_the_first_visit = journeys.test_from_the_first_visit_to_a_rolled_back_recipe
test_from_a_failed_file = journeys.test_from_a_failed_file_to_one_that_is_found

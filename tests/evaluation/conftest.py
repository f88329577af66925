import pytest

from evaluation.judged_queries import JudgedQueries
from tests.evaluation.paragraphs import fill


@pytest.fixture(autouse=True)
def golden_dir(settings, tmp_path):
    """A temporary folder of golden queries, instead of the project's."""
    settings.STRATA_GOLDEN_DIR = tmp_path / "golden"
    return settings.STRATA_GOLDEN_DIR


@pytest.fixture
def filled(build):
    return fill(build)


@pytest.fixture
def judged():
    """Two judged queries; the second has no good hit."""
    return JudgedQueries(
        {"q1": "heron waits for fish", "q2": "granite cools slowly"},
        {"q1": {"d0": 1}, "q2": {"d3": 1}},
    )

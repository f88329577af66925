import pytest

from evaluation.judged_queries import JudgedQueries
from tests.factories import PARAGRAPHS, give, sync


@pytest.fixture(autouse=True)
def golden_dir(settings, tmp_path):
    """A temporary folder of golden queries, instead of the project's."""
    settings.STRATA_GOLDEN_DIR = tmp_path / "golden"
    return settings.STRATA_GOLDEN_DIR


@pytest.fixture
def filled(build):
    """Four documents ``d0`` to ``d3`` of one paragraph each."""
    artifacts = [
        give(text, title=f"Note {number}", external_id=f"d{number}")
        for number, text in enumerate(PARAGRAPHS)
    ]
    sync(build, *artifacts)
    return artifacts


@pytest.fixture
def judged():
    """Two judged queries; the second has no good hit."""
    return JudgedQueries(
        {"q1": "heron waits for fish", "q2": "granite cools slowly"},
        {"q1": {"d0": 1}, "q2": {"d3": 1}},
    )

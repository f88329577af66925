import pytest

from indexing.models import IndexBuild
from tests.factories import load_index


@pytest.fixture
def findings(build) -> IndexBuild:
    """The empty live build of the index that accepts evidence."""
    return load_index("evidence")

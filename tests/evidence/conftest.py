import pytest

from indexing.models import IndexBuild


@pytest.fixture
def findings(build) -> IndexBuild:
    """The empty live build of the index that accepts evidence."""
    return IndexBuild.objects.live().get(index="evidence")

import pytest

from indexing.models import IndexBuild


@pytest.fixture
def findings(build) -> IndexBuild:
    """The live build of the index that takes evidence, empty."""
    return IndexBuild.objects.live().get(index="evidence")

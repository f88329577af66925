"""The documents that tests of this folder judge."""

from documents.models import Artifact
from indexing.models import IndexBuild
from tests.factories import PARAGRAPHS, give, sync


def fill(build: IndexBuild) -> list[Artifact]:
    """Add four documents ``d0`` to ``d3`` of one paragraph each to the plain index."""
    artifacts = [
        give(text, title=f"Note {number}", external_id=f"d{number}")
        for number, text in enumerate(PARAGRAPHS)
    ]
    sync(build, *artifacts)
    return artifacts

import pytest

from retrieval.views import searches


@pytest.fixture
def planned(monkeypatch):
    """The artifacts the views have asked to be planned anew."""
    asked = []
    monkeypatch.setattr(
        searches, "make_due_and_enqueue", lambda artifact_id, index: asked.append(artifact_id)
    )
    return asked

import pytest

from retrieval.views import searches


@pytest.fixture
def planned(monkeypatch):
    """The artifacts whose planning the views have enqueued."""
    asked = []
    monkeypatch.setattr(
        searches, "make_due_and_enqueue", lambda artifact_id, index: asked.append(artifact_id)
    )
    return asked

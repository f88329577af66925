import pytest

from indexing import tasks
from summaries.tasks import plan_written_texts


@pytest.fixture
def planned(monkeypatch):
    """The artifacts the views have asked to be planned anew."""
    asked = []
    monkeypatch.setattr(
        tasks.plan_nodes, "apply_async", lambda kwargs, **options: asked.append(kwargs)
    )
    monkeypatch.setattr(plan_written_texts, "apply_async", lambda **options: None)
    return asked

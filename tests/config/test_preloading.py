import pytest
from django.db import connection

from config.preloading import preload_models_in_use
from indexing import embedding
from tests.factories import give

pytestmark = pytest.mark.django_db


@pytest.fixture
def loaded(monkeypatch):
    """The models that were requested."""
    loaded = []
    monkeypatch.setattr(
        embedding, "load_models", lambda models, seconds: loaded.extend(models) or []
    )
    monkeypatch.setattr(connection, "close", lambda: None)  # the test uses it
    return loaded


class TestPreloadModelsInUse:
    def test_loads_the_model_of_an_index_with_documents(self, build, loaded):
        give(index="plain")

        preload_models_in_use()

        assert set(loaded) == build.spec.embedding_specs

    def test_loads_no_model_of_an_index_without_documents(self, build, loaded):
        preload_models_in_use()

        assert loaded == []

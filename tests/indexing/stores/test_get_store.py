import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from indexing import stores
from indexing.stores import close_store, get_store


@pytest.fixture(autouse=True)
def _own_store(settings, tmp_path):
    """Put the process's store aside: these tests create and close their own."""
    close_store()
    settings.STRATA_VECTORS_DIR = tmp_path / "vectors"
    yield
    close_store()


class TestGetStore:
    def test_returns_the_embedded_store_by_settings(self, settings):
        settings.STRATA_VECTOR_STORE = "embedded"

        assert type(get_store()).__name__ == "EmbeddedStore"
        assert settings.STRATA_VECTORS_DIR.is_dir()

    def test_returns_a_qdrant_client_by_settings(self, settings):
        settings.STRATA_VECTOR_STORE = "qdrant"
        settings.QDRANT_URL, settings.QDRANT_API_KEY = "http://localhost:1", ""
        settings.QDRANT_TIMEOUT_SECONDS = 5

        assert type(get_store()).__name__ == "QdrantStore"

    def test_returns_one_store_to_all_threads(self, settings):
        settings.STRATA_VECTOR_STORE = "embedded"

        with ThreadPoolExecutor(8) as threads:
            made = set(threads.map(lambda _: get_store(), range(8)))

        assert len(made) == 1

    def test_returns_another_store_after_closing(self, settings):
        settings.STRATA_VECTOR_STORE = "memory"
        first = get_store()

        close_store()

        assert get_store() is not first

    def test_refuses_unknown_kinds(self, settings):
        settings.STRATA_VECTOR_STORE = "shoebox"

        with pytest.raises(ValueError, match="shoebox"):
            get_store()


def test_importing_the_package_imports_no_engine():
    code = (
        "import sys, indexing.stores;"
        "print([name for name in ('qdrant_edge', 'qdrant_client') if name in sys.modules])"
    )
    root = Path(stores.__file__).parents[2]

    imported = subprocess.check_output([sys.executable, "-c", code], cwd=root, text=True)

    assert imported.strip() == "[]"

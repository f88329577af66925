import pytest

from indexing.embedding import minilm
from indexing.embedding.availability import describe_model_availability
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec


class TestInstalledModel:
    def test_is_described_as_installed(self):
        assert describe_model_availability(EmbeddingSpec()).startswith("installed")

    def test_names_what_to_install(self, monkeypatch):
        monkeypatch.setattr(minilm, "PACKAGE", "no_such_wheel")

        with pytest.raises(ModelUnavailable) as raised:
            describe_model_availability(EmbeddingSpec())

        assert raised.value.fix == minilm.INSTALL


class TestFetchedModel:
    @pytest.fixture(autouse=True)
    def cache(self, settings, tmp_path):
        settings.STRATA_MODELS_DIR = tmp_path
        return tmp_path / "fastembed"

    def test_is_described_as_missing_before_it_is_fetched(self, cache):
        described = describe_model_availability(EmbeddingSpec(model="BAAI/bge-small-en-v1.5"))

        assert described.startswith(f"not under {cache}")

    def test_is_described_with_its_folder(self, cache):
        repository = cache / "models--Qdrant--bge-small-en-v1.5-onnx-Q"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text("abc")
        (repository / "snapshots" / "abc").mkdir(parents=True)
        (repository / "snapshots" / "abc" / "model_optimized.onnx").touch()

        described = describe_model_availability(EmbeddingSpec(model="BAAI/bge-small-en-v1.5"))

        assert described == f"fetched; its files are under {cache}."

    def test_raises_an_error_for_an_unknown_model(self):
        with pytest.raises(ModelUnavailable, match="no model acme/none"):
            describe_model_availability(EmbeddingSpec(model="acme/none"))

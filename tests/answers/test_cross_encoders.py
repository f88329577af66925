import pytest

from answers.cross_encoders import BATCH_PAIRS, ScoringStopped, get_cross_encoder_loader
from indexing.exceptions import ModelUnavailable
from tests.indexing.small_cross_encoder import WINDOW, write_cross_encoder


@pytest.fixture
def folder(tmp_path):
    return write_cross_encoder(tmp_path / "tiny")


def get_cross_encoder(name, window=None):
    return get_cross_encoder_loader(name, window).get()


class TestGetCrossEncoder:
    def test_loads_a_folder_once(self, folder):
        assert get_cross_encoder(str(folder)) is get_cross_encoder(str(folder))

    def test_names_the_available_models(self):
        with pytest.raises(ModelUnavailable) as caught:
            get_cross_encoder("acme/unheard-of")

        assert "Xenova/ms-marco-MiniLM-L-6-v2" in caught.value.allowed

    def test_reports_a_folder_without_a_model(self, tmp_path):
        with pytest.raises(ModelUnavailable, match=r"holds no model\.onnx"):
            get_cross_encoder(str(tmp_path))

    @pytest.mark.parametrize("broken", ["tokenizer.json", "model.onnx"])
    def test_reports_a_model_that_cannot_be_read(self, folder, broken):
        (folder / broken).write_text("no model")

        with pytest.raises(ModelUnavailable, match="could not be loaded"):
            get_cross_encoder(str(folder))


class TestCrossEncoder:
    def test_scores_texts_of_any_length_in_their_order(self, folder):
        texts = ["granite", "heron " * 3, "fish", "heron fish and more words", ""]

        scores = get_cross_encoder(str(folder)).score("heron fish", texts)

        assert scores == [0, 3, 1, 2, 0]

    def test_scores_a_text_the_same_alone_and_among_others(self, folder):
        encoder = get_cross_encoder(str(folder))
        texts = [f"heron {'water ' * (n % 7)}" for n in range(3 * BATCH_PAIRS)]

        together = encoder.score("heron water", texts)

        assert together == [encoder.score("heron water", [text])[0] for text in texts]
        assert len(set(together)) == 7

    def test_truncates_text_at_the_window_of_the_model(self, folder):
        encoder = get_cross_encoder(str(folder))

        [score] = encoder.score("heron", ["heron " * 100])

        assert encoder.window == WINDOW
        assert score == WINDOW - 2  # minus the query and the separator

    def test_truncates_text_at_a_smaller_window_on_request(self, folder):
        encoder = get_cross_encoder(str(folder), 6)

        assert encoder.score("heron", ["heron " * 100]) == [4]

    def test_never_uses_a_window_larger_than_that_of_the_model(self, folder):
        assert get_cross_encoder(str(folder), 512).window == WINDOW

    def test_stops_between_batches(self, folder):
        asked = []

        with pytest.raises(ScoringStopped):
            get_cross_encoder(str(folder)).score(
                "heron",
                ["fish"] * 3 * BATCH_PAIRS,
                should_stop=lambda: asked.append(1) or len(asked) == 2,
            )

        assert len(asked) == 2

import pytest
from django.core.management import CommandError, call_command

from evaluation.checks import check_thresholds_of_models
from evaluation.thresholds import carry_over, choose_gate
from indexing import embedding
from indexing.spec import EmbeddingSpec
from tests.factories import give, sync
from tests.hashing import HashingEmbedder
from tests.written import make_build

TEXTS = [" ".join(f"heron{n}x{word}" for word in range(10)) for n in range(30)]
NARROW = {"provider": "openai", "model": "narrow"}


class NarrowEmbedder(HashingEmbedder):
    """Its cosines are those of hashing, raised towards 1."""

    def _vector(self, text):
        vector = super()._vector(text)
        vector[0] += 2
        return vector / (vector**2).sum() ** 0.5


@pytest.fixture
def models(monkeypatch):
    by_name = {"narrow": NarrowEmbedder(EmbeddingSpec())}
    usual = HashingEmbedder(EmbeddingSpec())
    monkeypatch.setattr(embedding, "get_embedder", lambda spec: by_name.get(spec.model, usual))


class TestCarryOver:
    def test_keeps_the_thresholds_of_the_same_model(self, models):
        carried = carry_over({"a": 0.5, "b": 0.8}, TEXTS, EmbeddingSpec())

        assert carried == pytest.approx({"a": 0.5, "b": 0.8}, abs=1e-5)

    def test_raises_the_thresholds_of_a_model_with_higher_cosines(self, models):
        carried = carry_over({"low": 0.3, "high": 0.9}, TEXTS, EmbeddingSpec(**NARROW))

        assert 0.8 < carried["low"] < carried["high"] < 1


class TestChooseGate:
    def test_separates_the_groups_in_the_middle_of_the_gap(self):
        gate = choose_gate([0.9, 0.84], [0.8, 0.7])

        assert gate.min_similarity == pytest.approx(0.82)
        assert (gate.about_share, gate.other_share) == (1, 1)

    def test_accepts_the_fewest_errors_where_the_groups_overlap(self):
        gate = choose_gate([0.9, 0.8, 0.7, 0.4], [0.6, 0.5, 0.3, 0.2])

        assert 0.6 < gate.min_similarity < 0.7
        assert (gate.about_share, gate.other_share) == (0.75, 1)


class TestMeasureThresholds:
    def test_prints_what_to_put_into_spec_and_pipeline(self, db, store, embedder, tmp_path, capsys):
        sync(make_build("birds"), *[give(text, index="birds") for text in TEXTS])
        questions = tmp_path / "questions.yaml"
        questions.write_text("about: [heron1x1 heron1x2]\nother: [bake bread]\n")

        call_command("measure_thresholds", "birds", questions=questions)

        printed = capsys.readouterr().out
        assert "evidence.threshold: 0.9" in printed
        assert "It judges 100% of those about the index rightly, and 100% of the others" in printed

    def test_names_the_lists_that_a_file_lacks(self, tmp_path):
        questions = tmp_path / "questions.yaml"
        questions.write_text("about: [a heron]\n")

        with pytest.raises(CommandError, match="`about` and `other`"):
            call_command("measure_thresholds", "birds", questions=questions)


class TestCheckThresholdsOfModels:
    def test_warns_where_default_thresholds_meet_another_model(self, settings, tmp_path):
        settings.STRATA_SPECS_DIR = tmp_path
        for name, threshold in (("usual", ""), ("measured", "threshold: 0.93")):
            (tmp_path / f"{name}.yaml").write_text(
                f"embedding: {{provider: openai, model: e5}}\nevidence: {{{threshold}}}\n"
            )
        (tmp_path / "default.yaml").write_text("evidence: true\n")

        [warning] = check_thresholds_of_models()

        assert warning.id == "evaluation.W001"
        assert "usual.yaml: evidence.threshold" in warning.msg

    @pytest.mark.django_db
    def test_status_shows_those_of_concepts_too(self, settings, tmp_path, capsys):
        settings.STRATA_SPECS_DIR = tmp_path
        (tmp_path / "knowledge.yaml").write_text(
            "embedding: {provider: openai, model: e5}\nconcepts: true\n"
        )

        call_command("status", skip_checks=False)

        said = " ".join(capsys.readouterr().err.split())
        assert (
            "STRATA_EMERGENT_SIMILARITY and the default min_similarity of search/subgraph" in said
        )
        assert "were measured for the embedding model" in said

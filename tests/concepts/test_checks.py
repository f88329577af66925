import pytest

from concepts.checks import check_emergent_similarity


class TestCheckEmergentSimilarity:
    @pytest.mark.parametrize("similarity", [0.0, -0.5, 1.2, 85.0, float("nan")])
    def test_refuses_a_similarity_outside_the_valid_range(self, settings, similarity):
        settings.STRATA_EMERGENT_SIMILARITY = similarity

        assert [error.id for error in check_emergent_similarity()] == ["concepts.E001"]

    def test_accepts_the_default_similarity(self):
        assert check_emergent_similarity() == []

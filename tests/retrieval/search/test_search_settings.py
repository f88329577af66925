import pytest

from documents.models import Artifact
from indexing import lifecycle
from indexing.models import IndexBuild
from retrieval.retrievers import ChunkRetriever
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, give, sync

SHORTER = "chunks: {strategies: [{name: sentence, max_chars: 60}]}\n"


@pytest.fixture
def specs(settings, tmp_path, build):
    """Write the spec of the plain index, whose live build holds documents."""
    sync(build, *[give(text, title=f"Note {n}") for n, text in enumerate(PARAGRAPHS)])
    settings.STRATA_SPECS_DIR = tmp_path / "specs"
    settings.STRATA_SPECS_DIR.mkdir()
    return (settings.STRATA_SPECS_DIR / "plain.yaml").write_text


def ask() -> tuple[int | None, bool]:
    """Return the build that answered, and whether the sparse ranking took part."""
    answer = ChunkRetriever("plain", explain=True).search("yeast")
    by_words = any(hit.explanation.sparse is not None for hit in answer.hits)
    return answer.builds["plain"], by_words


class TestSearchSettings:
    def test_are_applied_at_once_with_another_chunk_size_and_after_a_rollback(self, specs, build):
        answers = [ask()]

        specs(SHORTER + "search: {sparse_weight: 0}\n")
        beside = lifecycle.apply_spec("plain")
        answers.append(ask())
        sync(beside, *Artifact.objects.all())
        lifecycle.promote_build(beside)
        answers.append(ask())
        specs(SHORTER + "search: {sparse_weight: 2}\n")
        lifecycle.apply_spec("plain")
        answers.append(ask())
        lifecycle.roll_back_index("plain")
        answers.append(ask())

        old, new = build.number, beside.number
        assert answers == [(old, True), (old, False), (new, False), (new, True), (old, True)]


class TestFusionOfScores:
    @pytest.fixture(autouse=True)
    def fusion(self, specs, build):
        specs("search: {fusion: scores, sparse_weight: 2}\n")
        lifecycle.apply_spec("plain")

    def test_is_named_and_explained(self):
        answer = ChunkRetriever("plain", explain=True).search("yeast")

        assert answer.score_kind == "standard_score"
        for hit in answer.hits:
            shares = [each for each in (hit.explanation.dense, hit.explanation.sparse) if each]
            assert hit.explanation.fusion.method == "scores"
            assert hit.score == pytest.approx(sum(share.contribution for share in shares))

    def test_keeps_its_order_without_an_explanation(self):
        explained = ChunkRetriever("plain", explain=True).search("yeast").hits
        plain = ChunkRetriever("plain").search("yeast").hits

        assert [(hit.node_id, hit.score) for hit in plain] == [
            (hit.node_id, hit.score) for hit in explained
        ]

    def test_is_named_in_answers_of_the_api(self):
        client = client_with_key()
        parameters = {"index": "plain", "q": "yeast", "explain": True}

        [hit, *_] = client.get("/api/v1/search/pages", parameters).json()["hits"]

        assert hit["score_kind"] == "standard_score"
        assert hit["explain"]["fusion"] == {
            "method": "scores", "k": 60, "weights": {"dense": 1.0, "sparse": 2.0},
        }  # fmt: skip


class TestARecipeOfANewerRelease:
    @pytest.fixture(autouse=True)
    def documents(self, specs):
        """Documents in the live build."""

    def change_recipe(self, build: IndexBuild, **changes) -> None:
        IndexBuild.objects.filter(pk=build.pk).update(
            recipe={**build.recipe, "version": 99, **changes}
        )

    def test_is_searched(self, build):
        self.change_recipe(build, audio={"model": "whisper"})

        assert ask() == (build.number, True)

    def test_is_refused_if_a_value_is_unknown(self, build):
        self.change_recipe(build, embedding={"provider": "telepathy"})

        answer = client_with_key().get("/api/v1/search/pages", {"index": "plain", "q": "yeast"})

        assert answer.status_code == 503
        assert answer.json()["code"] == "unreadable_recipe"
        assert "embedding.provider" in answer.json()["detail"]
        assert answer.json()["fix"]

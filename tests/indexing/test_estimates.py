import pytest

from documents.models import Artifact
from indexing import embedding
from indexing.estimates import estimate_build
from indexing.lifecycle import apply_spec
from indexing.models import IndexBuild, Node, Throughput
from indexing.spec import IndexSpec
from tests.factories import give, sync
from tests.hashing import HashingEmbedder


@pytest.fixture
def indexed(build) -> IndexBuild:
    """The plain index with two documents."""
    sync(build, give("One heron. Two herons.", title="Birds"), give(title="Notes"))
    return build


class TestEstimateBuild:
    def test_costs_nothing_if_only_search_settings_change(self, specs, indexed):
        specs("title: Other words\nsearch: {rrf_k: 3}\n")

        estimate = estimate_build("plain")

        assert estimate.is_free
        assert estimate.kinds == {}
        assert estimate.changes == []
        assert estimate.search_settings == 1
        assert "search.rrf_k: 60 -> 3" in estimate.search_changes

    def test_distinguishes_search_settings_from_recipe_changes(self, specs, indexed):
        specs("chunks: {context: []}\nsearch: {rrf_k: 3}\nconcepts: false\n")

        estimate = estimate_build("plain")

        assert estimate.changes == ["chunks.context: [title, heading, table] -> []"]
        assert "search.rrf_k: 60 -> 3" in estimate.search_changes

    def test_omits_search_settings_already_in_use(self, specs, indexed):
        specs("chunks: {context: []}\nsearch: {rrf_k: 3}\n")
        apply_spec("plain")

        assert estimate_build("plain").search_changes == []

    def test_keeps_nodes_with_the_same_text_and_model(self, specs, indexed):
        specs("sparse: {language: none}\n")

        chunk = estimate_build("plain").kinds["chunk"]

        assert chunk.kept == Node.objects.filter(build=indexed).count()
        assert (chunk.texts, chunk.tokens, chunk.removed) == (0, 0, 0)

    def test_distinguishes_reembedded_from_rebuilt_nodes(self, specs, indexed):
        specs("chunks: {context: []}\n")
        reembedded = estimate_build("plain").kinds["chunk"]
        specs("chunks: {strategies: [{name: sentence, max_chars: 60}]}\n")
        rebuilt = estimate_build("plain").kinds["chunk"]

        nodes = Node.objects.filter(build=indexed)
        assert (reembedded.reembedded, reembedded.rebuilt) == (nodes.count(), 0)
        assert rebuilt.kept == 1  # the shorter document is one chunk in both builds
        assert rebuilt.rebuilt > 1
        assert rebuilt.removed == nodes.count() - 1

    def test_keeps_nodes_whose_context_gets_another_weight(self, specs, indexed, embedder):
        sync(indexed, give("\n\n".join(f"{n} herons eat." for n in range(800)), title="Birds"))
        specs("chunks: {context_weight: 0.2}\n")
        estimate = estimate_build("plain").kinds["chunk"]

        begun = apply_spec("plain")
        sync(begun, *Artifact.objects.all())

        begun.refresh_from_db()
        assert (begun.copied_count, begun.embedded_count) == (estimate.kept, estimate.texts)
        assert estimate.texts == 0

    def test_names_the_build_in_progress_of_the_same_spec(self, specs, indexed):
        specs("chunks: {context: []}\n")
        assert estimate_build("plain").open_build is None

        begun = apply_spec("plain")

        assert estimate_build("plain").open_build == begun.number
        specs("sparse: {language: none}\n")
        assert estimate_build("plain").open_build is None

    def test_equals_the_work_that_is_done_afterwards(self, specs, indexed, embedder):
        specs("chunks: {strategies: [{name: sentence, max_chars: 60}]}\n")
        estimate = estimate_build("plain").kinds["chunk"]
        embedder.embedded.clear()

        begun = apply_spec("plain")
        sync(begun, *Artifact.objects.all())

        begun.refresh_from_db()
        assert len(embedder.embedded) == estimate.texts == begun.embedded_count
        assert begun.copied_count == estimate.kept
        assert begun.embedded_tokens == estimate.tokens

    def test_counts_nodes_of_removed_kinds(self, specs, indexed):
        specs("chunks: {embed: false}\npage_summaries: true\n")

        kinds = estimate_build("plain").kinds

        assert kinds["chunk"].removed == Node.objects.filter(build=indexed).count()
        assert kinds["page_summary"].rebuilt == 2

    def test_extrapolates_from_a_sample(self, specs, indexed, monkeypatch):
        monkeypatch.setattr("indexing.estimates.SAMPLE_SIZE", 1)
        specs("chunks: {context: []}\n")

        estimate = estimate_build("plain")
        exact = estimate_build("plain", is_exact=True)

        assert (estimate.is_estimate, estimate.sampled_count) == (True, 1)
        assert (exact.is_estimate, exact.sampled_count) == (False, 2)
        assert exact.kinds["chunk"].texts == Node.objects.filter(build=indexed).count()

    def test_measures_a_model_without_stored_throughput(self, specs, indexed, monkeypatch):
        other = HashingEmbedder(IndexSpec(name="other").embedding)
        monkeypatch.setattr(embedding, "get_embedder", lambda spec: other)
        Throughput.objects.all().delete()
        specs("embedding: {document_prefix: 'search: '}\n")

        estimate = estimate_build("plain")

        assert estimate.embedding_minutes is not None
        assert Throughput.objects.get().count > 0

    def test_does_not_measure_a_provider_that_charges(self, specs, indexed):
        specs("embedding: {provider: openai, model: large}\n")

        assert estimate_build("plain").embedding_minutes is None

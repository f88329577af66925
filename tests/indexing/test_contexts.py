from types import SimpleNamespace

import numpy as np
import pytest

from indexing.contexts import embed_in_context
from indexing.embedding import get_embedder
from indexing.models import IndexBuild, Node
from indexing.services import load_specs
from indexing.spec import EmbeddingSpec
from tests.factories import give, sync

PARAGRAPH = "Herons stand in the shallows and wait for fish. " * 12 + "\n\n"


def text_in_context(text, context="", weight=None):
    return SimpleNamespace(text=text, context=context, context_weight=weight)


@pytest.fixture(scope="module")
def model():
    return get_embedder(EmbeddingSpec())


class TestEmbedInContext:
    def test_adds_the_weighted_vector_of_each_line(self, model):
        text, title, heading = model.embed_documents(["sleep", "norway", "ferry"])

        texts = [text_in_context("sleep", "norway\nferry", 0.5), text_in_context("sleep", "", 0.5)]
        found, without = embed_in_context(model, texts)

        expected = text + 0.5 * title + 0.5 * heading
        assert found == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)
        assert without == pytest.approx(text, abs=1e-5)

    def test_embeds_the_context_with_the_text_where_it_has_no_weight(self, model):
        [expected] = model.embed_documents(["norway\nferry\nsleep"])

        texts = [text_in_context("sleep", "norway\nferry"), text_in_context("a", "b", 0.5)]
        found, _ = embed_in_context(model, texts)

        assert found == pytest.approx(expected, abs=1e-5)


class TestContextWeight:
    def test_is_that_of_the_spec_in_a_long_document(self, build):
        sync(build, give(f"# Herons\n\n{PARAGRAPH * 20}# Gulls\n\n{PARAGRAPH * 20}", title="Birds"))

        found = set(Node.objects.values_list("details__context_weight", "context"))
        assert found == {(0.4, "Birds\nHerons"), (0.4, "Birds\nGulls")}

    def test_is_none_in_a_short_document(self, build):
        sync(build, give(f"# Herons\n\n{PARAGRAPH * 10}", title="Birds"))

        found = {(node.context_weight, node.context) for node in Node.objects.all()}
        assert found == {(None, "Birds\nHerons")}

    def test_is_none_if_the_spec_says_so(self, specs, build):
        specs("chunks: {context_weight: null}\n")
        load_specs()

        sync(IndexBuild.objects.live().get(), give(PARAGRAPH * 40, title="Birds"))

        assert {(node.context_weight, node.context) for node in Node.objects.all()} == {
            (None, "Birds")
        }

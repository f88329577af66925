from types import SimpleNamespace

import numpy as np
import pytest

from indexing.contexts import embed_in_context, replace_contexts
from indexing.embedding import get_embedder
from indexing.lifecycle import apply_spec
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

    def test_embeds_a_line_once_in_several_calls(self, embedder, monkeypatch):
        embedded = []
        embed_documents = embedder.embed_documents

        def record(texts):
            embedded.extend(texts)
            return embed_documents(texts)

        monkeypatch.setattr(embedder, "embed_documents", record)
        first, second = (text_in_context(text, "Birds", 0.5) for text in ("Herons.", "Gulls."))

        known = {}
        parts = [embed_in_context(embedder, [each], known)[0] for each in (first, second)]

        assert sorted(embedded) == ["Birds", "Gulls.", "Herons."]
        assert np.stack(parts) == pytest.approx(embed_in_context(embedder, [first, second]))


class TestReplaceContexts:
    def test_gives_the_vectors_of_the_new_contexts(self, model):
        texts = ["Grey herons eat fish.", "The ferry leaves at six."]
        old = [text_in_context(text, "Birds\nThe heron", 0.4) for text in texts]
        new = [text_in_context(texts[0], "Fish", 0.7), text_in_context(texts[1], "A\nB\nC", 0.1)]

        found = replace_contexts(model, embed_in_context(model, old), old, new)

        assert np.stack(found) == pytest.approx(embed_in_context(model, new), abs=1e-6)

    def test_embeds_only_the_lines(self, embedder):
        old, new = text_in_context("", "Birds", 0.4), text_in_context("", "Waders", 0.4)
        [vector] = embedder.embed_documents(["a"])
        embedder.embedded.clear()

        replace_contexts(embedder, vector[None], [old], [new])

        assert embedder.embedded == ["Birds", "Waders"]

    def test_finds_none_where_the_old_context_outweighs_the_text(self, model):
        old, new = text_in_context("sleep", "norway", 1.0), text_in_context("sleep", "fjord", 0.4)

        assert replace_contexts(model, embed_in_context(model, [old]), [old], [new]) == [None]


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


class TestTableContext:
    def test_is_the_header_of_the_table_that_a_chunk_continues(self, build):
        rows = "".join(f"| Heron {n} | {n} pairs |\n" for n in range(40))
        sync(build, give(f"# Counts\n| Bird | Pairs |\n| --- | --- |\n{rows}", title="Oslo"))

        first, *others = Node.objects.order_by("start_offset").values_list("context", flat=True)
        assert first == "Oslo\nCounts"
        assert set(others) == {"Oslo\nCounts\nCounts Bird Pairs"}

    def test_is_found_in_an_earlier_source_of_the_page(self, build):
        rows = "".join(f"| Heron {n} | {n} pairs |\n" for n in range(2_000))
        sync(build, give(f"| Bird | Pairs |\n| --- | --- |\n{rows}", title="Oslo"))

        nodes = Node.objects.filter(source__ordinal__gt=0)
        assert nodes.values("source").distinct().count() > 1
        assert set(nodes.values_list("context", flat=True)) == {"Oslo\nBird Pairs"}

    def test_is_left_out_where_the_chunk_would_not_fit_the_window(self, specs, build):
        specs("embedding: {window: 32}\n")
        load_specs()
        begun = apply_spec("plain")
        header = "| " + " | ".join(f"Column {n}" for n in range(12)) + " |\n| --- |\n"

        sync(begun, give(header + f"| {'bird ' * 22}|\n" * 20, title="Oslo"))

        nodes = begun.nodes.order_by("start_offset")
        assert {node.context for node in nodes} == {"Oslo"}
        assert max(node.token_count for node in nodes) <= 32

    def test_is_left_out_if_the_spec_does_not_name_it(self, specs, build):
        specs("chunks: {context: [title]}\n")
        load_specs()
        begun = apply_spec("plain")

        sync(begun, give("| Bird |\n| --- |\n" + "| Heron or gull |\n" * 60, title="Oslo"))

        assert {node.context for node in begun.nodes.all()} == {"Oslo"}

"""Learned sparse models. Their weights are downloads: fastembed's code loads a small model of the
same format, which gives a weight of 2 to the meaning of each word that it knows."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import fastembed
import numpy as np
import pytest
from onnx import TensorProto, helper

from access.grants import Grant
from config import diagnostics
from config.preloading import preload_models_and_store
from indexing.drafting import hash_vector_inputs
from indexing.embedding import describe_sparse_model_availability, sparse_model
from indexing.exceptions import InvalidSpec, ModelUnavailable
from indexing.models import IndexBuild, Node
from indexing.services import load_specs, plan_nodes, sync_nodes
from indexing.spec import IndexSpec, SparseSpec, dump_recipe, parse_spec
from indexing.spec.sections import SPARSE_MODELS
from indexing.spec.stored import read_stored_spec
from indexing.verification import find_release_differences
from retrieval.search import Mode
from tests.clients import client_with_key
from tests.clip import write_json, write_model, write_tokenizer
from tests.factories import give, sync
from tests.granting import client_of, grant_by_header
from tests.retrieval.search.asking import SearchRequest, search_chunks

SPLADE, BM42 = SPARSE_MODELS[:2]
MEANINGS = {"automobile": "car", "cars": "car"}
WORDS = ["[PAD]", "[UNK]", "car", *MEANINGS, "heron", "rain", "stands", "water"]
TEXTS = ["The automobile stands in the rain.", "The heron stands in the water."]

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in the format of SPLADE: its output is a number for each token and known word."""
    folder = tmp_path_factory.mktemp("splade")
    table = np.zeros((len(WORDS), len(WORDS)), np.float32)
    for number, word in enumerate(WORDS[2:], start=2):
        table[number, WORDS.index(MEANINGS.get(word, word))] = np.expm1(2.0)
    shape: list[str | int] = ["texts", "tokens"]
    write_model(
        folder,
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape),
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape, len(WORDS)]),
        table=table,
    )
    write_tokenizer(folder, WORDS)
    write_json(folder / "config.json", {"pad_token_id": 0})
    write_json(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    return folder


@pytest.fixture(autouse=True)
def loaders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_model, "_loaders", {})


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    splade = partial(fastembed.SparseTextEmbedding, SPLADE, specific_model_path=str(folder))
    monkeypatch.setattr(fastembed, "SparseTextEmbedding", lambda name, **given: splade(**given))


@pytest.fixture
def make_index(settings, tmp_path, store, embedder, stand_in):
    settings.STRATA_SPECS_DIR = tmp_path / "specs"
    settings.STRATA_SPECS_DIR.mkdir()

    def make(name: str, spec: str) -> IndexBuild:
        (settings.STRATA_SPECS_DIR / f"{name}.yaml").write_text(spec)
        load_specs()
        return IndexBuild.objects.live().get(index=name)

    return make


@pytest.fixture
def learned(make_index) -> IndexBuild:
    """An index of two documents."""
    build = make_index("learned", f"sparse: {{model: {SPLADE}}}\n")
    sync(build, *(give(text, index="learned", title=f"Note {n}") for n, text in enumerate(TEXTS)))
    return build


def ask(query: str, mode: Mode = Mode.SPARSE, *indexes: str, **given: Any) -> Any:
    request = SearchRequest(indexes=indexes or ["learned"], query=query, mode=mode, **given)
    return search_chunks(request)


class TestSpec:
    def test_takes_the_models_that_fastembed_has(self):
        known = {
            each["model"]: each for each in fastembed.SparseTextEmbedding.list_supported_models()
        }
        misspelt, counted = "prithvida/Splade_PP_en_v1", "Qdrant/bm25"

        assert known.keys() - {misspelt, counted} == set(SPARSE_MODELS)
        for name in SPARSE_MODELS:
            assert SparseSpec(model=name).has_idf == bool(known[name]["requires_idf"])

    def test_refuses_others_with_the_names_of_these(self):
        with pytest.raises(InvalidSpec, match=r"sparse\.model: .*'acme/none'.*Splade_PP_en_v1"):
            parse_spec("any", "sparse: {model: acme/none}")

    @pytest.mark.parametrize("setting", ["k", "b", "average_length"])
    def test_refuses_settings_of_bm25_beside_a_model(self, setting):
        with pytest.raises(InvalidSpec, match=f"{setting} is a setting of BM25"):
            parse_spec("any", f"sparse: {{model: {SPLADE}, {setting}: 1}}")

    def test_is_stored_with_the_build(self):
        spec = parse_spec("any", f"sparse: {{model: {SPLADE}, language: german}}")

        assert read_stored_spec(json.dumps(dump_recipe(spec)), None).sparse == spec.sparse

    def test_belongs_to_the_recipe_only_where_it_is_given(self):
        plain, learned = IndexSpec(name="any"), parse_spec("any", f"sparse: {{model: {SPLADE}}}")

        assert "model" not in plain.recipe["sparse"]
        assert learned.fingerprint != plain.fingerprint


class TestSearch:
    def test_finds_what_other_words_say(self, learned):
        [hit] = ask("cars").hits

        assert TEXTS[0] in hit.payload["text"]

    def test_scores_by_the_dot_product_of_the_weights(self, learned):
        answer = ask("automobile rain")

        assert [hit.score for hit in answer.hits] == [pytest.approx(2 * 2.0 * 2.0)]
        assert answer.score_kind == "dot_product"

    def test_fuses_with_the_dense_ranking(self, learned):
        answer = ask("cars", Mode.HYBRID, explain=True)

        assert answer.score_kind == "rrf"
        assert TEXTS[0] in answer.hits[0].payload["text"]
        [found] = [hit for hit in answer.hits if hit.explanation.sparse]
        assert found.explanation.sparse.rank == 1

    def test_is_limited_by_groups(self, learned, monkeypatch):
        grant_by_header(monkeypatch, {"board": Grant(groups=frozenset({"board"}))})
        sync(learned, give("A car of the staff.", index="learned", groups=["staff"]))
        path = "/api/v1/search/pages?index=learned&q=cars&mode=sparse"

        found = {name: client_of(name).get(path).json()["hits"] for name in ("board", "all")}

        assert {name: len(hits) for name, hits in found.items()} == {"board": 1, "all": 2}
        assert {hit["score_kind"] for hit in found["all"]} == {"dot_product"}

    def test_compares_no_scores_with_those_of_bm25(self, learned, make_index):
        counted = make_index("counted", "")
        sync(counted, give("Cars rust. " * 3, index="counted"))

        answer = ask("cars", Mode.SPARSE, "learned", "counted")

        assert answer.score_kind == "rrf"
        assert len(answer.hits) == 2
        assert len({hit.score for hit in answer.hits}) == 1

    def test_uses_the_idf_that_some_models_need(self, make_index):
        build = make_index("learned", f"sparse: {{model: {BM42}}}\n")
        sync(build, *(give(text, index="learned") for text in TEXTS))

        rare, common = (ask(word).hits[0].score for word in ("automobile", "stands"))

        assert rare > common

    def test_answers_are_judged_by_the_words_of_passages(self, learned):
        answer = client_with_key().post(
            "/api/v1/search/pages",
            {"index": "learned", "query": "automobile in the rain"},
            format="json",
        )

        assert answer.status_code == 200
        assert answer.json()["relevant"] is not False

    def test_another_release_gives_the_same_vectors(self, learned):
        assert find_release_differences(learned) == []


class TestIndexing:
    def test_another_model_makes_other_vectors(self, learned):
        other = parse_spec("learned", f"sparse: {{model: {BM42}}}")

        for node in Node.objects.filter(build=learned):
            assert hash_vector_inputs(node, learned.spec) == node.input_hash
            assert hash_vector_inputs(node, other) != node.input_hash

    def test_waits_without_a_network_and_says_what_to_do(self, learned, embedder, monkeypatch):
        def fail(*args: Any, **kwargs: Any) -> None:
            raise ValueError("Could not load model from any source.")

        monkeypatch.setattr(sparse_model, "_loaders", {})
        monkeypatch.setattr(fastembed, "SparseTextEmbedding", fail)
        plan_nodes(give("Another one.", index="learned").pk, learned)
        embedder.embedded.clear()
        with pytest.raises(ModelUnavailable, match="could not be fetched"):
            sync_nodes(learned)
        response = client_with_key().get("/api/v1/search/pages?index=learned&q=cars")

        assert response.status_code == 503
        assert SPLADE in response.json()["detail"]
        assert "huggingface.co" in response.json()["fix"]
        assert not any("Another" in text for text in embedder.embedded)

    def test_is_loaded_in_advance(self, learned):
        preload_models_and_store()

        assert SPLADE in sparse_model._loaders


class TestDoctor:
    def test_says_whether_the_files_are_there(self, settings, tmp_path, monkeypatch):
        settings.STRATA_MODELS_DIR = tmp_path
        monkeypatch.setattr(
            diagnostics,
            "get_specs",
            lambda: {"any": parse_spec("any", f"sparse: {{model: {SPLADE}}}")},
        )

        [*_, result] = diagnostics.check_models()

        assert result.is_ok
        assert result.detail.startswith(f"{SPLADE} (sparse): not under {tmp_path}")
        assert describe_sparse_model_availability(SPLADE).startswith("not under")

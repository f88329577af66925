import asyncio
import base64
import importlib.util
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from core.import_lock import import_lock
from indexing.embedding import embedder as embedder_module
from indexing.embedding import get_embedder, load_models, onnx_loading
from indexing.exceptions import (
    EmbeddingMismatch,
    EmbeddingUnavailable,
    InvalidSpec,
    ModelUnavailable,
)
from indexing.spec import EmbeddingSpec

WORDS = [
    "tendon",
    "load",
    "sleep",
    "norway",
    "ferry",
    "storm",
    "protein",
    "kinase",
    "café",
    "東京",
    "bone",
]


def texts_of_many_lengths(count):
    """Long and short texts alternate, so that sorting changes their order."""
    return [
        " ".join(WORDS[(row + word) % len(WORDS)] for word in range(1 + (row * 37) % 90))
        for row in range(count)
    ]


@pytest.fixture(scope="module")
def embedder():
    return get_embedder(EmbeddingSpec())


class TestImport:
    def test_loads_neither_llama_index_nor_a_runtime(self):
        script = (
            "import sys, indexing.embedding, indexing.embedding.minilm\n"
            "heavy = {'llama_index', 'fastembed', 'onnx', 'onnxruntime', 'tokenizers', 'torch',"
            " 'httpx'}\n"
            "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
        )

        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

        assert (run.returncode, run.stderr) == (0, "")


class TestGetEmbedder:
    def test_returns_one_embedder_per_spec(self):
        assert get_embedder(EmbeddingSpec()) is get_embedder(EmbeddingSpec())

    def test_loads_one_model_for_specs_that_differ_in_prefixes(self, embedder):
        prefixed = get_embedder(EmbeddingSpec(query_prefix="query: "))

        assert prefixed is not embedder
        assert prefixed._model is embedder._model

    def test_loads_once_for_simultaneous_threads(self, monkeypatch):
        loads = []
        both_asked = threading.Barrier(2)
        monkeypatch.setattr(embedder_module, "_embedders", {})
        monkeypatch.setattr(embedder_module, "_loaders", {})
        monkeypatch.setattr(embedder_module, "_load_model", lambda spec: loads.append(spec))

        def ask():
            both_asked.wait(timeout=10)
            return get_embedder(EmbeddingSpec())

        with ThreadPoolExecutor(2) as pool:
            first, second = [asked.result() for asked in [pool.submit(ask), pool.submit(ask)]]

        assert first is second
        assert len(loads) == 1

    def test_returns_a_loaded_model_while_another_is_fetched(self, embedder, monkeypatch):
        is_fetching, may_end = threading.Event(), threading.Event()
        monkeypatch.setattr(embedder_module, "_embedders", {})
        monkeypatch.setattr(embedder_module, "_loaders", {})

        def load(spec):
            if spec.model == "acme/unreachable":
                is_fetching.set()
                may_end.wait()
            return embedder._model

        monkeypatch.setattr(embedder_module, "_load_model", load)
        answers = []
        fetching = threading.Thread(
            target=get_embedder, args=[EmbeddingSpec(model="acme/unreachable")], daemon=True
        )
        fetching.start()
        assert is_fetching.wait(30)
        asking = threading.Thread(
            target=lambda: answers.append(get_embedder(EmbeddingSpec())), daemon=True
        )

        asking.start()

        asking.join(10)
        meanwhile = list(answers)
        may_end.set()
        fetching.join(30)
        asking.join(30)
        assert len(meanwhile) == 1

    def test_does_not_hold_the_import_lock_while_it_fetches(self, monkeypatch):
        monkeypatch.setattr(embedder_module, "_embedders", {})
        monkeypatch.setattr(embedder_module, "_loaders", {})
        is_free = []

        def try_to_import():
            is_free.append(import_lock.acquire(blocking=False))
            if is_free == [True]:
                import_lock.release()

        def fetch(spec):
            other = threading.Thread(target=try_to_import)
            other.start()
            other.join()

        monkeypatch.setattr(onnx_loading, "load_onnx", fetch)

        get_embedder(EmbeddingSpec())

        assert is_free == [True]

    def test_lists_known_models_for_an_unknown_one(self):
        with pytest.raises(ModelUnavailable, match="no-such-model") as caught:
            get_embedder(EmbeddingSpec(model="acme/no-such-model"))

        assert "all-MiniLM-L6-v2" in caught.value.allowed

    def test_explains_what_to_do_without_a_network(self, monkeypatch):
        from fastembed import TextEmbedding

        def fail(self, *args, **kwargs):
            raise ValueError("Could not load model from any source.")

        monkeypatch.setattr(TextEmbedding, "__init__", fail)

        with pytest.raises(ModelUnavailable, match="could not be fetched") as caught:
            get_embedder(EmbeddingSpec(model="BAAI/bge-small-en-v1.5"))

        assert "huggingface.co" in caught.value.fix

    def test_refuses_a_window_wider_than_the_models(self):
        with pytest.raises(InvalidSpec, match="256 tokens"):
            get_embedder(EmbeddingSpec(window=257))

    def test_refuses_a_precision_that_the_model_does_not_have(self):
        with pytest.raises(InvalidSpec, match="precision"):
            get_embedder(EmbeddingSpec(model="BAAI/bge-small-en-v1.5", precision="int8"))


class TestLoadModels:
    def test_loads_in_parallel_and_returns_errors(self, embedder, monkeypatch):
        may_end = threading.Event()
        monkeypatch.setattr(embedder_module, "_embedders", {})
        monkeypatch.setattr(embedder_module, "_loaders", {})

        def load(spec):
            if spec.model == "acme/unreachable":
                may_end.wait()
            return embedder._model

        monkeypatch.setattr(embedder_module, "_load_model", load)

        errors = load_models([EmbeddingSpec(model="acme/unreachable"), EmbeddingSpec()], 0.1)

        may_end.set()
        assert ["acme/unreachable" in str(error) for error in errors] == [True]
        assert get_embedder(EmbeddingSpec())._model is embedder._model


class TestEmbedDocuments:
    def test_keeps_the_order_and_equals_single_embedding(self, embedder):
        texts = texts_of_many_lengths(40)

        together = embedder.embed_documents(texts)

        alone = np.stack([embedder.embed_documents([text])[0] for text in texts])
        np.testing.assert_allclose(together, alone, atol=1e-5)
        assert together.dtype == np.float32

    def test_returns_unit_vectors(self, embedder):
        lengths = np.linalg.norm(embedder.embed_documents(["one", "", "two three"]), axis=1)

        np.testing.assert_allclose(lengths, 1, atol=1e-5)

    def test_returns_no_vectors_for_no_texts(self, embedder):
        assert embedder.embed_documents([]).shape == (0, 384)

    def test_puts_the_document_prefix_in_front(self, embedder):
        prefixed = get_embedder(EmbeddingSpec(document_prefix="search_document: "))

        vector = prefixed.embed_documents(["bone density"])[0]

        expected = embedder.embed_documents(["search_document: bone density"])[0]
        np.testing.assert_allclose(vector, expected, atol=1e-6)

    def test_reads_at_most_256_tokens(self, embedder):
        head = "bone " * 200
        window = head + "storm " * 54
        texts = [head, window, window + "ferry " * 50]
        assert embedder.count_tokens(texts) == [202, 256, 306]

        vectors = embedder.embed_documents(texts)

        assert vectors[1] @ vectors[0] < 0.999  # tokens from 200 to 256 change the vector
        np.testing.assert_allclose(vectors[2], vectors[1], atol=1e-5)

    def test_reads_at_most_a_narrower_window(self):
        narrow = get_embedder(EmbeddingSpec(window=16))

        vectors = narrow.embed_documents(["bone " * 14, "bone " * 14 + "storm"])

        np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)

    def test_refuses_vectors_of_another_size(self):
        with pytest.raises(EmbeddingMismatch, match="384"):
            get_embedder(EmbeddingSpec(dimension=768)).embed_documents(["text"])

    def test_raises_errors_of_the_runtime(self, embedder):
        with pytest.raises((TypeError, ValueError)):
            embedder.embed_documents(["a lone surrogate: \ud800"])

    def test_serves_two_threads_at_once(self, embedder):
        halves = texts_of_many_lengths(24)[:12], texts_of_many_lengths(24)[12:]
        expected = [embedder.embed_documents(half) for half in halves]

        with ThreadPoolExecutor(2) as pool:
            got = list(pool.map(embedder.embed_documents, halves * 2))

        for vectors, reference in zip(got, expected * 2, strict=True):
            np.testing.assert_allclose(vectors, reference, atol=1e-5)


class TestBatches:
    def test_contain_texts_of_similar_length_within_the_budget(self, embedder):
        texts = texts_of_many_lengths(200)
        lengths = embedder.count_tokens(texts)

        batches = list(embedder._split_into_batches(texts))

        assert sorted(row for rows in batches for row in rows) == list(range(200))
        assert all(
            max(lengths[row] for row in rows) * len(rows) <= embedder._model.batch_tokens
            for rows in batches
        )
        spans = [(lengths[rows[0]], lengths[rows[-1]]) for rows in batches]
        assert spans == sorted(spans)


class TestEmbedQuery:
    def test_puts_the_query_prefix_in_front(self, embedder):
        prefixed = get_embedder(EmbeddingSpec(query_prefix="search_query: "))

        vector = prefixed.embed_query("ferry")

        np.testing.assert_allclose(vector, embedder.embed_query("search_query: ferry"), atol=1e-6)

    def test_equals_embedding_many_queries_at_once(self, embedder):
        together = embedder.embed_queries(["ferry", "kinase inhibitor"])

        np.testing.assert_allclose(together[1], embedder.embed_query("kinase inhibitor"), atol=1e-5)

    def test_is_nearest_to_the_text_with_the_same_meaning(self, embedder):
        documents = embedder.embed_documents(
            ["Ships stayed in port because of the gale.", "The enzyme phosphorylates serine."]
        )

        scores = documents @ embedder.embed_query("storm cancels ferries")

        assert scores[0] > scores[1] + 0.2

    def test_refuses_a_vector_of_another_size(self):
        with pytest.raises(EmbeddingMismatch):
            get_embedder(EmbeddingSpec(dimension=768)).embed_query("text")

    def test_does_not_block_the_event_loop(self, embedder):
        async def embed_while_ticking():
            embedding = asyncio.create_task(embedder.aembed_documents(texts_of_many_lengths(40)))
            ticks = 0
            while not embedding.done():
                await asyncio.sleep(0.005)
                ticks += 1
            return ticks, await embedder.aembed_query("ferry")

        ticks, vector = asyncio.run(embed_while_ticking())

        assert ticks > 5
        np.testing.assert_allclose(vector, embedder.embed_query("ferry"), atol=1e-5)


class TestCountTokens:
    def test_counts_special_tokens_and_does_not_truncate(self, embedder):
        assert embedder.count_tokens(["", "bone", "bone " * 300]) == [2, 3, 302]

    def test_counts_the_document_prefix(self):
        prefixed = get_embedder(EmbeddingSpec(document_prefix="passage: "))

        assert prefixed.count_tokens(["bone"]) == [5]

    def test_works_while_another_thread_embeds(self, embedder):
        with ThreadPoolExecutor(2) as pool:
            embedding = pool.submit(embedder.embed_documents, texts_of_many_lengths(30))
            counts = [pool.submit(embedder.count_tokens, ["bone " * 300]) for _ in range(20)]
            embedding.result()

        assert {count.result()[0] for count in counts} == {302}


class TestLlamaIndex:
    def test_returns_the_vectors_of_the_embedder(self, embedder):
        np.testing.assert_allclose(
            embedder.llama_index.get_text_embedding("bone"),
            embedder.embed_documents(["bone"])[0],
            atol=1e-5,
        )

    def test_adds_the_prefixes_of_the_spec(self):
        prefixed = get_embedder(EmbeddingSpec(document_prefix="passage: ", query_prefix="query: "))

        through = prefixed.llama_index

        texts = ["bone", "ferry"]
        np.testing.assert_allclose(
            through.get_text_embedding_batch(texts), prefixed.embed_documents(texts), atol=1e-5
        )
        np.testing.assert_allclose(
            asyncio.run(through.aget_query_embedding("bone")),
            prefixed.embed_query("bone"),
            atol=1e-5,
        )


class StubProvider(ThreadingHTTPServer):
    """Answers as OpenAI does: a text's vector is its length and its place in the batch."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), StubHandler)
        self.requests = []
        self.status = 200
        self.refused = None  # a text answered with 400
        self.max_texts = None  # of a request; more are answered with 413
        self.headers = {}
        self.body = None  # sent instead of a proper answer

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class StubHandler(BaseHTTPRequestHandler):
    server: StubProvider

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], body))
        status = 400 if self.server.refused in body["input"] else self.server.status
        if self.server.max_texts and len(body["input"]) > self.server.max_texts:
            status = 413
        data = [
            {"index": place, "embedding": [float(len(text)), float(place), 1.0]}
            for place, text in enumerate(body["input"])
        ]
        if body.get("encoding_format") == "base64":
            for row in data:
                row["embedding"] = base64.b64encode(np.array(row["embedding"], "<f4")).decode()
        answer = {"data": data[::-1]} if status == 200 else {"error": {"message": "no such luck"}}
        content = self.server.body or json.dumps(answer).encode()
        self.send_response(status)
        for header in self.server.headers.items():
            self.send_header(*header)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):
        pass


@contextmanager
def serving_stub():
    with StubProvider() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class TestOpenAI:
    @pytest.fixture
    def provider(self, settings, monkeypatch):
        monkeypatch.setattr(embedder_module, "_embedders", {})
        monkeypatch.setattr(embedder_module, "_loaders", {})
        with serving_stub() as server:
            settings.STRATA_OPENAI_BASE_URL = server.url
            settings.STRATA_OPENAI_API_KEY = "sk-test"
            yield server

    @pytest.fixture
    def embedder(self, provider):
        embedder = get_embedder(
            EmbeddingSpec(provider="openai", model="acme-embed", dimension=3, window=8_191)
        )
        yield embedder
        embedder._model.client.close()

    def test_keeps_the_order_across_batches(self, embedder, provider):
        texts = ["word " * (1 + (row * 7) % 50) for row in range(300)]

        vectors = embedder.embed_documents(texts)

        assert vectors[:, 0].tolist() == [len(text) for text in texts]
        assert len(provider.requests) == 3  # of 128 at most

    def test_sends_the_key_the_model_and_the_unchanged_text(self, embedder, provider):
        embedder.embed_query("two\nlines")

        path, authorization, body = provider.requests[0]
        assert (path, authorization) == ("/v1/embeddings", "Bearer sk-test")
        assert body == {"model": "acme-embed", "input": ["two\nlines"], "encoding_format": "float"}

    def test_requests_the_dimension_of_the_spec_from_models_that_support_it(self, provider):
        sized = get_embedder(
            EmbeddingSpec(provider="openai", model="text-embedding-3-small", dimension=3)
        )

        sized.embed_query("text")

        sized._model.client.close()
        assert provider.requests[0][2]["dimensions"] == 3

    @pytest.mark.parametrize("status", [408, 429, 500, 503])
    def test_raises_a_retryable_error_if_the_provider_is_overloaded(
        self, embedder, provider, status
    ):
        provider.status = status

        with pytest.raises(EmbeddingUnavailable, match=str(status)) as caught:
            embedder.embed_documents(["text"])

        assert caught.value.is_retryable

    def test_raises_a_retryable_error_if_the_provider_does_not_answer(self, embedder, provider):
        provider.server_close()
        provider.shutdown()

        with pytest.raises(EmbeddingUnavailable, match="did not answer"):
            embedder.embed_documents(["text"])

    def test_recommends_smaller_batches_if_the_provider_is_too_slow(self, embedder, monkeypatch):
        def time_out(*args, **kwargs):
            raise httpx.ReadTimeout("slow")

        monkeypatch.setattr(embedder._model.client, "post", time_out)

        with pytest.raises(EmbeddingUnavailable) as caught:
            embedder.embed_documents(["one", "two"])

        assert caught.value.fix == "If it is slow, lower embedding.batch_texts."

    @pytest.mark.parametrize("body", [b"<html>", b'{"data": []}', b'{"data": [{"index": 0}]}'])
    def test_raises_a_retryable_error_for_a_malformed_answer(self, embedder, provider, body):
        provider.body = body

        with pytest.raises(EmbeddingUnavailable):
            embedder.embed_documents(["text"])

    @pytest.mark.parametrize("status", [400, 401, 404, 422])
    def test_names_the_settings_when_every_text_is_refused(self, embedder, provider, status):
        provider.status = status

        with pytest.raises(ModelUnavailable, match="no such luck") as caught:
            embedder.embed_documents(["text"])

        assert "STRATA_OPENAI_API_KEY" in caught.value.fix

    def test_rejects_the_text_when_only_that_is_refused(self, embedder, provider):
        provider.refused = "poison"

        with pytest.raises(ValueError, match="refuses the text"):
            embedder.embed_documents(["poison"])

    def test_refuses_vectors_of_another_size(self, provider):
        wrong = get_embedder(EmbeddingSpec(provider="openai", model="acme-embed", dimension=4))

        with pytest.raises(EmbeddingMismatch, match="3 dimensions"):
            wrong.embed_documents(["text"])

        wrong._model.client.close()

    def test_two_endpoints_have_their_own_addresses_keys_and_parameters(self, monkeypatch):
        monkeypatch.setattr(embedder_module, "_embedders", {})
        monkeypatch.setattr(embedder_module, "_loaders", {})
        monkeypatch.setenv("VOYAGE_API_KEY", "pa-voyage")
        with serving_stub() as voyage, serving_stub() as ollama:
            endpoints = [
                {
                    "base_url": voyage.url,
                    "api_key_variable": "VOYAGE_API_KEY",
                    "parameters": {"encoding_format": "base64", "output_dimension": 3},
                    "document_parameters": {"input_type": "document"},
                    "query_parameters": {"input_type": "query"},
                },
                {"base_url": ollama.url, "parameters": {"encoding_format": None}},
            ]
            vectors = []
            for endpoint in endpoints:
                embedder = get_embedder(
                    EmbeddingSpec(provider="openai", model="m", dimension=3, endpoint=endpoint)
                )
                vectors.append(embedder.embed_documents(["stored"])[0].tolist())
                embedder.embed_queries(["asked"])
                embedder.embed_query("asked")
                embedder._model.client.close()

        assert vectors == [[6.0, 0.0, 1.0]] * 2
        of_voyage = {"model": "m", "encoding_format": "base64", "output_dimension": 3}
        document = ["Bearer pa-voyage", of_voyage | {"input_type": "document", "input": ["stored"]}]
        query = ["Bearer pa-voyage", of_voyage | {"input_type": "query", "input": ["asked"]}]
        assert [list(each[1:]) for each in voyage.requests] == [document, query, query]
        assert [list(each[1:]) for each in ollama.requests] == [
            [None, {"model": "m", "input": [text]}] for text in ("stored", "asked", "asked")
        ]

    def test_names_the_variable_of_a_missing_key(self, monkeypatch):
        monkeypatch.delenv("VOYAGE_API_KEY", raising=False)
        endpoint = {"base_url": "https://acme.example", "api_key_variable": "VOYAGE_API_KEY"}

        with pytest.raises(ModelUnavailable, match="VOYAGE_API_KEY"):
            get_embedder(EmbeddingSpec(provider="openai", model="acme", endpoint=endpoint))

    def test_halves_a_batch_that_is_too_large(self, embedder, provider):
        provider.max_texts = 32
        texts = ["x" * n for n in range(1, 101)]

        vectors = embedder.embed_documents(texts)

        assert vectors[:, 0].tolist() == list(range(1, 101))
        sizes = [len(each[2]["input"]) for each in provider.requests]
        assert sizes == [100, 50, 25, 25, 50, 25, 25]

    def test_a_query_does_not_wait_for_a_provider_that_has_just_failed(self, embedder, provider):
        provider.status = 503
        for _ in range(3):
            with pytest.raises(EmbeddingUnavailable, match="503"):
                embedder.embed_query("bone")

        assert len(provider.requests) == 1
        with pytest.raises(EmbeddingUnavailable):
            embedder.embed_documents(["bone"])
        assert len(provider.requests) == 2

    def test_passes_on_when_the_provider_may_be_asked_again(self, embedder, provider):
        provider.status, provider.headers = 429, {"Retry-After": "17"}

        with pytest.raises(EmbeddingUnavailable) as caught:
            embedder.embed_documents(["text"])

        assert caught.value.retry_after == 17

    def test_counts_tokens_by_the_tokenizer_that_the_spec_names(self, provider, tmp_path):
        words = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        words.pre_tokenizer = Whitespace()
        words.enable_truncation(2)
        words.save(str(tmp_path / "tokenizer.json"))
        thai = "ประเทศไทย"

        counts = {}
        for name in ("characters", str(tmp_path / "tokenizer.json"), "cl100k"):
            endpoint = {"base_url": provider.url, "tokenizer": name}
            spec = EmbeddingSpec(provider="openai", model="m", dimension=3, endpoint=endpoint)
            counts[name] = get_embedder(spec).count_tokens(["one two three", thai])
            get_embedder(spec)._model.client.close()

        characters, in_file, cl100k = counts.values()
        assert characters == [13, len(thai)]
        assert in_file[0] == 3
        assert cl100k[1] > len(thai)

    def test_counts_tokens_without_asking_the_provider(self, embedder, provider):
        assert embedder.count_tokens(["bone density", ""]) == [2, 0]
        assert provider.requests == []


class TestHuggingFace:
    def test_huggingface_names_the_commands_when_torch_is_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "llama_index.embeddings.huggingface", None)

        with pytest.raises(ModelUnavailable) as caught:
            get_embedder(EmbeddingSpec(provider="huggingface", window=255))

        assert caught.value.fix == "strata install huggingface"

    def test_huggingface_refuses_int8(self):
        with pytest.raises(InvalidSpec, match="float32"):
            get_embedder(EmbeddingSpec(provider="huggingface", precision="int8"))

    @pytest.mark.skipif(
        importlib.util.find_spec("torch") is None,
        reason="torch is an extra; .ci/extras installs it and runs this",
    )
    @pytest.mark.filterwarnings("default")  # torch's own warnings
    def test_huggingface_agrees_with_the_converted_model(self, embedder):
        torch_embedder = get_embedder(EmbeddingSpec(provider="huggingface"))
        texts = [*texts_of_many_lengths(12), "tendon " * 300]

        vectors = torch_embedder.embed_documents(texts)

        np.testing.assert_allclose(vectors, embedder.embed_documents(texts), atol=1e-4)
        np.testing.assert_allclose(
            torch_embedder.embed_query("bone"), embedder.embed_query("bone"), atol=1e-4
        )
        assert torch_embedder.count_tokens(texts) == embedder.count_tokens(texts)

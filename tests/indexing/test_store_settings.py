"""The section ``store`` of a spec: which settings a Qdrant server gets, when, and at what cost."""

import httpx
import pytest
from django.core.checks import run_checks
from django.core.management import call_command

from evaluation.promotion_gate import decide_promotion
from indexing import tasks
from indexing.estimates import estimate_build
from indexing.exceptions import InvalidSpec
from indexing.lifecycle import apply_spec, request_promotion
from indexing.models import Index, IndexBuild, Node
from indexing.services import load_specs
from indexing.spec import parse_spec
from indexing.stores import CollectionSchema
from indexing.stores.qdrant import QdrantStore
from tests.factories import PARAGRAPHS, give, sync
from tests.qdrant_loopback.process import qdrant_loopback

COLLECTION = "plain.page_embeddings.1"
EVERY_SETTING = """
store:
  shards: 3
  replicas: 2
  write_consistency: 2
  vectors_on_disk: true
  payload_on_disk: false
  quantization: int8
  hnsw: {m: 32, ef_construct: 200, ef: 256}
"""


@pytest.fixture(scope="module")
def server():
    with qdrant_loopback() as server:
        yield server


@pytest.fixture(autouse=True)
def on_qdrant(settings, server):
    settings.STRATA_VECTOR_STORE = "qdrant"
    settings.QDRANT_API_KEY, settings.QDRANT_TIMEOUT_SECONDS = "", 10
    yield
    server.set_status("green")


@pytest.fixture
def qdrant_url(server):
    return server.url


@pytest.fixture
def configured(server):
    """Read the server's configuration of a collection."""

    def read(name=COLLECTION):
        return httpx.get(f"{server.url}/collections/{name}").json()["result"]["config"]

    return read


def start(specs, text) -> IndexBuild:
    """A live build by this spec."""
    specs(text)
    load_specs()
    return IndexBuild.objects.live().get(index="plain")


class TestACollection:
    def test_is_created_with_the_settings(self, specs, configured):
        build = start(specs, EVERY_SETTING)
        sync(build, give())

        config = configured(f"plain.page_embeddings.{build.number}")

        assert (config["params"]["shard_number"], config["params"]["replication_factor"]) == (3, 2)
        assert config["params"]["write_consistency_factor"] == 2
        assert config["params"]["vectors"]["dense"]["on_disk"] is True
        assert config["params"]["on_disk_payload"] is False
        assert config["quantization_config"]["scalar"]["type"] == "int8"

    def test_uses_the_shards_of_the_server_and_one_replica_by_default(self, build, configured):
        sync(build, give())

        params = configured()["params"]

        assert "shard_number" not in params
        assert "replication_factor" not in params
        assert params["write_consistency_factor"] == 1

    def test_has_two_replicas_in_a_cluster(self, settings, specs):
        with qdrant_loopback(shards=3) as cluster:
            store = QdrantStore.connect(cluster.url)
            store.ensure_collection("any", CollectionSchema(4, {}))
            answer = httpx.get(f"{cluster.url}/collections/any").json()
            store.close()

        assert answer["result"]["config"]["params"]["replication_factor"] == 2

    def test_gets_its_hnsw_graph_once_few_documents_are_missing(self, build, configured):
        waiting = [give(text) for text in PARAGRAPHS]
        sync(build, give("A first document."))
        tasks.reconcile_store()
        before = configured()["hnsw_config"]["m"]

        sync(build, *waiting)
        tasks.reconcile_store()

        assert (before, configured()["hnsw_config"]["m"]) == (0, 16)


class TestAChange:
    @pytest.fixture
    def loaded(self, specs, build):
        sync(build, give())
        tasks.reconcile_store()
        return build

    def test_is_applied_to_the_collection_without_embedding(
        self, loaded, specs, configured, embedder
    ):
        embedded = len(embedder.embedded)
        specs("store: {quantization: int8, vectors_on_disk: true, hnsw: {m: 32}}")

        kept = apply_spec("plain")
        tasks.reconcile_store()

        config = configured()
        assert kept == loaded
        assert config["quantization_config"]["scalar"]["type"] == "int8"
        assert config["params"]["vectors"]["dense"]["on_disk"] is True
        assert config["hnsw_config"]["m"] == 32
        specs("")
        apply_spec("plain")
        tasks.reconcile_store()
        assert "quantization_config" not in configured()
        assert configured()["hnsw_config"]["m"] == 16
        assert len(embedder.embedded) == embedded

    def test_of_the_shards_makes_a_build_that_copies_all_vectors(
        self, loaded, specs, configured, embedder
    ):
        embedded = len(embedder.embedded)
        specs("store: {shards: 3, replicas: 2}")

        build = apply_spec("plain")
        sync(build, *[node.artifact for node in Node.objects.filter(build=loaded)][:1])
        again = apply_spec("plain")

        assert (build.number, again) == (2, build)
        assert configured("plain.page_embeddings.2")["params"]["shard_number"] == 3
        assert len(embedder.embedded) == embedded
        assert IndexBuild.objects.get(pk=build.pk).copied_count > 0

    def test_is_shown_by_plan_beside_the_changes_that_need_a_new_build(self, loaded, specs, capsys):
        specs("store: {shards: 3, quantization: int8, hnsw: {ef: 64}}")

        estimate = estimate_build("plain")
        call_command("plan")

        assert estimate.changes == ["store.shards: none -> 3"]
        assert estimate.store_changes == [
            "store.hnsw.ef: 128 -> 64", "store.quantization: none -> int8",
        ]  # fmt: skip
        assert (estimate.is_free, estimate.kinds["chunk"].texts) == (False, 0)
        assert "store.quantization: none -> int8" in capsys.readouterr().out

    def test_without_shards_and_replicas_needs_no_new_build(self, loaded, specs, capsys):
        specs("store: {quantization: int8}")
        assert estimate_build("plain").is_free

        load_specs()
        call_command("plan")

        assert Index.objects.get(pk="plain").store_settings["quantization"] == "int8"
        assert "Every index matches its spec." in capsys.readouterr().out


class TestHalfPrecision:
    def test_is_given_to_the_collection(self, specs, configured):
        build = start(specs, "store: {vectors: float16}")
        sync(build, give())

        config = configured(f"plain.page_embeddings.{build.number}")

        assert config["params"]["vectors"]["dense"]["datatype"] == "float16"

    def test_makes_a_build_that_copies_all_vectors(self, build, specs, embedder, capsys):
        artifact = give()
        sync(build, artifact)
        embedded = len(embedder.embedded)
        specs("store: {vectors: float16}")
        changes = estimate_build("plain").changes

        half = apply_spec("plain")
        sync(half, artifact)

        assert changes == ["store.vectors: float32 -> float16"]
        assert (half.number, apply_spec("plain")) == (2, half)
        assert len(embedder.embedded) == embedded

    def test_is_not_copied_into_a_build_of_full_precision(self, specs, embedder):
        half = start(specs, "store: {vectors: float16}")
        artifact = give()
        sync(half, artifact)
        embedded = len(embedder.embedded)
        specs("")

        full = apply_spec("plain")
        sync(full, artifact)

        assert full != half
        assert len(embedder.embedded) == 2 * embedded

    def test_is_no_change_if_it_is_the_default(self, build, specs):
        specs("store: {vectors: float32}")

        assert apply_spec("plain") == build


class TestAPromotion:
    def test_waits_until_the_server_has_built_the_graph(self, build, specs, server, configured):
        artifact = give()
        sync(build, artifact)
        specs("chunks: {context: []}")
        beside = apply_spec("plain")
        sync(beside, artifact)
        request_promotion(beside)
        server.set_status("yellow")

        is_early = decide_promotion(beside)
        has_graph = configured("plain.page_embeddings.2")["hnsw_config"]["m"]
        server.set_status("green")

        assert (is_early, has_graph) == (False, 16)
        assert decide_promotion(beside)


class TestAnEmbeddedStore:
    def test_ignores_the_section_with_a_warning(self, settings, specs, build):
        settings.STRATA_VECTOR_STORE = "embedded"
        specs(EVERY_SETTING)

        load_specs()

        assert IndexBuild.objects.live().get(index="plain") == build
        [warning] = [each for each in run_checks() if each.id == "indexing.W001"]
        assert "plain.yaml: the embedded vector store ignores" in warning.msg
        assert "vectors_on_disk" in warning.msg

    def test_keeps_vectors_in_half_precision(self, settings, specs, build, embedder):
        settings.STRATA_VECTOR_STORE = "embedded"
        specs("store: {vectors: float16}")

        half = apply_spec("plain")

        assert half != build
        assert half.store_settings.vectors == "float16"
        assert [each for each in run_checks() if each.id == "indexing.W001"] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{shard: 3}", "store.shard: there is no such setting; allowed here: vectors, shards"),
        (
            "{hnsw: {mm: 3}}",
            "store.hnsw.mm: there is no such setting; allowed here: m, ef_construct",
        ),
        ("{vectors: uint8}", "store.vectors: Input should be 'float32' or 'float16'"),
        ("{quantization: int4}", "store.quantization: Input should be 'int8'"),
        ("{replicas: 1, write_consistency: 2}", "store: write_consistency: it must not exceed"),
    ],
)
def test_a_wrong_setting_is_named(text, told):
    with pytest.raises(InvalidSpec, match=told.replace("(", ".")):
        parse_spec("plain", f"store: {text}")

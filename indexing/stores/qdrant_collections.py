"""How a collection is made on a Qdrant server, what changes when its settings do, and which of its
replicas are not up to date."""

from typing import Any

from qdrant_client import models

from indexing.spec import StoreSpec
from indexing.stores.base import CollectionSchema
from indexing.stores.qdrant_queries import DENSE, SPARSE

REPLICAS_IN_CLUSTER = 2  # unless the settings say otherwise
OVERSAMPLING = 2.0  # candidates of the quantized vectors for each hit, compared again in full
INT8 = models.ScalarQuantization(
    scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
)
# Until a segment is vacuumed, the idf of a word counts deleted points. With a server's default
# thresholds, 2,000 of 2,002 deleted points still counted after 26 s; with these it took 5 s. A
# segment with fewer than 100 deleted points is never vacuumed.
PROMPT_VACUUM = models.OptimizersConfigDiff(deleted_threshold=0.05, vacuum_min_vector_number=100)


def make_collection(
    schema: CollectionSchema, settings: StoreSpec, *, is_cluster: bool
) -> dict[str, Any]:
    """The arguments of ``create_collection``. It has no graph: the first points are written faster
    without one, and ``find_changes`` adds it."""
    default_replicas = REPLICAS_IN_CLUSTER if is_cluster else None
    dense = models.VectorParams(
        size=schema.dimension,
        distance=models.Distance.COSINE,
        on_disk=settings.vectors_on_disk,
        datatype=models.Datatype.FLOAT16 if schema.datatype == "float16" else None,
    )
    modifier = models.Modifier.IDF if schema.has_idf else None
    sparse = {SPARSE: models.SparseVectorParams(modifier=modifier)}
    return {
        "vectors_config": {DENSE: dense},
        "sparse_vectors_config": sparse if schema.has_sparse else None,
        "shard_number": settings.shards,
        "replication_factor": settings.replicas or default_replicas,
        "write_consistency_factor": settings.write_consistency,
        "on_disk_payload": settings.payload_on_disk,
        "hnsw_config": models.HnswConfigDiff(m=0, ef_construct=settings.hnsw.ef_construct),
        "quantization_config": INT8 if settings.quantization else None,
        "optimizers_config": PROMPT_VACUUM,
    }


def find_changes(info: models.CollectionInfo, settings: StoreSpec) -> dict[str, Any]:
    """The arguments of ``update_collection`` after which the collection has these settings."""
    config, hnsw, changes = info.config, settings.hnsw, dict[str, Any]()
    if (config.hnsw_config.m, config.hnsw_config.ef_construct) != (hnsw.m, hnsw.ef_construct):
        changes["hnsw_config"] = models.HnswConfigDiff(m=hnsw.m, ef_construct=hnsw.ef_construct)
    if (config.quantization_config is not None) != (settings.quantization is not None):
        changes["quantization_config"] = INT8 if settings.quantization else models.Disabled.DISABLED
    assert isinstance(config.params.vectors, dict)
    if bool(config.params.vectors[DENSE].on_disk) != settings.vectors_on_disk:
        on_disk = models.VectorParamsDiff(on_disk=settings.vectors_on_disk)
        changes["vectors_config"] = {DENSE: on_disk}
    current = (config.params.write_consistency_factor or 1, bool(config.params.on_disk_payload))
    if current != (settings.write_consistency, settings.payload_on_disk):
        changes["collection_params"] = models.CollectionParamsDiff(
            write_consistency_factor=settings.write_consistency,
            on_disk_payload=settings.payload_on_disk,
        )
    if info.status == models.CollectionStatus.GREY:
        # After a restart the server waits for a change before it continues its optimizations.
        changes["optimizers_config"] = PROMPT_VACUUM
    return changes


def make_search_params(
    *, ef: int, is_exact: bool, corpus: models.Filter | None
) -> models.SearchParams:
    idf = None if corpus is None else models.IdfCorpusParams(corpus=corpus)
    if is_exact:
        return models.SearchParams(exact=True, idf=idf)
    rescored = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    return models.SearchParams(hnsw_ef=ef, quantization=rescored, idf=idf)


def describe_lagging_replicas(info: models.CollectionClusterInfo) -> list[str]:
    """What may still hold removed points: replicas that are not active, and transfers under way."""
    replicas = [
        *((each.shard_id, info.peer_id, each.state) for each in info.local_shards),
        *((each.shard_id, each.peer_id, each.state) for each in info.remote_shards),
    ]
    lagging = [
        f"the replica of shard {shard} on peer {peer} is {state.value}"
        for shard, peer, state in replicas
        if state != models.ReplicaState.ACTIVE
    ]
    lagging += [
        f"shard {each.shard_id} is being transferred from peer {each.from_} to peer {each.to}"
        for each in info.shard_transfers
    ]
    lagging += [
        f"shard {each.shard_id} is being resharded" for each in info.resharding_operations or ()
    ]
    return lagging


def describe_unreachable_peers(
    status: models.ClusterStatusOneOf | models.ClusterStatusOneOf1,
) -> list[str]:
    if isinstance(status, models.ClusterStatusOneOf):
        return []
    return [f"the peer at {uri} does not answer" for uri in sorted(status.message_send_failures)]

"""The supported REST calls, which the client's local mode answers as a server would."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.local import distances

from tests.qdrant_loopback.cluster import Cluster, NodeUnreachable

# The local mode normalises its stored vectors in place at each search, so the scores of the same
# query would drift.
_cosine_similarity = distances.cosine_similarity
distances.cosine_similarity = lambda query, vectors: _cosine_similarity(query, vectors.copy())


class Refused(Exception):
    """The response is an error, with the status and text of a real server."""

    def __init__(
        self, status: int, detail: str, retry_after: int | None = None, *, is_json: bool = True
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.is_json = is_json
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


@dataclass
class Engine:
    """The local mode, one call at a time, because it is not thread-safe."""

    client: QdrantClient | Cluster = field(default_factory=lambda: QdrantClient(":memory:"))
    configs: dict[str, models.CollectionConfig] = field(default_factory=dict)
    status: models.CollectionStatus = models.CollectionStatus.GREEN
    version: str = "1.19.0"
    lock: threading.RLock = field(default_factory=threading.RLock)
    # The local mode has no payload indexes; they are stored here for descriptions of collections.
    payload_schema: dict[str, dict[str, models.PayloadIndexInfo]] = field(default_factory=dict)


Answer = Callable[[Engine, str, Any], Any]


@dataclass(frozen=True)
class Call:
    """``kind``: its name in faults."""

    kind: str
    method: str
    path: re.Pattern[str]
    body: Any  # its type, for pydantic; None if it has none
    answer: Answer


def find_call(method: str, path: str) -> tuple[Call, str]:
    """The call at this address, and the collection it names.

    Raises:
        Refused: 501, this stand-in does not support the call.
    """
    for call in CALLS:
        if call.method == method and (found := call.path.fullmatch(path)):
            return call, found.groupdict().get("name", "")
    raise Refused(501, f"The loopback server has no call {method} {path}.")


def answer_call(engine: Engine, call: Call, name: str, body: bytes) -> Any:
    """The result of the call, ready for JSON.

    Raises:
        Refused: with the status and text of a real server.
    """
    try:
        given = None if call.body is None else TypeAdapter(call.body).validate_json(body)
        with engine.lock:
            result = call.answer(engine, name, given)
    except NodeUnreachable as error:
        raise Refused(500, str(error)) from None
    except ValidationError as error:
        raise Refused(400, f"Format error in JSON body: {error}") from None
    except (ValueError, AssertionError, IndexError, KeyError) as error:
        detail = str(error)
        if detail.startswith("Collection ") and detail.endswith(" not found"):
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!") from None
        if detail.endswith(" already exists"):
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!") from None
        raise Refused(400, f"Wrong input: {type(error).__name__}: {detail}") from None
    return TypeAdapter(Any).dump_python(result, mode="json", exclude_none=True)


# --- Collections -----------------------------------------------------------------------------


def _info(engine: Engine, name: str, given: None) -> models.VersionInfo:
    return models.VersionInfo(title="qdrant - vector search engine", version=engine.version)


def _list(engine: Engine, name: str, given: None) -> models.CollectionsResponse:
    return engine.client.get_collections()


def _exists(engine: Engine, name: str, given: None) -> dict[str, bool]:
    return {"exists": engine.client.collection_exists(name)}


def _describe(engine: Engine, name: str, given: None) -> models.CollectionInfo:
    info = engine.client.get_collection(name)
    return info.model_copy(
        update={
            "payload_schema": engine.payload_schema.get(name, {}),
            "config": engine.configs.get(name, info.config),
            "status": engine.status,
        }
    )


def _create(engine: Engine, name: str, given: models.CreateCollection) -> bool:
    is_created = engine.client.create_collection(
        name, vectors_config=given.vectors, sparse_vectors_config=given.sparse_vectors
    )
    config = engine.client.get_collection(name).config
    engine.configs[name] = config
    for setting in (
        "shard_number", "replication_factor", "write_consistency_factor", "on_disk_payload",
    ):  # fmt: skip
        setattr(config.params, setting, getattr(given, setting))
    config.quantization_config = given.quantization_config
    _merge(config.hnsw_config, given.hnsw_config)
    return is_created


def _update(engine: Engine, name: str, given: models.UpdateCollection) -> bool:
    engine.client.get_collection(name)  # it must exist
    config = engine.configs[name]
    _merge(config.hnsw_config, given.hnsw_config)
    _merge(config.params, given.params)
    for vector, params in (given.vectors or {}).items():
        assert isinstance(config.params.vectors, dict)
        _merge(config.params.vectors[vector], params)
    if isinstance(given.quantization_config, models.Disabled):
        config.quantization_config = None
    elif given.quantization_config is not None:
        config.quantization_config = given.quantization_config
    return True


def _merge(settings: Any, given: Any) -> None:
    for name, value in ({} if given is None else given.model_dump(exclude_none=True)).items():
        setattr(settings, name, value)


def _describe_cluster(engine: Engine, name: str, given: None) -> dict[str, Any]:
    count = engine.client.get_collection(name).points_count  # it must exist
    if isinstance(engine.client, Cluster):
        return engine.client.describe(name)
    return {
        "peer_id": 0,
        "shard_count": 1,
        "local_shards": [{"shard_id": 0, "points_count": count, "state": "Active"}],
        "remote_shards": [],
        "shard_transfers": [],
    }


def _cluster_status(engine: Engine, name: str, given: None) -> dict[str, Any]:
    is_cluster = isinstance(engine.client, Cluster)
    return engine.client.get_status() if is_cluster else {"status": "disabled"}


def _drop(engine: Engine, name: str, given: None) -> bool:
    engine.payload_schema.pop(name, None)
    engine.configs.pop(name, None)
    return bool(engine.client.delete_collection(name))


def _index(engine: Engine, name: str, given: models.CreateFieldIndex) -> dict[str, Any]:
    engine.client.get_collection(name)  # it must exist
    schema = given.field_schema
    is_type = isinstance(schema, models.PayloadSchemaType)
    engine.payload_schema.setdefault(name, {})[given.field_name] = models.PayloadIndexInfo(
        data_type=models.PayloadSchemaType(schema if is_type else schema.type.value),
        params=None if is_type else schema,
        points=0,
    )
    return DONE


def _aliases(engine: Engine, name: str, given: None) -> models.CollectionsAliasesResponse:
    return engine.client.get_aliases()


def _switch_aliases(engine: Engine, name: str, given: models.ChangeAliasesOperation) -> bool:
    return engine.client.update_collection_aliases(given.actions)


# --- Points ----------------------------------------------------------------------------------

DONE = {"operation_id": 0, "status": "completed"}


def _upsert(engine: Engine, name: str, given: models.PointsList) -> dict[str, Any]:
    engine.client.upsert(name, given.points)
    return DONE


def _batch(engine: Engine, name: str, given: models.UpdateOperations) -> list[dict[str, Any]]:
    engine.client.batch_update_points(name, given.operations)
    return [DONE] * len(given.operations)


def _delete(engine: Engine, name: str, given: models.PointsSelector) -> dict[str, Any]:
    engine.client.delete(name, given)
    return DONE


def _query(
    engine: Engine, name: str, given: models.QueryRequestBatch
) -> list[models.QueryResponse]:
    return engine.client.query_batch_points(name, given.searches)


def _retrieve(engine: Engine, name: str, given: models.PointRequest) -> list[models.Record]:
    return engine.client.retrieve(
        name, given.ids, with_payload=given.with_payload or False,
        with_vectors=given.with_vector or False,
    )  # fmt: skip


def _scroll(engine: Engine, name: str, given: models.ScrollRequest) -> dict[str, Any]:
    points, offset = engine.client.scroll(
        name, scroll_filter=given.filter, limit=given.limit or 10, offset=given.offset,
        with_payload=given.with_payload or False, with_vectors=given.with_vector or False,
    )  # fmt: skip
    return {"points": points, "next_page_offset": offset}


def _count(engine: Engine, name: str, given: models.CountRequest) -> models.CountResult:
    return engine.client.count(name, count_filter=given.filter, exact=True)


def _facet(engine: Engine, name: str, given: models.FacetRequest) -> models.FacetResponse:
    return engine.client.facet(
        name,
        given.key,
        facet_filter=given.filter,
        limit=given.limit or 10,
        exact=bool(given.exact),
    )


def _call(kind: str, method: str, path: str, body: Any, answer: Answer) -> Call:
    return Call(kind, method, re.compile(path.replace("{name}", "(?P<name>[^/]+)")), body, answer)


CALLS = [
    _call("info", "GET", "/", None, _info),
    _call("list", "GET", "/collections", None, _list),
    _call("exists", "GET", "/collections/{name}/exists", None, _exists),
    _call("describe", "GET", "/collections/{name}", None, _describe),
    _call("create", "PUT", "/collections/{name}", models.CreateCollection, _create),
    _call("update", "PATCH", "/collections/{name}", models.UpdateCollection, _update),
    _call("replicas", "GET", "/collections/{name}/cluster", None, _describe_cluster),
    _call("cluster", "GET", "/cluster", None, _cluster_status),
    _call("drop", "DELETE", "/collections/{name}", None, _drop),
    _call("index", "PUT", "/collections/{name}/index", models.CreateFieldIndex, _index),
    _call("aliases", "GET", "/aliases", None, _aliases),
    _call(
        "switch_aliases", "POST", "/collections/aliases",
        models.ChangeAliasesOperation, _switch_aliases,
    ),
    _call("upsert", "PUT", "/collections/{name}/points", models.PointsList, _upsert),
    _call("batch", "POST", "/collections/{name}/points/batch", models.UpdateOperations, _batch),
    _call("delete", "POST", "/collections/{name}/points/delete", models.PointsSelector, _delete),
    _call(
        "query", "POST", "/collections/{name}/points/query/batch",
        models.QueryRequestBatch, _query,
    ),
    _call("retrieve", "POST", "/collections/{name}/points", models.PointRequest, _retrieve),
    _call("scroll", "POST", "/collections/{name}/points/scroll", models.ScrollRequest, _scroll),
    _call("count", "POST", "/collections/{name}/points/count", models.CountRequest, _count),
    _call("facet", "POST", "/collections/{name}/facet", models.FacetRequest, _facet),
]  # fmt: skip
KINDS = frozenset(call.kind for call in CALLS)

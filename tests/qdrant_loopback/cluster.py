"""Three nodes in one process: collections in shards, each shard on several nodes.

Each shard of each node is a separate local mode, so idf is computed per shard. A dead node takes no
writes. After its return, it answers with its old data until it has caught up.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from qdrant_client import QdrantClient
from qdrant_client.http import models
from qdrant_client.hybrid.fusion import reciprocal_rank_fusion

NODE_COUNT = 3
UNREACHABLE = (
    "Service internal error: 1 of 1 read operations failed:\n  Service internal error: Tonic "
    "status error: code: 'The service is currently unavailable', message: \"tcp connect error\""
)
Write = Callable[[QdrantClient], Any]


def _upsert(name: str, points: list[models.PointStruct], client: QdrantClient) -> None:
    client.upsert(name, points)


class NodeUnreachable(Exception):
    """No node with a replica of a shard answers."""


@dataclass
class ClusterNode:
    shards: dict[int, QdrantClient]
    is_dead: bool = False
    catches_up_at: float | None = None  # on the monotonic clock; None: it has caught up
    missed: list[tuple[int, Write]] = field(default_factory=list)

    @property
    def is_behind(self) -> bool:
        return self.is_dead or self.catches_up_at is not None


class Cluster:
    """The methods of ``QdrantClient`` that ``calls.py`` uses, over all nodes."""

    def __init__(self, shard_count: int, replica_count: int) -> None:
        self.shard_count = shard_count
        self.nodes = [
            ClusterNode(
                {
                    shard: QdrantClient(":memory:")
                    for shard in range(shard_count)
                    if (number - shard) % NODE_COUNT < replica_count
                }
            )
            for number in range(NODE_COUNT)
        ]

    # --- Nodes ---

    def kill(self, number: int) -> None:
        self.nodes[number].is_dead = True

    def revive(self, number: int, stale_seconds: float) -> None:
        """Bring a node back. For ``stale_seconds``, it answers every read of its shards, with the
        data from before its death."""
        node = self.nodes[number]
        node.is_dead, node.catches_up_at = False, time.monotonic() + stale_seconds

    def _catch_up(self) -> None:
        for node in self.nodes:
            if node.catches_up_at is not None and time.monotonic() >= node.catches_up_at:
                for shard, write in node.missed:
                    write(node.shards[shard])
                node.missed.clear()
                node.catches_up_at = None

    def _read_from(self, shard: int) -> QdrantClient:
        self._catch_up()
        holders = [node for node in self.nodes if shard in node.shards and not node.is_dead]
        if not holders:
            raise NodeUnreachable(UNREACHABLE)
        return min(holders, key=lambda node: node.catches_up_at is None).shards[shard]

    def _write_to(self, shard: int, write: Write) -> Any:
        self._catch_up()
        holders = [node for node in self.nodes if shard in node.shards]
        if all(node.is_behind for node in holders):
            raise NodeUnreachable(UNREACHABLE)
        for node in holders:
            if node.is_behind:
                node.missed.append((shard, write))
            else:
                result = write(node.shards[shard])
        return result

    def _write_to_all(self, write: Write) -> Any:
        results = [self._write_to(shard, write) for shard in range(self.shard_count)]
        return results[0]

    def _read_all(self, read: Callable[[QdrantClient], Any]) -> list[Any]:
        return [read(self._read_from(shard)) for shard in range(self.shard_count)]

    def describe(self, name: str) -> dict[str, Any]:
        """The answer of ``/collections/NAME/cluster``, as the first node that is up gives it."""
        self._catch_up()
        first = next(number for number, node in enumerate(self.nodes) if not node.is_dead)
        local, remote, transfers = [], [], []
        for number, node in enumerate(self.nodes):
            state = "Dead" if node.is_dead else "Partial" if node.is_behind else "Active"
            for shard, client in node.shards.items():
                if number == first:
                    count = client.count(name).count
                    local.append({"shard_id": shard, "points_count": count, "state": state})
                else:
                    remote.append({"shard_id": shard, "peer_id": number, "state": state})
                if state == "Partial":
                    source = next(n for n, each in enumerate(self.nodes) if not each.is_behind)
                    transfers.append(
                        {"shard_id": shard, "from": source, "to": number, "sync": True}
                    )
        return {
            "peer_id": first,
            "shard_count": self.shard_count,
            "local_shards": local,
            "remote_shards": remote,
            "shard_transfers": transfers,
        }

    def get_status(self) -> dict[str, Any]:
        """The answer of ``/cluster``."""
        uris = {number: f"http://node-{number}:6335/" for number in range(NODE_COUNT)}
        failures = {
            uris[number]: {"count": 1, "latest_error": "transport error"}
            for number, node in enumerate(self.nodes)
            if node.is_dead
        }
        return {
            "status": "enabled",
            "peer_id": 0,
            "peers": {str(number): {"uri": uri} for number, uri in uris.items()},
            "raft_info": {
                "term": 1,
                "commit": 1,
                "pending_operations": 0,
                "leader": 0,
                "role": "Leader",
                "is_voter": True,
            },
            "consensus_thread_status": {
                "consensus_thread_status": "working",
                "last_update": "2026-11-22T00:00:00Z",
            },
            "message_send_failures": failures,
        }

    # --- Collections ---

    def get_collections(self) -> models.CollectionsResponse:
        return self._read_from(0).get_collections()

    def collection_exists(self, name: str) -> bool:
        return self._read_from(0).collection_exists(name)

    def get_collection(self, name: str) -> models.CollectionInfo:
        infos = self._read_all(lambda client: client.get_collection(name))
        count = sum(info.points_count or 0 for info in infos)
        first: models.CollectionInfo = infos[0]
        return first.model_copy(update={"points_count": count})

    def create_collection(self, name: str, **given: Any) -> bool:
        return bool(self._write_to_all(lambda client: client.create_collection(name, **given)))

    def delete_collection(self, name: str) -> bool:
        return bool(self._write_to_all(lambda client: client.delete_collection(name)))

    def get_aliases(self) -> models.CollectionsAliasesResponse:
        return self._read_from(0).get_aliases()

    def update_collection_aliases(self, actions: Any) -> bool:
        return bool(
            self._write_to_all(lambda client: client.update_collection_aliases(list(actions)))
        )

    # --- Points ---

    def _get_shard(self, point_id: Any) -> int:
        number = point_id if isinstance(point_id, int) else UUID(str(point_id)).int
        return int(number) % self.shard_count

    def upsert(self, name: str, points: Sequence[models.PointStruct]) -> None:
        by_shard: dict[int, list[models.PointStruct]] = {}
        for point in points:
            by_shard.setdefault(self._get_shard(point.id), []).append(point)
        self.get_collection(name)  # it must exist
        for shard, own in by_shard.items():
            self._write_to(shard, partial(_upsert, name, own))

    def batch_update_points(self, name: str, operations: Any) -> None:
        self._write_to_all(lambda client: client.batch_update_points(name, operations))

    def delete(self, name: str, selector: Any) -> None:
        self._write_to_all(lambda client: client.delete(name, selector))

    def query_batch_points(
        self, name: str, requests: Sequence[models.QueryRequest]
    ) -> list[models.QueryResponse]:
        return [models.QueryResponse(points=self._query(name, request)) for request in requests]

    def _query(self, name: str, request: models.QueryRequest) -> list[models.ScoredPoint]:
        """The best points of all shards. Ranks are counted after the shards' rankings are merged,
        as a server does for the fusion at the root of a query."""
        if not request.prefetch:
            return self._rank(name, request)
        rankings = []
        for prefetch in request.prefetch:
            fields = {"query", "using", "filter", "limit"}
            nearest = models.QueryRequest(
                **{each: getattr(prefetch, each) for each in fields},
                params=prefetch.params and models.SearchParams(idf=prefetch.params.idf),
                with_payload=request.with_payload,
            )
            rankings.append(self._rank(name, nearest))
        assert isinstance(request.query, models.RrfQuery)
        return reciprocal_rank_fusion(rankings, request.limit or 10, request.query.rrf.k)

    def _rank(self, name: str, request: models.QueryRequest) -> list[models.ScoredPoint]:
        answers = self._read_all(
            lambda client: client.query_batch_points(name, [request])[0].points
        )
        points = [point for answer in answers for point in answer]
        points.sort(key=lambda point: (-point.score, UUID(str(point.id)).int))
        return points[: request.limit]

    def retrieve(self, name: str, ids: Sequence[Any], **given: Any) -> list[models.Record]:
        answers = self._read_all(lambda client: client.retrieve(name, ids, **given))
        return [record for answer in answers for record in answer]

    def scroll(
        self, name: str, *, limit: int, **given: Any
    ) -> tuple[list[models.Record], str | None]:
        answers = self._read_all(lambda client: client.scroll(name, limit=limit + 1, **given)[0])
        found = sorted(
            (record for answer in answers for record in answer),
            key=lambda record: UUID(str(record.id)).int,
        )
        return found[:limit], str(found[limit].id) if len(found) > limit else None

    def count(self, name: str, **given: Any) -> models.CountResult:
        counts = self._read_all(lambda client: client.count(name, **given).count)
        return models.CountResult(count=sum(counts))

    def facet(self, name: str, key: str, *, limit: int, **given: Any) -> models.FacetResponse:
        counts: dict[Any, int] = {}
        for answer in self._read_all(lambda client: client.facet(name, key, limit=10_000, **given)):
            for hit in answer.hits:
                counts[hit.value] = counts.get(hit.value, 0) + hit.count
        hits = [models.FacetValueHit(value=value, count=count) for value, count in counts.items()]
        return models.FacetResponse(hits=sorted(hits, key=lambda hit: -hit.count)[:limit])

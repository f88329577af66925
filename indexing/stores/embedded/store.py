"""``EmbeddedStore``: collections of the engine in this process, each opened on first use."""

import json
import os
import shutil
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import qdrant_edge as edge

from core.atomic_files import fsync
from core.exceptions import DiskFull, StrataError
from indexing.exceptions import StoreUnavailable
from indexing.spec import StoreSpec
from indexing.stores.base import (
    DEFAULT_SETTINGS,
    CollectionSchema,
    Filter,
    Payload,
    Point,
    Query,
    ScoredPoint,
    StoredPoint,
    VectorStore,
)
from indexing.stores.embedded.folder import (
    LOCK_NAME,
    lock_folder,
    read_schema,
    schema_path,
    to_folder_name,
    write_json_atomically,
    write_schema,
)
from indexing.stores.embedded.translation import (
    create_field_indexes,
    from_edge_point,
    to_edge_config,
    to_edge_filter,
    to_edge_point,
    to_edge_request,
    to_scored_point,
    to_uuid,
)
from indexing.stores.qdrant_queries import (
    SPARSE,
    UPSERT_BATCH,
    get_vector_queries,
    paginate_points,
    sort_facet_counts,
    to_offset,
)

MIN_FREE_BYTES_TO_OPEN = (
    64 * 2**20
)  # two segments of the log; less than writes need, so that reads still work


DELETION_MARK = "deleted"  # a file in a collection's folder, made by the first deletion


@dataclass(slots=True)
class _OpenCollection:
    folder: Path
    schema: CollectionSchema
    shard_name: str
    shard: edge.EdgeShard
    write_lock: threading.Lock = field(default_factory=threading.Lock)

    def mark_deletion(self) -> None:
        mark = self.folder / DELETION_MARK
        if not mark.exists():
            mark.touch()


class EmbeddedStore(VectorStore):
    """Collections in a folder this process owns until ``close`` or its death.

    Searches scan all points: they are exact and linear in their number (0.5 to 2 ms for each 10,000
    points of 384 dimensions). ``optimize`` builds a graph, which makes them faster.

    Raises:
        StoreLocked: another process owns the folder.
    """

    def __init__(self, folder: Path, min_free_bytes: int = 0) -> None:
        self._folder = Path(folder)
        self._lock_path = self._folder / LOCK_NAME
        self._min_free_bytes = min_free_bytes
        self._owner_pid = os.getpid()
        self._is_closed = False
        self._open_lock = threading.RLock()
        self._collections: dict[str, _OpenCollection] = {}
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_descriptor = lock_folder(self._folder)
        self._lock_file = os.fstat(self._lock_descriptor)
        _drop_lock_after_fork(self)
        for leftover in self._folder.glob(".dropped-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def ensure_collection(
        self, name: str, schema: CollectionSchema, settings: StoreSpec = DEFAULT_SETTINGS
    ) -> None:
        with self._open_lock, _translate_engine_errors():
            collection = self._find_collection(name)
            if collection is None:
                self._check_free_space()
                self._create_collection(name, schema)
                return
            missing = {
                field: kind
                for field, kind in schema.fields.items()
                if field not in collection.schema.fields
            }
            if not missing:
                return
            self._check_free_space()
            with collection.write_lock:
                create_field_indexes(collection.shard, missing)
                collection.shard.flush()
                fields = {**collection.schema.fields, **missing}
                collection.schema = replace(collection.schema, fields=fields)
                write_schema(collection.folder, collection.schema, collection.shard_name)

    def has_collection(self, name: str) -> bool:
        self._check_usable()
        return schema_path(self._collection_folder(name)).exists()

    def drop_collection(self, name: str) -> None:
        with self._open_lock, _translate_engine_errors():
            self._check_usable()
            collection = self._collections.pop(name, None)
            if collection is not None:
                collection.shard.close()
            trash = self._folder / f".dropped-{uuid.uuid4()}"
            try:
                self._collection_folder(name).rename(trash)
            except FileNotFoundError:
                return
            fsync(self._folder)
        shutil.rmtree(trash, ignore_errors=True)

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        collection = self._get_collection(name)
        for point in points:
            _check_dimension(collection, point.dense)
        self._check_free_space()
        with collection.write_lock, _translate_engine_errors():
            for start in range(0, len(points), UPSERT_BATCH):
                written = [to_edge_point(point) for point in points[start : start + UPSERT_BATCH]]
                collection.shard.update(edge.UpdateOperation.upsert_points(written))
            collection.shard.flush()

    def replace_payloads(self, name: str, payloads: Mapping[UUID, Payload]) -> None:
        collection = self._find_collection(name)
        if collection is None:
            return
        self._check_free_space()
        with collection.write_lock, _translate_engine_errors():
            collection.mark_deletion()
            for point_id, payload in payloads.items():
                # By filter, because a missing point is then ignored; by id, it is an error.
                this_point = edge.Filter(must=[edge.HasIdCondition({point_id})])
                collection.shard.update(
                    edge.UpdateOperation.overwrite_payload_by_filter(this_point, payload)
                )
            collection.shard.flush()

    def delete(self, name: str, ids: Sequence[UUID]) -> None:
        collection = self._find_collection(name)
        if collection is None or not ids:
            return
        self._check_free_space()
        with collection.write_lock, _translate_engine_errors():
            collection.mark_deletion()
            if collection.schema.has_sparse:
                # Until the next start, a deleted point would still count in the document
                # frequencies of its terms and distort their weights. A point without terms has no
                # effect.
                emptied = [edge.Point(each, {SPARSE: edge.SparseVector([], [])}) for each in ids]
                collection.shard.update(
                    edge.UpdateOperation.upsert_points(
                        emptied, update_mode=edge.UpdateMode.UpdateOnly
                    )
                )
            collection.shard.update(edge.UpdateOperation.delete_points(list(ids)))
            collection.shard.flush()

    def search(self, name: str, query: Query) -> list[ScoredPoint]:
        collection = self._find_collection(name)
        vector_queries = get_vector_queries(query)
        if collection is None or not vector_queries or query.limit < 1:
            return []
        _check_dimension(collection, query.dense)
        if query.sparse is not None and not collection.schema.has_sparse:
            raise ValueError(f"{name} has no sparse vectors.")
        request = to_edge_request(query, vector_queries)
        with _translate_engine_errors():
            found = collection.shard.query(request)
        return paginate_points(map(to_scored_point, found), query)

    def search_many(self, requests: Sequence[tuple[str, Query]]) -> list[list[ScoredPoint]]:
        # One after the other: a second thread would wait for the first and cost a tenth more.
        return [self.search(name, query) for name, query in requests]

    def retrieve(
        self, name: str, ids: Sequence[UUID], *, with_vectors: bool = False
    ) -> dict[UUID, StoredPoint]:
        collection = self._find_collection(name)
        if collection is None or not ids:
            return {}
        with _translate_engine_errors():
            records = collection.shard.retrieve(list(ids), True, with_vectors)
        return {to_uuid(record.id): from_edge_point(record) for record in records}

    def scroll(
        self, name: str, *, after: UUID | None = None, batch: int = 1_000, with_payload: bool = True
    ) -> Iterator[list[StoredPoint]]:
        offset: Any = to_offset(after)
        while True:
            collection = self._find_collection(name)
            if collection is None:
                return
            request = edge.ScrollRequest(offset=offset, limit=batch, with_payload=with_payload)
            with _translate_engine_errors():
                records, offset = collection.shard.scroll(request)
            if records:
                yield [from_edge_point(record) for record in records]
            if offset is None:
                return

    def count(self, name: str, filter: Filter | None = None) -> int:
        collection = self._find_collection(name)
        if collection is None:
            return 0
        request = edge.CountRequest(exact=True, filter=to_edge_filter(filter))
        with _translate_engine_errors():
            return collection.shard.count(request)

    def count_roughly(self, name: str) -> int:
        collection = self._find_collection(name)
        if collection is None:
            return 0
        with _translate_engine_errors():
            return collection.shard.info().points_count

    def facet(
        self, name: str, field: str, *, limit: int, filter: Filter | None = None
    ) -> dict[str, int]:
        collection = self._find_collection(name)
        if collection is None or limit < 1:
            return {}
        request = edge.FacetRequest(field, limit, exact=True, filter=to_edge_filter(filter))
        with _translate_engine_errors():
            hits = collection.shard.facet(request).hits
        return sort_facet_counts((str(hit.value), hit.count) for hit in hits)

    def switch_aliases(self, aliases: Mapping[str, str | None]) -> None:
        with self._open_lock, _translate_engine_errors():
            switched = {**self.aliases(), **aliases}
            remaining = {alias: name for alias, name in switched.items() if name is not None}
            write_json_atomically(self._folder / "aliases.json", remaining)

    def aliases(self) -> dict[str, str]:
        self._check_usable()
        with _translate_engine_errors():
            try:
                found: dict[str, str] = json.loads((self._folder / "aliases.json").read_bytes())
            except FileNotFoundError:
                self._check_folder()
                return {}
        return found

    def ping(self) -> None:
        self._check_usable()

    def close(self) -> None:
        """Flush and close; does nothing the second time or in a forked child."""
        with self._open_lock:
            if self._is_closed or os.getpid() != self._owner_pid:
                return
            self._is_closed = True
            try:
                with _translate_engine_errors():
                    for collection in self._collections.values():
                        collection.shard.flush()
                        collection.shard.close()
            finally:
                self._collections.clear()
                os.close(self._lock_descriptor)

    def optimize(self, name: str) -> bool:
        """Build the graph and merge segments. Call it only when nothing else runs in this process.

        It blocks all other threads for about ten seconds for each 10,000 points. Searches are
        correct without it; afterwards they are approximate and no longer linear.

        Returns:
            Whether there was anything to do.

        Raises:
            LookupError: there is no such collection.
        """
        collection = self._get_collection(name)
        self._check_free_space()
        with _translate_engine_errors():
            changed = collection.shard.optimize()
            collection.shard.flush()
        return changed

    def erase_deleted(self, deleted_before: datetime) -> list[str]:
        erased = []
        for path in self._folder.glob(f"*/{DELETION_MARK}"):
            with suppress(FileNotFoundError):  # dropped meanwhile
                if path.stat().st_mtime <= deleted_before.timestamp():
                    name = unquote(path.parent.name)
                    self._copy_collection(self._get_collection(name))
                    erased.append(name)
        return erased

    def _copy_collection(self, collection: _OpenCollection) -> None:
        """Replace the engine's files by new ones with the same points. Writes wait; searches use
        the old files until the copy is complete."""
        folder, shard_name = collection.folder, f"shard-{uuid.uuid4().hex}"
        with collection.write_lock:
            old = folder / collection.shard_name
            self._check_free_space(_measure_folder(old) + self._min_free_bytes)
            try:
                copy = _create_shard(folder / shard_name, collection.schema)
                with _translate_engine_errors():
                    _copy_points(collection.shard, copy)
                write_schema(folder, collection.schema, shard_name)
            except BaseException:
                shutil.rmtree(folder / shard_name, ignore_errors=True)
                raise
            collection.shard, collection.shard_name = copy, shard_name
            (folder / DELETION_MARK).unlink(missing_ok=True)
        shutil.rmtree(old, ignore_errors=True)

    def _check_usable(self) -> None:
        if os.getpid() != self._owner_pid:
            # A fork does not copy the engine's threads, and a call would wait for them forever.
            raise StoreUnavailable(
                "The embedded vector store cannot be used in a forked child process."
            )
        if self._is_closed:
            raise StoreUnavailable("The embedded vector store is closed.")
        with _translate_engine_errors():
            self._check_folder()

    def _check_folder(self) -> None:
        """Without its folder the store must not look empty: its points would count as lost."""
        with suppress(FileNotFoundError):
            if os.path.samestat(self._lock_path.stat(), self._lock_file):
                return
        raise StoreUnavailable(
            "The folder of the vectors is away, or another one is in its place.",
            fix="Bring it back; waiting work then continues. If it is lost, restart the service: "
            "it writes the vectors again.",
        )

    def _check_free_space(self, needed_bytes: int | None = None) -> None:
        """The engine writes through mapped files: a full disk would kill the process."""
        needed = self._min_free_bytes if needed_bytes is None else needed_bytes
        with _translate_engine_errors():
            free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise DiskFull(
                f"{free // 2**20} MiB of disk are free where the vectors are stored; at least "
                f"{needed // 2**20} MiB are needed.",
                fix="Free some space; waiting writes then continue automatically.",
            )

    def _collection_folder(self, name: str) -> Path:
        return self._folder / to_folder_name(name)

    def _get_collection(self, name: str) -> _OpenCollection:
        collection = self._find_collection(name)
        if collection is None:
            raise LookupError(f"There is no collection {name!r}.")
        return collection

    def _find_collection(self, name: str) -> _OpenCollection | None:
        """The collection, opened on first use; None if it does not exist."""
        self._check_usable()
        if opened := self._collections.get(name):
            return opened
        with self._open_lock, _translate_engine_errors():
            self._check_usable()
            if opened := self._collections.get(name):
                return opened
            folder = self._collection_folder(name)
            try:
                schema, shard_name = read_schema(folder)
            except FileNotFoundError:
                self._check_folder()  # it may have gone since
                return None
            # Opening also writes, because the engine replays its log.
            self._check_free_space(min(MIN_FREE_BYTES_TO_OPEN, self._min_free_bytes))
            shard = edge.EdgeShard.load(str(folder / shard_name), to_edge_config(schema))
            _remove_other_shards(folder, shard_name)
            self._collections[name] = _OpenCollection(folder, schema, shard_name, shard)
            return self._collections[name]

    def _create_collection(self, name: str, schema: CollectionSchema) -> None:
        """Create and open a collection. Its schema is written last: a folder without one was left
        by a kill, and is replaced."""
        folder = self._collection_folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()  # without its parents, which may be away for a while
        try:
            shard = _create_shard(folder / "shard", schema)
            write_schema(folder, schema, "shard")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        fsync(self._folder)
        self._collections[name] = _OpenCollection(folder, schema, "shard", shard)


def _create_shard(folder: Path, schema: CollectionSchema) -> edge.EdgeShard:
    folder.mkdir(parents=True)
    with _translate_engine_errors():
        shard = edge.EdgeShard.create(str(folder), to_edge_config(schema))
        create_field_indexes(shard, schema.fields)
        shard.flush()
    return shard


def _copy_points(shard: edge.EdgeShard, copy: edge.EdgeShard) -> None:
    offset: Any = None
    while True:
        request = edge.ScrollRequest(
            offset=offset, limit=UPSERT_BATCH, with_payload=True, with_vector=True
        )
        records, offset = shard.scroll(request)
        points = [edge.Point(each.id, each.vector or {}, each.payload) for each in records]
        copy.update(edge.UpdateOperation.upsert_points(points))
        if offset is None:
            break
    copy.flush()


def _measure_folder(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _remove_other_shards(folder: Path, shard_name: str) -> None:
    """Remove what a kill left of a copy or of its original."""
    for other in folder.glob("shard*"):
        if other.name != shard_name:
            shutil.rmtree(other, ignore_errors=True)


def _drop_lock_after_fork(store: EmbeddedStore) -> None:
    """Close the lock in forked children, so that none keeps the folder after its parent ends."""
    reference = weakref.ref(store)

    def drop_lock() -> None:
        store = reference()
        if store is not None and not store._is_closed:
            os.close(store._lock_descriptor)

    os.register_at_fork(after_in_child=drop_lock)


@contextmanager
def _translate_engine_errors() -> Iterator[None]:
    """Raise ``StoreUnavailable`` for errors and panics of the engine, and for those of its disk."""
    try:
        yield
    except StrataError:
        raise
    except OSError as error:  # without the path, because the message may reach clients
        raise StoreUnavailable(
            f"The disk of the embedded vector store failed: {error.strerror}"
        ) from error
    except Exception as error:  # the engine raises bare exceptions
        raise StoreUnavailable(f"The embedded vector store failed: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise StoreUnavailable(f"The embedded vector store crashed: {error}") from error


def _check_dimension(collection: _OpenCollection, dense: Any) -> None:
    expected = collection.schema.dimension
    if dense is not None and len(dense) != expected:
        raise ValueError(f"A vector has {len(dense)} dimensions; the collection's have {expected}.")

"""The Qdrant engine inside this process: nothing to install, one owner at a time.

On disk, a folder per collection::

    .lock                       held by the owning process
    aliases.json                alias -> collection
    .new-…, .dropped-…, .view-… left by a kill; removed by the next owner
    library.page_embeddings.1/
        collection.json         the schema, as far as it is known to hold
        closed                  how many points, while nothing is only in the engine's log
        shard/                  the engine's own files
"""

import errno
import fcntl
import json
import logging
import os
import re
import shutil
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from documents.exceptions import DiskFull
from indexing.exceptions import StoreOwned, StoreUnavailable
from indexing.stores.base import (
    CollectionSchema,
    Filter,
    Payload,
    Point,
    Query,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    VectorStore,
)
from indexing.stores.engine import (
    DENSE,
    SPARSE,
    UPSERT_BATCH,
    FilterTypes,
    Ranking,
    cut_page,
    fetch_limit,
    has_equal_weights,
    native_rrf_k,
    order_facet,
    rankings_of,
)
from indexing.stores.view import PayloadView

logger = logging.getLogger(__name__)

OPENING_BYTES = 64 * 2**20  # two segments of the log; less than writing needs, so reads go on

FILTERS = FilterTypes(
    filter=edge.Filter,
    field=edge.FieldCondition,
    value=edge.MatchValue,
    any_value=edge.MatchAny,
    text=edge.MatchText,
    number_range=edge.RangeFloat,
    datetime_range=edge.RangeDateTime,
    bool_value=np.bool_,  # Python's own bool is taken for the integers 0 and 1, and finds nothing
)

FIELD_INDEXES: dict[str, Any] = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "bool": edge.PayloadSchemaType.Bool,
    "datetime": edge.PayloadSchemaType.Datetime,
    # The default tokenizer takes a whole Chinese or Thai sentence for one word.
    "text": edge.TextIndexParams(tokenizer=edge.TokenizerType.Multilingual, lowercase=True),
}


@dataclass(slots=True)
class _Collection:
    folder: Path
    schema: CollectionSchema
    shard: edge.EdgeShard


class EmbeddedStore(VectorStore):
    """Collections in a folder this process owns until ``close`` or its death.

    Searches scan: exact, and linear in the number of points (half a millisecond to two for each
    10,000 of 384 dimensions). ``optimize`` builds the graph that ends this.

    Raises:
        StoreOwned: another process has the folder.
    """

    def __init__(self, folder: Path, min_free_bytes: int = 0) -> None:
        self._folder = Path(folder)
        self._min_free_bytes = min_free_bytes
        self._owner = os.getpid()
        self._is_closed = False
        self._opening = threading.RLock()
        self._collections: dict[str, _Collection] = {}
        self._views: dict[str, PayloadView] = {}  # of collections that are not open
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = _own(self._folder)
        _drop_lock_after_fork(self)
        for leftover in self._folder.glob(".*-*"):
            if leftover.name.startswith((".new-", ".dropped-", ".view-")):
                shutil.rmtree(leftover, ignore_errors=True)

    def ensure_collection(self, name: str, schema: CollectionSchema) -> None:
        with self._opening:
            collection = self._find(name)
            if collection is None:
                self._check_disk()
                self._create(name, schema)
                return
            missing = {
                field: kind
                for field, kind in schema.fields.items()
                if field not in collection.schema.fields
            }
            if not missing:
                return
            self._check_disk()
            with _reaching_engine():
                _index_fields(collection.shard, missing)
                collection.shard.flush()
            fields = {**collection.schema.fields, **missing}
            collection.schema = replace(collection.schema, fields=fields)
            _write_schema(collection.folder, collection.schema)

    def has_collection(self, name: str) -> bool:
        self._check_usable()
        return _schema_file(self._folder_of(name)).exists()

    def drop_collection(self, name: str) -> None:
        with self._opening:
            self._check_usable()
            self._close_view(name)
            collection = self._collections.pop(name, None)
            if collection is not None:
                with _reaching_engine():
                    collection.shard.close()
            trash = self._folder / f".dropped-{uuid.uuid4()}"
            try:
                self._folder_of(name).rename(trash)
            except FileNotFoundError:
                return
            _sync_folder(self._folder)
        shutil.rmtree(trash, ignore_errors=True)

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        collection = self._get(name)
        for point in points:
            _check_dimension(collection, point.dense)
        self._check_disk()
        with _reaching_engine():
            for start in range(0, len(points), UPSERT_BATCH):
                written = [_edge_point(point) for point in points[start : start + UPSERT_BATCH]]
                collection.shard.update(edge.UpdateOperation.upsert_points(written))
            collection.shard.flush()

    def replace_payloads(self, name: str, payloads: Mapping[UUID, Payload]) -> None:
        collection = self._find(name)
        if collection is None:
            return
        self._check_disk()
        with _reaching_engine():
            for point_id, payload in payloads.items():
                # Named by filter, a point that is missing is left out; by id, it is an error.
                this_point = edge.Filter(must=[edge.HasIdCondition({point_id})])
                collection.shard.update(
                    edge.UpdateOperation.overwrite_payload_by_filter(this_point, payload)
                )
            collection.shard.flush()

    def delete(self, name: str, ids: Sequence[UUID]) -> None:
        collection = self._find(name)
        if collection is None or not ids:
            return
        self._check_disk()
        with _reaching_engine():
            if collection.schema.has_sparse:
                # A deleted point would count among the documents that hold its terms until the
                # next start, and spoil the terms' weights; a point without terms does not.
                emptied = [edge.Point(each, {SPARSE: edge.SparseVector([], [])}) for each in ids]
                collection.shard.update(
                    edge.UpdateOperation.upsert_points(
                        emptied, update_mode=edge.UpdateMode.UpdateOnly
                    )
                )
            collection.shard.update(edge.UpdateOperation.delete_points(list(ids)))
            collection.shard.flush()

    def search(self, name: str, query: Query) -> list[ScoredPoint]:
        collection = self._find(name)
        rankings = rankings_of(query)
        if collection is None or not rankings or query.limit < 1:
            return []
        _check_dimension(collection, query.dense)
        if query.sparse is not None and not collection.schema.has_sparse:
            raise ValueError(f"{name} has no sparse vectors.")
        request = _edge_request(query, rankings)
        with _reaching_engine():
            found = collection.shard.query(request)
        return cut_page(
            (ScoredPoint(_uuid(hit.id), hit.score, hit.payload or {}) for hit in found), query
        )

    def search_many(self, requests: Sequence[tuple[str, Query]]) -> list[list[ScoredPoint]]:
        # One after the other: a second thread waits for the first, and costs a tenth more.
        return [self.search(name, query) for name, query in requests]

    def retrieve(
        self, name: str, ids: Sequence[UUID], *, with_vectors: bool = False
    ) -> dict[UUID, StoredPoint]:
        collection = self._find(name)
        if collection is None or not ids:
            return {}
        with _reaching_engine():
            records = collection.shard.retrieve(list(ids), True, with_vectors)
        return {_uuid(record.id): _stored_point(record) for record in records}

    def scroll(self, name: str, *, batch: int = 1_000) -> Iterator[list[StoredPoint]]:
        offset: Any = None
        try:
            while True:
                records, offset = self._scroll_batch(name, offset, batch)
                if records:
                    yield [_stored_point(record) for record in records]
                if offset is None:
                    return
        finally:
            self._close_view(name)

    def count(self, name: str, filter: Filter | None = None) -> int:
        collection = self._find(name)
        if collection is None:
            return 0
        request = edge.CountRequest(exact=True, filter=_edge_filter(filter))
        with _reaching_engine():
            return collection.shard.count(request)

    def facet(self, name: str, field: str, *, limit: int) -> dict[str, int]:
        collection = self._find(name)
        if collection is None or limit < 1:
            return {}
        request = edge.FacetRequest(field, limit, exact=True)
        with _reaching_engine():
            hits = collection.shard.facet(request).hits
        return order_facet((str(hit.value), hit.count) for hit in hits)

    def switch_aliases(self, aliases: Mapping[str, str | None]) -> None:
        with self._opening:
            switched = {**self.aliases(), **aliases}
            kept = {alias: name for alias, name in switched.items() if name is not None}
            _write_json(self._folder / "aliases.json", kept)

    def aliases(self) -> dict[str, str]:
        self._check_usable()
        try:
            found: dict[str, str] = json.loads((self._folder / "aliases.json").read_bytes())
        except FileNotFoundError:
            return {}
        return found

    def ping(self) -> None:
        self._check_usable()

    def close(self) -> None:
        """Flush and let go; without effect the second time, and in a forked child."""
        with self._opening:
            if self._is_closed or os.getpid() != self._owner:
                return
            self._is_closed = True
            try:
                for name in list(self._views):
                    self._close_view(name)
                with _reaching_engine():
                    for collection in self._collections.values():
                        count = collection.shard.count(edge.CountRequest(exact=True))
                        collection.shard.flush()
                        collection.shard.close()
                        _mark_closed(collection.folder, count)
            finally:
                self._collections.clear()
                os.close(self._lock_file)

    def optimize(self, name: str) -> bool:
        """Build the graph and merge segments, for when nothing else runs in this process.

        Other threads stand still meanwhile: some ten seconds for each 10,000 points. Searches
        are right without it; afterwards they are approximate and no longer linear.

        Returns:
            Whether there was anything to do.

        Raises:
            LookupError: there is no such collection.
        """
        collection = self._get(name)
        self._check_disk()
        with _reaching_engine():
            changed = collection.shard.optimize()
            collection.shard.flush()
        return changed

    def _check_usable(self) -> None:
        if os.getpid() != self._owner:
            # The engine's threads did not come along, and a call would wait for them for ever.
            raise StoreUnavailable(
                "The embedded vector store cannot be used in a forked child process."
            )
        if self._is_closed:
            raise StoreUnavailable("The embedded vector store is closed.")

    def _check_disk(self, needed_bytes: int | None = None) -> None:
        """The engine writes through mapped files: a full disk would kill the process."""
        needed = self._min_free_bytes if needed_bytes is None else needed_bytes
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise DiskFull(
                f"{free // 2**20} MiB are free where the vectors are kept; at least "
                f"{needed // 2**20} MiB are needed.",
                fix="Free some space; what waits is then written by itself.",
            )

    def _folder_of(self, name: str) -> Path:
        return self._folder / _folder_name(name)

    def _get(self, name: str) -> _Collection:
        collection = self._find(name)
        if collection is None:
            raise LookupError(f"There is no collection {name!r}.")
        return collection

    def _find(self, name: str) -> _Collection | None:
        """The collection, opened on first use; None where there is none."""
        self._check_usable()
        if opened := self._collections.get(name):
            return opened
        with self._opening:
            self._check_usable()
            if opened := self._collections.get(name):
                return opened
            folder = self._folder_of(name)
            try:
                schema = _read_schema(folder)
            except FileNotFoundError:
                return None
            # Opening writes as well: what the log holds is played back.
            self._check_disk(min(OPENING_BYTES, self._min_free_bytes))
            self._close_view(name)
            _mark_open(folder)
            with _reaching_engine():
                shard = edge.EdgeShard.load(str(folder / "shard"))
            self._collections[name] = _Collection(folder, schema, shard)
            return self._collections[name]

    def _scroll_batch(self, name: str, offset: Any, limit: int) -> tuple[list[Any], Any]:
        """The next points, and where those after them begin, if there are any."""
        self._check_usable()
        if name not in self._collections:
            with self._opening:  # nobody opens the collection, or writes to it, meanwhile
                view = None if name in self._collections else self._view_of(name)
                if view is not None:
                    with _reaching_engine():
                        return view.scroll(offset, limit)
        collection = self._find(name)
        if collection is None:
            return [], None
        request = edge.ScrollRequest(offset=offset, limit=limit, with_payload=True)
        with _reaching_engine():
            return collection.shard.scroll(request)

    def _view_of(self, name: str) -> PayloadView | None:
        """The view of a closed collection; None where it must be opened to be read."""
        if view := self._views.get(name):
            return view
        folder = self._folder_of(name)
        if not _closed_file(folder).exists():
            return None
        count = _closed_file(folder).read_text(encoding="ascii")
        self._check_disk(min(OPENING_BYTES, self._min_free_bytes))
        try:
            with _reaching_engine():
                view = PayloadView(folder / "shard", self._folder / f".view-{uuid.uuid4()}")
                if count != str(view.count()):
                    view.close()
                    raise ValueError(f"not all of its {count} points were seen")
        except StoreUnavailable as error:
            logger.warning("%s is opened whole to be read: %s", name, error)
            return None
        self._views[name] = view
        return view

    def _close_view(self, name: str) -> None:
        if os.getpid() != self._owner:
            return
        with self._opening:
            view = self._views.pop(name, None)
            if view is not None:
                with _reaching_engine():
                    view.close()

    def _create(self, name: str, schema: CollectionSchema) -> None:
        """Complete it under another name first: a collection is there whole or not at all."""
        draft = self._folder / f".new-{uuid.uuid4()}"
        (draft / "shard").mkdir(parents=True)
        try:
            with _reaching_engine():
                shard = edge.EdgeShard.create(str(draft / "shard"), _edge_config(schema))
                _index_fields(shard, schema.fields)
                shard.flush()
                shard.close()
            _write_schema(draft, schema)
            _mark_closed(draft, 0)
            draft.rename(self._folder_of(name))
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        _sync_folder(self._folder)


def map_files_once() -> None:
    """Spare the memory of a second copy of every vector, for a process that reads all of them.

    The engine maps each file twice, once for reading it in order; where the system keeps little of
    it, that is the faster way. To be called before the first collection is opened.
    """
    os.environ["QDRANT_NO_MULTI_MMAP"] = "1"


# --- Ownership -------------------------------------------------------------------------------


def _own(folder: Path) -> int:
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
            raise
        raise StoreOwned(
            "Another process owns the embedded vector store.",
            fix="Stop the server that runs on this data folder, or let it do the work.",
        ) from None
    return descriptor


def _drop_lock_after_fork(store: EmbeddedStore) -> None:
    """Keep a child that outlives its parent from owning the folder in the parent's place."""
    reference = weakref.ref(store)

    def drop_lock() -> None:
        store = reference()
        if store is not None and not store._is_closed:
            os.close(store._lock_file)

    os.register_at_fork(after_in_child=drop_lock)


@contextmanager
def _reaching_engine() -> Iterator[None]:
    """Errors and panics of the engine become ``StoreUnavailable``."""
    try:
        yield
    except Exception as error:  # the engine raises bare exceptions
        raise StoreUnavailable(f"The embedded vector store failed: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise StoreUnavailable(f"The embedded vector store broke down: {error}") from error


# --- Files -----------------------------------------------------------------------------------


def _folder_name(name: str) -> str:
    """The name itself where any file system keeps it apart from others; else escaped."""

    def escape(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02x}" for byte in match[0].encode())

    return re.sub(r"^\.|[^a-z0-9_.-]", escape, name)


def _schema_file(folder: Path) -> Path:
    return folder / "collection.json"


def _read_schema(folder: Path) -> CollectionSchema:
    return CollectionSchema(**json.loads(_schema_file(folder).read_text(encoding="utf-8")))


def _closed_file(folder: Path) -> Path:
    return folder / "closed"


def _mark_closed(folder: Path, count: int) -> None:
    """Nothing of its ``count`` points is only in the engine's log."""
    _closed_file(folder).write_text(str(count), encoding="ascii")
    _sync_folder(folder)


def _mark_open(folder: Path) -> None:
    if _closed_file(folder).exists():
        _closed_file(folder).unlink()
        _sync_folder(folder)


def _write_schema(folder: Path, schema: CollectionSchema) -> None:
    _write_json(_schema_file(folder), asdict(replace(schema, fields=dict(schema.fields))))


def _write_json(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all, whatever happens meanwhile."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make renames in the folder outlast a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- To the engine's types and back ----------------------------------------------------------


def _edge_config(schema: CollectionSchema) -> edge.EdgeConfig:
    sparse = {SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(schema.dimension, edge.Distance.Cosine)},
        sparse_vectors=sparse if schema.has_sparse else None,
        payload_memory=edge.Memory.Cached,  # every hit's payload is read
        wal_enabled=True,
    )


def _index_fields(shard: edge.EdgeShard, fields: Mapping[str, str]) -> None:
    for field, kind in fields.items():
        shard.update(edge.UpdateOperation.create_field_index(field, FIELD_INDEXES[kind]))


def _check_dimension(collection: _Collection, dense: Any) -> None:
    expected = collection.schema.dimension
    if dense is not None and len(dense) != expected:
        raise ValueError(f"A vector has {len(dense)} dimensions; the collection's have {expected}.")


def _edge_point(point: Point) -> edge.Point:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _edge_sparse(point.sparse)
    return edge.Point(point.id, vectors, point.payload)


def _edge_sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(vector.indices, vector.values)


def _edge_filter(filter: Filter | None) -> edge.Filter | None:
    return None if filter is None else FILTERS.translate(filter)


def _edge_request(query: Query, rankings: Sequence[Ranking]) -> edge.QueryRequest:
    limit, filter = fetch_limit(query), _edge_filter(query.filter)
    fusion = query.fusion
    if fusion is None:
        return edge.QueryRequest(
            limit=limit, query=_nearest(rankings[0]), filter=filter, with_payload=True
        )
    candidates = [
        edge.Prefetch(limit=fusion.prefetch, query=_nearest(ranking), filter=filter)
        for ranking in rankings
    ]
    rrf: Any = edge.Fusion.Rrf(k=native_rrf_k(fusion.k))
    if has_equal_weights(rankings):
        return edge.QueryRequest(limit=limit, prefetches=candidates, query=rrf, with_payload=True)
    reciprocal_ranks = [
        edge.Prefetch(limit=fusion.prefetch, prefetches=[candidate], query=rrf)
        for candidate in candidates
    ]
    scores = [f"$score[{number}]" for number in range(len(rankings))]
    expression: Any = edge.Expression
    shares = [
        expression.Mult([expression.Constant(ranking.weight), expression.Variable(score)])
        for ranking, score in zip(rankings, scores, strict=True)
    ]
    return edge.QueryRequest(
        limit=limit,
        prefetches=reciprocal_ranks,
        query=edge.Formula(expression.Sum(shares), dict.fromkeys(scores, 0.0)),
        with_payload=True,
    )


def _nearest(ranking: Ranking) -> Any:
    vector = ranking.vector
    query: Any = _edge_sparse(vector) if isinstance(vector, SparseVector) else vector
    return edge.Query.Nearest(query, using=ranking.using)


def _uuid(point_id: Any) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))


def _stored_point(record: edge.Record) -> StoredPoint:
    vectors: Any = record.vector or {}
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    return StoredPoint(
        id=_uuid(record.id),
        payload=record.payload or {},
        dense=None if dense is None else np.asarray(dense, dtype=np.float32),
        sparse=None if sparse is None else SparseVector(sparse.indices, sparse.values),
    )

"""The store itself: collections, opened on first use, and what is asked of them."""

import json
import logging
import os
import shutil
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from core.exceptions import DiskFull
from indexing.exceptions import StoreUnavailable
from indexing.stores.base import (
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
    closed_file,
    folder_name,
    mark_closed,
    mark_open,
    own,
    read_schema,
    schema_file,
    sync_folder,
    write_json,
    write_schema,
)
from indexing.stores.embedded.payload_view import PayloadView
from indexing.stores.embedded.translation import (
    edge_config,
    edge_filter,
    edge_point,
    edge_request,
    index_fields,
    stored_point,
    uuid_of,
)
from indexing.stores.engine import (
    SPARSE,
    UPSERT_BATCH,
    cut_page,
    order_facet,
    rankings_of,
)

logger = logging.getLogger(__name__)

OPENING_BYTES = 64 * 2**20  # two segments of the log; less than writing needs, so reads go on


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
        self._lock_file = own(self._folder)
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
                index_fields(collection.shard, missing)
                collection.shard.flush()
            fields = {**collection.schema.fields, **missing}
            collection.schema = replace(collection.schema, fields=fields)
            write_schema(collection.folder, collection.schema)

    def has_collection(self, name: str) -> bool:
        self._check_usable()
        return schema_file(self._folder_of(name)).exists()

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
            sync_folder(self._folder)
        shutil.rmtree(trash, ignore_errors=True)

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        collection = self._get(name)
        for point in points:
            _check_dimension(collection, point.dense)
        self._check_disk()
        with _reaching_engine():
            for start in range(0, len(points), UPSERT_BATCH):
                written = [edge_point(point) for point in points[start : start + UPSERT_BATCH]]
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
        request = edge_request(query, rankings)
        with _reaching_engine():
            found = collection.shard.query(request)
        return cut_page(
            (ScoredPoint(uuid_of(hit.id), hit.score, hit.payload or {}) for hit in found), query
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
        return {uuid_of(record.id): stored_point(record) for record in records}

    def scroll(self, name: str, *, batch: int = 1_000) -> Iterator[list[StoredPoint]]:
        offset: Any = None
        try:
            while True:
                records, offset = self._scroll_batch(name, offset, batch)
                if records:
                    yield [stored_point(record) for record in records]
                if offset is None:
                    return
        finally:
            self._close_view(name)

    def count(self, name: str, filter: Filter | None = None) -> int:
        collection = self._find(name)
        if collection is None:
            return 0
        request = edge.CountRequest(exact=True, filter=edge_filter(filter))
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
            write_json(self._folder / "aliases.json", kept)

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
                        mark_closed(collection.folder, count)
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
        return self._folder / folder_name(name)

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
                schema = read_schema(folder)
            except FileNotFoundError:
                return None
            # Opening writes as well: what the log holds is played back.
            self._check_disk(min(OPENING_BYTES, self._min_free_bytes))
            self._close_view(name)
            mark_open(folder)
            with _reaching_engine():
                shard = edge.EdgeShard.load(str(folder / "shard"), edge_config(schema))
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
        if not closed_file(folder).exists():
            return None
        count = closed_file(folder).read_text(encoding="ascii")
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
                shard = edge.EdgeShard.create(str(draft / "shard"), edge_config(schema))
                index_fields(shard, schema.fields)
                shard.flush()
                shard.close()
            write_schema(draft, schema)
            mark_closed(draft, 0)
            draft.rename(self._folder_of(name))
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        sync_folder(self._folder)


def map_files_once() -> None:
    """Spare the memory of a second copy of every vector, for a process that reads all of them.

    The engine maps each file twice, once for reading it in order; where the system keeps little of
    it, that is the faster way. To be called before the first collection is opened.
    """
    os.environ["QDRANT_NO_MULTI_MMAP"] = "1"


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


def _check_dimension(collection: _Collection, dense: Any) -> None:
    expected = collection.schema.dimension
    if dense is not None and len(dense) != expected:
        raise ValueError(f"A vector has {len(dense)} dimensions; the collection's have {expected}.")

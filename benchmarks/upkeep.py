"""Measure one pass of the upkeep and ``verify`` of points, at several sizes.

The ledger is a table in SQLite with a row for each point. The points come from a stand-in for the
store, which computes them when they are read. Nothing is chunked or embedded. Times are processor
times, so that other work on the machine does not count.
"""

import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock
from uuid import UUID

from benchmarks.resources import MIB

PAYLOAD = {"text": "A heron waits in the shallow water."}
ROWS_PER_STATEMENT = 500_000
PASSES = 20
CHUNKS_PER_ARTIFACT = 100
MAX_VERIFIED = 100_000  # the last points: each slice reads only its own range of ids


class ComputedPoints:
    """Stands in for a store with a point for each row. Counts the points read."""

    has_late_writes = False

    def __init__(self, point_count: int) -> None:
        self.point_count = point_count
        self.read_count = 0

    def count_roughly(self, name: str) -> int:
        return self.point_count

    def scroll(
        self, name: str, *, after: UUID | None = None, batch: int = 1_000, with_payload: bool = True
    ) -> Iterator[list[Any]]:
        from indexing.stores.base import StoredPoint

        first = 0 if after is None else (after.int >> 64) + 1
        numbers = range(first, min(first + batch, self.point_count))
        self.read_count += len(numbers)
        payload = PAYLOAD if with_payload else {}
        yield [StoredPoint(UUID(int=number << 64), payload) for number in numbers]


def measure_upkeep(sizes: Sequence[int]) -> None:
    from django.core.management import call_command

    from core.commands import limit_database_cache
    from indexing.models import IndexBuild
    from indexing.point_audit import audit_next_points
    from indexing.services import load_specs
    from indexing.verification import VerificationReport
    from indexing.verification.builds import verify_points

    call_command("migrate", verbosity=0)
    limit_database_cache()
    load_specs()
    build = IndexBuild.objects.live().get(index="plain")
    held = 0
    for size in sorted(sizes):
        add_rows(build, held, size)
        held = size
        store = ComputedPoints(size)
        seconds = []
        with (
            mock.patch("indexing.point_comparison.get_store", return_value=store),
            mock.patch("indexing.point_audit.get_store", return_value=store),
        ):
            for _ in range(PASSES):
                started = time.process_time()
                audited = audit_next_points(build)
                seconds.append(time.process_time() - started)
                assert audited == (0, True), audited
            read_count = store.read_count // PASSES
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            print(
                f"{size:>10} points: one pass {statistics.median(seconds) * 1e3:.1f} ms of CPU, "
                f"{read_count} points read, peak memory {before / MIB:.0f} MiB",
                flush=True,
            )
            report = VerificationReport("plain", 1)
            started = time.process_time()
            first = max(0, size - MAX_VERIFIED)
            after = UUID(int=(first - 1) << 64) if first else None
            verify_points(build, report, repair=False, after=after)
            verified = time.process_time() - started
        assert report.is_sound, report
        assert report.point_count == report.node_count == size - first
        after_verify = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{'':>10} verify of the last {size - first} {verified:.1f} s of CPU, "
            f"{verified / (size - first) * 1e6:.0f} us a point, "
            f"peak memory {after_verify / MIB:.0f} MiB",
            flush=True,
        )


def add_rows(build: Any, held: int, size: int) -> None:
    """Copy a row of the ledger until there are ``size``, with ascending ids."""
    from django.db import connection
    from django.utils import timezone

    from indexing.drafting import hash_payload
    from indexing.models import Node, NodeCountChange

    model = build.spec.embedding_spec_for("chunk")
    template = Node(
        build=build, point_id=UUID(int=0), artifact_id=UUID(int=0), kind="chunk",
        text=PAYLOAD["text"], payload_hash=hash_payload(PAYLOAD), embedding_model=model.model,
        dimension=model.dimension, state=Node.State.SYNCED, planned_at=timezone.now(),
    )  # fmt: skip
    if not held:
        template.save()
    columns = [str(field.column) for field in Node._meta.concrete_fields if not field.primary_key]
    computed = {
        "point_id": "printf('%016x%016x', number, 0)",
        "artifact_id": f"printf('%032x', number / {CHUNKS_PER_ARTIFACT})",
    }
    for first in range(max(held, 1), size, ROWS_PER_STATEMENT):
        last = min(first + ROWS_PER_STATEMENT, size) - 1
        with connection.cursor() as cursor:
            cursor.execute(
                f"WITH RECURSIVE numbers(number) AS (SELECT {first} UNION ALL "
                f"SELECT number + 1 FROM numbers WHERE number < {last}) "
                f"INSERT INTO indexing_node ({', '.join(columns)}) "
                f"SELECT {', '.join(computed.get(name, name) for name in columns)} "
                "FROM numbers, (SELECT * FROM indexing_node ORDER BY id LIMIT 1)"
            )
    NodeCountChange.objects.create(build=build, synced_count=size - held, node_count=size - held)

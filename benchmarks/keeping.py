"""Measure what an installation keeps for years: the audit log, and an index that moves."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.resources import measure_command, read_processor_seconds
from tests.serving import serving

AUDIT_BLOCK = 10_000  # rows written at once


def measure_audit_export(row_count: int) -> None:
    """Export and verify an audit log of this many rows, over HTTP."""
    with TemporaryDirectory(prefix="strata-bench-") as folder:
        environment = {**os.environ, "STRATA_DATA_DIR": folder}
        filling = [sys.executable, "-m", "benchmarks.keeping", str(row_count)]
        subprocess.run(filling, env=environment, check=True)
        _export_audit_log(Path(folder), row_count)


def _export_audit_log(folder: Path, row_count: int) -> None:
    with serving(folder) as service:
        assert service.process is not None
        pid = service.process.pid
        # The model, for which the first search waits, is not counted.
        service.api.get("search/pages", params={"index": "plain", "q": "heron"})
        with _measuring("export", pid), service.api.stream("GET", "audit/export") as answer:
            answer.raise_for_status()
            line_count = sum(part.count(b"\n") for part in answer.iter_raw())
        assert line_count > row_count, line_count
        with _measuring("verify", pid):
            verified = service.api.get("audit/verify/", timeout=3_600).json()
        assert verified["is_intact"] is True, verified
        assert verified["rows"] >= row_count, verified


def measure_moving(node_count: int) -> None:
    """Export an index of this many nodes, and import it elsewhere, without servers: one would
    refuse the random vectors, which are not those of its model."""
    with TemporaryDirectory(prefix="strata-bench-") as folder:
        here, there = ({**os.environ, "STRATA_DATA_DIR": f"{folder}/{name}"} for name in "ab")
        filling = [sys.executable, "-m", "benchmarks.filling", str(node_count)]
        subprocess.run(filling, env=here, check=True)
        move_index("plain", Path(folder), here, there)


def move_index(index: str, folder: Path, here: dict[str, str], there: dict[str, str]) -> None:
    archive = str(folder / "index.zip")
    _run(["export", index, archive], here)
    print(f"archive: {Path(archive).stat().st_size / 1e6:.0f} MB")
    _run(["import", archive], there)
    _run(["verify", "--index", index], there)


def _run(arguments: list[str], environment: dict[str, str]) -> None:
    used = measure_command([sys.executable, "manage.py", *arguments], environment)
    print(
        f"{arguments[0]}: exit {used.exit_status}, {used.seconds:.1f} s, CPU "
        f"{used.cpu_seconds:.1f} s, {used.peak_mib:.0f} MiB at most, {used.anonymous_mib:.0f} its "
        "own",
        flush=True,
    )


@contextmanager
def _measuring(what: str, pid: int) -> Iterator[None]:
    """Print the seconds and the peak memory of a server in the block."""
    started, used = time.perf_counter(), read_processor_seconds(pid)
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak is what it has now
    before = _read_peak_mib(pid)
    yield
    print(
        f"{what}: {time.perf_counter() - started:.1f} s, CPU "
        f"{read_processor_seconds(pid) - used:.1f} s, {_read_peak_mib(pid):.0f} MiB at most, "
        f"{before:.0f} before",
        flush=True,
    )


def _read_peak_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    [peak] = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) / 1_024


def _write_audit_rows(row_count: int) -> None:
    """Write sealed rows, as requests and the periodic task do."""
    from audit.models import AuditRow, Chain, Subject
    from audit.services import write_rows

    write_rows((Subject.Kind.KEY, 1, "reader", "192.0.2.1"), ("POST", "search/pages"), 200, [])
    subject = Subject.objects.get()
    person = subject.encrypt("reader", "192.0.2.1")
    chain = Chain(pk=1)
    for start in range(0, row_count, AUDIT_BLOCK):
        rows = []
        for number in range(start + 1, min(start + AUDIT_BLOCK, row_count) + 1):
            row = AuditRow(
                pk=number, subject=subject, person=person, method="POST",
                route="/api/v1/search/pages", index="plain", status=200, position=number,
            )  # fmt: skip
            row.seal = chain.seal = row.compute_seal(chain.seal)
            rows.append(row)
        AuditRow.objects.bulk_create(rows)
    chain.position = row_count
    chain.save()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    _write_audit_rows(int(sys.argv[1]))

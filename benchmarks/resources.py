"""Measure processes: time, processor time, and peak memory by type."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.05
MIB = 1024  # KiB


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    exit_status: int
    seconds: float
    cpu_seconds: float
    peak_mib: float  # resident memory, including mapped files
    anonymous_mib: float  # anonymous memory, as sampled
    mapped_file_mib: float  # mapped file pages, as sampled; the system can reclaim them


def read_processor_seconds(pid: int) -> float:
    """Processor time of a process and its descendants until now, including ended ones."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The program's name, in brackets, may contain any character: read what follows it.
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended; its time is counted for its parent
        ticks[int(stat.parent.name)] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    tree = [pid]
    for each in tree:
        tree += children.get(each, [])
    return sum(ticks[each] for each in tree) / os.sysconf("SC_CLK_TCK")


def measure_command(command: Sequence[str], environment: Mapping[str, str]) -> ResourceUsage:
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    peaks: dict[str, int] = {}
    has_ended = threading.Event()
    sampler = threading.Thread(target=_sample_memory, args=[process.pid, peaks, has_ended])
    sampler.start()
    # wait4 returns the figures of this child only; the child that filled the index used more
    # memory. They include the memory shared with this process before exec, which is little.
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    has_ended.set()
    sampler.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return ResourceUsage(
        process.returncode,
        seconds,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / MIB,
        peaks.get("RssAnon", 0) / MIB,
        peaks.get("RssFile", 0) / MIB,
    )


def _sample_memory(pid: int, peaks: dict[str, int], has_ended: threading.Event) -> None:
    while not has_ended.wait(SAMPLE_SECONDS):
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        except OSError:
            return
        for line in lines:
            name, _, value = line.partition(":")
            if name in {"RssAnon", "RssFile"}:
                peaks[name] = max(peaks.get(name, 0), int(value.split()[0]))

"""How much memory this process may use."""

import os
from collections.abc import Iterator
from pathlib import Path

# cgroup v2, and the memory controller of v1: where it is mounted, and the file of a group's limit.
_LIMIT_FILES = {
    "": ("sys/fs/cgroup", "memory.max"),
    "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
}


def read_memory_limit(root: Path = Path("/")) -> int:
    """Bytes of memory of the machine, or the limit of this process's control groups if that is
    less, as in a container."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_read_group_limits(root)])


def _read_group_limits(root: Path) -> Iterator[int]:
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except FileNotFoundError:  # not Linux
        return
    for line in groups:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller not in _LIMIT_FILES:
                continue
            folder, name = _LIMIT_FILES[controller]
            group = Path(path.lstrip("/"))
            for parent in (group, *group.parents):  # in a container, only the last may be visible
                file = root / folder / parent / name
                if file.is_file() and (limit := file.read_text().strip()).isdecimal():
                    yield int(limit)

import os

import pytest

from core.memory import read_memory_limit

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"sys/fs/cgroup/memory.max": "1000\n"}, 1000),
        (
            "0::/a/b\n",
            {"sys/fs/cgroup/a/memory.max": "900", "sys/fs/cgroup/a/b/memory.max": "max"},
            900,
        ),
        ("4:cpu,memory:/host/id\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "800"}, 800),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "max\n"}, MACHINE),
        ("0::/\n", {"sys/fs/cgroup/memory.max": str(MACHINE * 2)}, MACHINE),
        ("0::/\n", {}, MACHINE),
    ],
)
def test_is_the_least_of_the_machine_and_the_control_groups(tmp_path, groups, files, limit):
    for name, content in {"proc/self/cgroup": groups, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    assert read_memory_limit(tmp_path) == limit


def test_is_the_machines_without_control_groups(tmp_path):
    assert read_memory_limit(tmp_path) == MACHINE

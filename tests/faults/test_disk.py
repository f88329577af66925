"""The disk full: up to the reserve, then to its last byte."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.armed import armed
from tests.faults.counts import note, times
from tests.faults.owner import Owner, Refused
from tests.serving import Service, started

MIB = 2**20
DISK_BYTES = 480 * MIB
FREE_BYTES = 200 * MIB  # less than STRATA_MIN_FREE_BYTES


@pytest.fixture
def disk(tmp_path):
    """A small file system for the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        problem = f"No small disk can be mounted here: {mounted.stderr.strip()}"
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(folder: Path, free_bytes: int) -> Path:
    """Fill the disk up to this many free bytes; return the file to remove later."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        while (room := shutil.disk_usage(folder).free - free_bytes) > 0:
            try:
                file.write(bytes(min(room, MIB)))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                break
    return ballast


class TestAFullDisk:
    def test_refuses_documents_serves_searches_and_continues_once_there_is_space(self, disk):
        with armed(disk, STRATA_FAULT_EMBEDDING_SECONDS="0.3") as service:
            owner = Owner(service)
            owner.put("kept", "The kept text stands.")
            owner.check()

            for number in range(times("full-disk")):
                for each in range(8):
                    owner.put(f"underway {number} {each}", f"Half done, {number} {each}. " * 30)
                for free_bytes in (FREE_BYTES, 0):
                    ballast = fill(disk, free_bytes)
                    with pytest.raises(Refused) as refused:
                        owner.put("late", f"Too late, {number}.")
                    assert refused.value.answer.status_code == 507
                    assert refused.value.answer.json()["code"] == "disk_full"
                    assert owner.find("kept", "kept text")
                    assert not service.is_dead()
                    note("full-disk")
                ballast.unlink()
                owner.put("late", f"Just in time, {number}.")

                owner.check(asks_for_reconciliation=True)

    def test_ends_a_start_with_a_sentence_and_the_next_one_works(self, disk):
        ballast = fill(disk, 0)
        service = Service(disk)

        ended = service.manage("serve", "--port", str(service.port))

        assert ended.returncode == 1
        assert "Traceback" not in ended.stderr
        assert "Run strata doctor for details." in ended.stderr
        ballast.unlink()
        with started(service):
            assert service.api.get("indexes/").is_success

"""Measure ``strata verify`` on a filled index, in its own process and without a server."""

import os
import subprocess
import sys
import tempfile

from benchmarks.resources import measure_command


def measure_verify(node_count: int) -> None:
    """Print seconds and peak memory, including files mapped by the engine and the database."""
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        environment = {**os.environ, "STRATA_DATA_DIR": folder}
        filling = [sys.executable, "-m", "benchmarks.filling", str(node_count)]
        filled = subprocess.run(filling, env=environment, check=True, stdout=subprocess.PIPE)
        opening = [sys.executable, "-m", "benchmarks.filling", "--open"]
        opened = measure_command(opening, environment)
        verifying = [sys.executable, "manage.py", "verify", "--index", "plain"]
        verified = measure_command(verifying, environment)
    print(f"verify, {int(filled.stdout)} nodes:")
    print(
        f"  exit {verified.exit_status}, {verified.seconds:.1f} s, CPU {verified.cpu_seconds:.1f} s"
    )
    for name, used in (("verify", verified), ("only opened", opened)):
        print(
            f"  {name:11} {used.peak_mib:5.0f} MiB at most: {used.anonymous_mib:.0f} its own, "
            f"{used.mapped_file_mib:.0f} of files"
        )

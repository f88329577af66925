"""``manage.py verify`` of a filled index, in a process of its own, where no server runs."""

import os
import subprocess
import sys
import tempfile

from benchmarks.resources import run_measured


def measure_verify(node_count: int) -> None:
    """Seconds and peak memory; what engine and database map of their files counts as well."""
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        environment = {**os.environ, "STRATA_DATA_DIR": folder}
        filling = [sys.executable, "-m", "benchmarks.filling", str(node_count)]
        filled = subprocess.run(filling, env=environment, check=True, stdout=subprocess.PIPE)
        opening = [sys.executable, "-m", "benchmarks.filling", "--open"]
        opened = run_measured(opening, environment)
        verifying = [sys.executable, "manage.py", "verify", "--index", "plain"]
        verified = run_measured(verifying, environment)
    print(f"verify, {int(filled.stdout)} nodes:")
    print(f"  exit {verified.status}, {verified.seconds:.1f} s, CPU {verified.cpu_seconds:.1f} s")
    for name, used in (("verify", verified), ("only opened", opened)):
        print(
            f"  {name:11} {used.peak_mib:5.0f} MiB at most: {used.own_mib:.0f} its own, "
            f"{used.mapped_mib:.0f} of files"
        )

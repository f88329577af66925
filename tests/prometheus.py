"""A real Prometheus, which scrapes a service each second and answers the dashboard's queries."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving import ROOT, free_port

WAIT_SECONDS = 120
SCRAPES = 3  # a rate needs two
DASHBOARD = ROOT / "docs" / "grafana-dashboard.json"


@dataclass(frozen=True)
class Panel:
    query: str
    labels: set[str]  # that its legend shows

    @property
    def series(self) -> str:
        """The query without the threshold, above or below which it shows nothing."""
        return re.sub(r" (==|>) 0$", "", self.query)


def read_panels() -> list[Panel]:
    """The queries with the defaults of the dashboard's variables."""
    dashboard = json.loads(DASHBOARD.read_text())
    defaults = {each["name"]: each["query"] for each in dashboard["templating"]["list"]}
    return [
        Panel(
            re.sub(r"\$(\w+)", lambda variable: defaults[variable[1]], target["expr"]),
            set(re.findall(r"{{(\w+)}}", target["legendFormat"])),
        )
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]


class Prometheus:
    def __init__(self, port: int) -> None:
        self.api = httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1/", trust_env=False)

    def query(self, query: str) -> list[dict[str, Any]]:
        answer = self.api.get("query", params={"query": query})
        assert answer.status_code == 200, f"{query}: {answer.text}"
        return list(answer.json()["data"]["result"])

    def find_unanswered(self) -> list[str]:
        """The dashboard's queries that find no series, or not with the labels of the legend."""
        unanswered = []
        for panel in read_panels():
            self.query(panel.query)
            found = self.query(panel.series)
            if not found or not all(panel.labels <= row["metric"].keys() for row in found):
                unanswered.append(panel.query)
        return unanswered


@contextmanager
def prometheus(url: str, key: str, folder: Path) -> Iterator[Prometheus]:
    """Scrape the service at this URL until the block ends. Continuous integration must fail without
    Prometheus; elsewhere it is optional."""
    program = shutil.which("prometheus")
    if program is None:
        reason = "Needs prometheus on the PATH (Debian's package of this name)."
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    (folder / "key").write_text(key)
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {
                "job_name": "strata",
                "authorization": {"credentials_file": str(folder / "key")},
                "static_configs": [{"targets": [url.removeprefix("http://")]}],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(configuration))  # JSON is YAML, too
    port, log = free_port(), folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                program, f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    server = Prometheus(port)
    try:
        yield server
    except httpx.TransportError as error:
        raise AssertionError(log.read_text()) from error
    finally:
        server.api.close()
        process.terminate()
        process.wait()


def wait_until_scraped(server: Prometheus) -> None:
    """Wait until it has scraped the service a few times from now on."""
    deadline = time.monotonic() + WAIT_SECONDS
    started_at = time.time()
    while time.monotonic() < deadline:
        try:
            counted = server.query(
                f"count_over_time(up[{max(1, int(time.time() - started_at))}s]) and up == 1"
            )
        except (httpx.TransportError, AssertionError):  # it is starting
            counted = []
        if counted and float(counted[0]["value"][1]) >= SCRAPES:
            return
        time.sleep(0.5)
    raise AssertionError("Prometheus has not scraped the service.")

"""The service in a process of its own, and a real browser to look at it with."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from django.conf import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KEY = "browser-test-key-5f1c0de2a7"
START_SECONDS = 60
READY_SECONDS = 90  # the model is loaded meanwhile
STOP_SECONDS = 15
CHROMIUM_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass(frozen=True)
class Service:
    url: str
    log: Path
    api: httpx.Client

    @property
    def admin_password(self) -> str:
        """As the first start prints it."""
        found = re.search(r"admin login +admin / (\S+)", self.log.read_text())
        assert found
        return found.group(1)

    def add(self, index: str, **document: Any) -> str:
        """Add a document, wait until it can be searched, and return its artifact's id."""
        accepted = self.api.post(f"indexes/{index}/artifacts/", json=document)
        assert accepted.status_code in {200, 202}, accepted.text
        artifact_id = accepted.json()["id"]
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            artifact = self.api.get(f"artifacts/{artifact_id}/").json()
            if artifact["status"] == "ready":
                return str(artifact_id)
            assert artifact["status"] != "failed", artifact
            time.sleep(0.2)
        raise AssertionError(f"{artifact} is not ready; the service said: {self.log.read_text()}")


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("served")
    log = data / "serve.log"
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "STRATA_DATA_DIR": str(data),
        "STRATA_MODELS_DIR": str(settings.STRATA_MODELS_DIR),
        "STRATA_ADMIN_KEY": KEY,
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(port)],
            cwd=settings.BASE_DIR, env=environment, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    headers = {"Authorization": f"Bearer {KEY}"}
    try:
        with httpx.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=30) as api:
            _wait_until_ready(url, process, log)
            yield Service(url, log, api)
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/health/ready", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"The service did not start: {log.read_text()}")


def _missing(what: str) -> None:
    """Continuous integration must not pass without looking; elsewhere a browser is optional."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    executable = shutil.which("chromium")
    if executable is None:
        _missing("There is no chromium on the PATH.")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: "Browser", service: Service) -> "Iterator[Page]":
    """A fresh tab; what its scripts throw, or its content policy forbids, fails the test."""
    context = browser.new_context(base_url=service.url, viewport={"width": 1000, "height": 900})
    context.set_default_timeout(20_000)  # milliseconds
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if "Content Security" in said.text else None,
    )
    yield page
    context.close()
    assert complaints == []

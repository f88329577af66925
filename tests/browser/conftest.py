"""The service in a separate process, and a real browser."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.forked import serving_forked
from tests.serving import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving_forked(tmp_path_factory.mktemp("served")) as service:
        yield service


def _missing(what: str) -> None:
    """Fail in continuous integration; elsewhere skip, because a browser is optional."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    # Without windows, it takes a third of the processor time of a whole browser.
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if executable is None:
        _missing("Neither chromium-headless-shell nor chromium is on the PATH.")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: "Browser", service: Service, request: pytest.FixtureRequest) -> "Iterator[Page]":
    """A new tab; script errors and violations of the content policy fail the test. A test that
    fails says what the page showed."""
    context = browser.new_context(base_url=service.url, viewport={"width": 1000, "height": 900})
    context.set_default_timeout(20_000)  # milliseconds
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if "Content Security" in said.text else None,
    )
    failed_before = request.session.testsfailed
    yield page
    if request.session.testsfailed > failed_before:
        print(page.url, page.inner_text("body")[:2_000], sep="\n")
    page.unroute_all(behavior="ignoreErrors")  # the page may ask for its state at any time
    context.close()
    assert complaints == []

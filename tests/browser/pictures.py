"""Makes the pictures of the docs from the running pages: ``python -m tests.browser.pictures``."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import BrowserType, Page, ViewportSize, sync_playwright

from tests.browser.conftest import CHROMIUM_ARGUMENTS
from tests.serving import KEY, ROOT, Service, serving

FOLDER = ROOT / "docs" / "images"
VIEWPORT: ViewportSize = {"width": 1180, "height": 860}
QUESTION = "Who kept the light burning during the great storm?"


def main() -> None:
    executable = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if executable is None:
        sys.exit("Neither chromium-headless-shell nor chromium is on the PATH.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        _draw_all(Path(folder), playwright.chromium, executable)


def _draw_all(folder: Path, browsers: BrowserType, executable: str) -> None:
    specs = shutil.copytree(ROOT / "specs", folder / "specs")
    (folder / "data").mkdir()
    with serving(folder / "data", STRATA_SPECS_DIR=str(specs)) as service:
        _fill(service)
        chromium = browsers.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        page = chromium.new_page(base_url=service.url, viewport=VIEWPORT)
        _draw(page)
        chromium.close()


def _fill(service: Service) -> None:
    for path in sorted((ROOT / "demo" / "library").iterdir()):
        service.add_file("library", path.name, path.read_bytes())
    torn = {"file": ("scan of the log.pdf", b"%PDF-1.7\ntorn")}
    service.api.post("indexes/plain/artifacts/", files=torn)


def _draw(page: Page) -> None:
    page.goto(f"/?index=library&q={QUESTION}#key={KEY}")
    page.wait_for_selector(".hit")
    page.screenshot(path=FOLDER / "search.png")
    page.locator("a.open", has_text="A Light on Orrin Skerry").first.click()
    page.wait_for_selector("#marks .mark")
    page.screenshot(path=FOLDER / "document.png")
    page.goto("/documents/?index=library")
    page.wait_for_selector("#rows tr")
    page.screenshot(path=FOLDER / "documents.png")
    page.goto("/work/")
    page.wait_for_selector("#failed td")
    page.screenshot(path=FOLDER / "work.png")
    page.goto("/indexes/?index=library")
    page.wait_for_selector("#spec:not([hidden])")
    text = page.input_value("#spec-text")
    page.fill("#spec-text", text.replace("max_chars: 500", "max_chars: 400"))
    page.click("text=Save")
    page.wait_for_selector("#plan table")
    page.click("text=Build it beside")
    page.wait_for_selector("#plan >> text=is being built")
    page.screenshot(path=FOLDER / "index.png", full_page=True)


if __name__ == "__main__":
    main()

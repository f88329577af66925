"""The pages below a path that a setting names, behind a real nginx: a document, signing in, and
consent."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.test_consent_page import TestConsentPage, application, request_path
from tests.browser.test_document_page import TestHit, report_id, results
from tests.browser.test_sign_in_page import TestSignIn, _users
from tests.faults.armed import armed
from tests.nginx import PATH, nginx, read_documented_locations
from tests.serving import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Run again here, where the fixtures below are those of the service and of the page.
__all__ = [
    "TestConsentPage", "TestHit", "TestSignIn", "_users", "application", "report_id",
    "request_path", "results",
]  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("below")
    with (
        armed(folder, STRATA_BASE_PATH=PATH) as service,
        nginx(folder / "nginx", service.url, read_documented_locations()) as service.url,
    ):
        yield service


@pytest.fixture
def page(page: "Page", service: Service, monkeypatch: pytest.MonkeyPatch) -> "Page":
    """A tab for which ``/add/`` is a page of the service, and not of the host."""
    goto = page.goto

    def go_below(path: str, **options: Any) -> Any:
        return goto(f"{service.url}{path}", **options)

    monkeypatch.setattr(page, "goto", go_below)
    return page

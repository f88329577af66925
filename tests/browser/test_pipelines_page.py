"""The page of query pipelines in a real browser, against the real service."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.serving import ROOT, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module", autouse=True)
def _staff(service: Service) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput", "--username", "ada"],
        cwd=ROOT,
        env=service.environment
        | {"DJANGO_SUPERUSER_PASSWORD": "difference", "DJANGO_SUPERUSER_EMAIL": "ada@example.org"},
        check=True,
    )


@pytest.fixture
def signed_in(page: "Page") -> "Page":
    """The page, logged in as a staff user."""
    page.goto("/admin/login/?next=/pipelines/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", "difference")
    page.click("button[type=submit]")
    page.wait_for_selector(".drawing svg")
    return page


class TestPipelinesPage:
    def test_draws_each_pipeline_with_all_its_components(self, signed_in: "Page") -> None:
        drawings = signed_in.locator(".drawing svg")
        assert drawings.count() == 3

        papers = signed_in.locator('[data-pipeline="papers"] svg')
        names = papers.locator("g text:not(.type)").all_text_contents()
        assert {"filters", "identifiers", "retriever", "fusion", "context", "answer"} <= set(names)
        boxes = [box.bounding_box() for box in papers.locator("rect").all()]
        assert len(boxes) == len(names) == 9
        tops = dict(zip(names, [box["y"] for box in boxes if box is not None], strict=True))
        assert tops["filters"] < tops["retriever"] < tops["fusion"] < tops["answer"]
        assert papers.locator("path[marker-end]").count() == 12

    def test_lists_what_it_draws(self, signed_in: "Page") -> None:
        signed_in.click("#plain summary")

        rows = signed_in.locator("#plain tbody tr")
        assert rows.count() == 5
        assert "MultiQueryRetriever" in rows.nth(1).inner_text()

"""The page of the indexes, in a real browser, against the real service."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.armed import armed
from tests.serving import KEY, ROOT, Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

READY_MS = 60_000


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("specs")
    for name in ("plain", "library"):
        shutil.copy(ROOT / "specs" / f"{name}.yaml", folder)
    return folder


@pytest.fixture(scope="module")
def service(specs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with armed(tmp_path_factory.mktemp("served"), STRATA_SPECS_DIR=str(specs)) as service:
        service.add("plain", text="Terns were ringed. " * 40, title="Terns")
        yield service


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"/indexes/#key={KEY}")
    page.locator("#rows tr", has_text="Plain").wait_for()
    return page


class TestAllIndexes:
    def test_show_those_with_documents_first_and_fold_the_others(self, admitted: "Page"):
        row = admitted.locator("#rows tr")

        assert row.count() == 1
        assert "up to date" in row.inner_text()
        assert admitted.inner_text("#unused summary") == "1 index without documents"
        assert not admitted.locator("#unused li").is_visible()
        admitted.click("#unused summary")
        assert "Library" in admitted.inner_text("#unused li")

    def test_name_documents_that_failed_and_open_them(self, admitted: "Page", service: Service):
        files = {"file": ("torn.pdf", b"%PDF-1.7\ntorn")}
        torn = service.api.post("indexes/plain/artifacts/", files=files).json()
        admitted.reload()
        admitted.click("text=1 document failed", timeout=READY_MS)

        admitted.locator("#rows tr", has_text="torn").wait_for()
        service.api.delete(f"artifacts/{torn['id']}/")


class TestOneIndex:
    def test_is_verified(self, admitted: "Page"):
        admitted.click("#rows a")
        admitted.click("#verify")
        admitted.locator("#report .good").wait_for()

        assert admitted.inner_text("#report").startswith("All agree: 1 document,")

    def test_is_built_again_after_a_change_of_its_spec_and_rolled_back(self, admitted: "Page"):
        admitted.goto("/indexes/?index=plain")
        admitted.locator("#plan", has_text="The live build is what").wait_for()
        text = admitted.input_value("#spec-text")

        admitted.fill("#spec-text", text + "chunks: {strategy: []}\n")
        admitted.click("text=Save")
        line = len((text + "chunks:").splitlines())
        admitted.locator("#spec-problem", has_text="there is no such setting").wait_for()
        assert admitted.inner_text("#spec-problem").endswith(f"(line {line})")
        editor = admitted.locator("#spec-text.has-wrong-line[aria-invalid=true]:focus")
        assert editor.evaluate("each => each.style.getPropertyValue('--wrong-line')") == str(line)
        assert editor.evaluate("each => each.selectionStart") == len(text)
        changed = text + "chunks: {strategies: [{name: sentence, max_chars: 300}]}\n"
        admitted.fill("#spec-text", changed)
        admitted.click("text=Save")
        admitted.locator("#plan", has_text="differs from the live build").wait_for()
        assert "chunks.strategies" in admitted.inner_text("#plan")
        assert admitted.inner_text("#spec-problem") == ""

        admitted.click("text=Build it beside")
        admitted.locator("#plan", has_text="Build 2 is being built from this spec").wait_for()
        assert admitted.locator("#plan button").count() == 0
        admitted.click("text=Promote when complete")
        admitted.locator("#builds .live", has_text="Build 2").wait_for(timeout=READY_MS)
        admitted.locator("#plan", has_text="The live build is what").wait_for()
        admitted.click("text=Roll back to this")

        admitted.locator("#builds .live", has_text="Build 1").wait_for()
        admitted.locator("#plan", has_text="differs from the live build").wait_for()

    def test_that_promotes_itself_offers_no_promotion(self, admitted: "Page"):
        def promoting(route: "Route") -> None:
            answer = route.fetch()
            body = answer.json()
            body["results"].append(
                {
                    **body["results"][0],
                    "number": 9,
                    "state": "building",
                    "promotion": "when_complete",
                }
            )
            route.fulfill(response=answer, json=body)

        admitted.route("**/builds/", promoting)
        admitted.goto("/indexes/?index=plain")

        build = admitted.locator("#builds li.building")
        build.locator("text=It will be promoted when it is complete.").wait_for()
        assert build.locator("text=Promote when complete").count() == 0

    def test_takes_a_click_during_which_the_list_is_drawn_again(self, admitted: "Page"):
        written = 0

        def build_on(route: "Route") -> None:
            nonlocal written
            written += 1
            answer = route.fetch()
            builds = answer.json()
            nodes = {"pending": 100 - written, "synced": written, "failed": 0, "deleting": 0}
            building = {"number": 9, "state": "building", "nodes": nodes, "artifacts_missing": 1}
            builds["results"].append(builds["results"][0] | building)
            route.fulfill(response=answer, json=builds)

        admitted.route("**/indexes/plain/builds/", build_on)
        admitted.route("**/builds/9/pause/", lambda route: route.fulfill(json={}))
        admitted.goto("/indexes/?index=plain")
        progress = admitted.locator("#builds .building p", has_text=" of 100 written").first
        progress.wait_for()
        before = progress.inner_text()
        admitted.hover("#builds >> text=Pause")
        admitted.mouse.down()
        admitted.wait_for_function(
            "before => document.querySelector('#builds .building p').innerText !== before",
            arg=before,
        )

        with admitted.expect_request("**/builds/9/pause/"):
            admitted.mouse.up()

    def test_does_not_overwrite_what_another_has_saved(self, admitted: "Page", specs: Path):
        admitted.goto("/indexes/?index=library")
        admitted.locator("#spec").wait_for()
        spec = specs / "library.yaml"
        spec.write_text(spec.read_text() + "# by hand\n")

        admitted.fill("#spec-text", "title: Mine\n")
        admitted.click("text=Save")
        admitted.locator("#spec-problem", has_text="has changed since it was read").wait_for()

        assert spec.read_text().endswith("# by hand\n")
        assert admitted.input_value("#spec-text") == "title: Mine\n"
        admitted.click("#spec-again")
        admitted.locator("#spec-problem", has_text="changed").wait_for(state="detached")
        assert admitted.input_value("#spec-text").endswith("# by hand\n")

    def test_is_measured_by_the_judged_hits(self, admitted: "Page", service: Service):
        found = service.api.get("search/pages", params={"index": "plain", "q": "terns"}).json()
        hit = found["hits"][0]
        judgement = {"index": "plain", "query": "terns", "verdict": "good"}
        service.api.post("judgements/", json={**judgement, "node_id": hit["node_id"]})

        admitted.goto("/indexes/?index=plain")
        admitted.click("#measure")
        row = admitted.locator("#runs tr", has_text="hybrid")
        row.wait_for(timeout=READY_MS)

        assert "1 query" in admitted.inner_text("#runs li >> nth=0")
        assert "1.000" in row.first.inner_text()

        admitted.click("#measure")
        admitted.locator("#runs", has_text="by the same queries: no difference").wait_for()

    def test_says_that_nothing_is_judged(self, admitted: "Page"):
        admitted.goto("/indexes/?index=library")
        admitted.click("#measure")
        admitted.locator("#problem:not([hidden])").wait_for()

        assert "golden" in admitted.inner_text("#problem")

    def test_is_made_of_another(self, admitted: "Page", specs: Path):
        admitted.fill("#new-name", "minutes")
        admitted.click("text=Make it")
        admitted.locator("#heading", has_text="Minutes").wait_for()

        assert 'title: "Minutes"' in (specs / "minutes.yaml").read_text()
        admitted.locator("#builds .live").wait_for()
        (specs / "minutes.yaml").unlink()

    def test_shows_a_key_that_may_only_search_no_plan(self, page: "Page", service: Service):
        body = {"name": "reader", "scope": "search", "indexes": ["plain"]}
        secret = service.api.post("keys/", json=body).json()["secret"]
        page.goto(f"/indexes/?index=plain#key={secret}")

        page.locator("#plan .soft", has_text="scope").wait_for()
        assert not page.locator("#spec").is_visible()
        assert page.locator("#builds li").count() >= 1


class TestLockedSpec:
    @pytest.fixture
    def service(self, specs: Path, tmp_path: Path) -> Iterator[Service]:
        with armed(tmp_path, STRATA_SPECS_DIR=str(specs), STRATA_EDIT_SPECS="0") as service:
            yield service

    def test_shows_what_to_change_in_its_file(self, page: "Page", service: Service):
        page.goto(f"/indexes/?index=library#key={KEY}")
        page.locator("#spec-locked").wait_for()
        text = page.input_value("#spec-text")
        page.fill("#spec-text", text.replace("title: Library", "title: Books"))

        change = page.inner_text("#spec-change").splitlines()
        changed = [line for line in change if not line.startswith(" ")]
        assert changed == ["-title: Library", "+title: Books"]
        assert not page.locator("text=Save").is_visible()

"""The page of people and webhooks, and a document by its address, in a real browser, against a
service that sends webhooks to, and fetches documents from, a server on loopback."""

import http.server
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.forked import serving_forked
from tests.serving import KEY, Service
from tests.webhooks.conftest import SECRET

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PASSWORD = "seven herons in the harbour"
MAKE_PEOPLE = """
from access.models import GroupRights
from django.contrib.auth.models import Group, User
alice = User.objects.create_user("alice")
User.objects.create_user("carol", is_active=False)
group = Group.objects.create(name="keepers")
GroupRights.objects.create(group=group, scope="write", indexes=["plain"], groups=["harbour"])
alice.groups.add(group)
"""


class Other(http.server.BaseHTTPRequestHandler):
    """Takes events with the given status, and has one page."""

    status: ClassVar[int] = 204

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<title>Buoys</title><p>We moor buoys in the harbour.</p>")

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, other: str) -> Iterator[Service]:
    environment = {
        "STRATA_WEBHOOK_URLS": f"{other}/hook?token=hidden",
        "STRATA_WEBHOOK_SECRET": SECRET,
        "STRATA_FETCH_HOSTS": other.removeprefix("http://"),
    }
    with serving_forked(tmp_path_factory.mktemp("told"), **environment) as service:
        made = service.manage("shell", "-c", MAKE_PEOPLE)
        assert made.returncode == 0, made.stderr
        yield service


@pytest.fixture
def admitted(page: "Page") -> "Page":
    page.goto(f"/settings/#key={KEY}")
    page.wait_for_selector("#people:not([hidden])")
    page.wait_for_selector("#webhooks:not([hidden])")
    return page


class TestPeople:
    def test_are_shown_with_their_groups_and_their_rights(self, admitted: "Page"):
        assert "keepers" in admitted.locator("#people-rows tr", has_text="alice").inner_text()
        assert "cannot sign in" in admitted.locator("tr", has_text="carol").inner_text()
        group = admitted.locator("#group-rows tr", has_text="keepers").locator("td").all()
        assert [cell.inner_text() for cell in group] == [
            "keepers", "write", "plain", "harbour", "1",
        ]  # fmt: skip

    def test_are_added_and_set_their_password_with_a_link(
        self, admitted: "Page", browser: "Browser"
    ):
        admitted.click("text=Add a person")
        admitted.fill("#name", "two words")
        admitted.press("#name", "Enter")
        admitted.locator("#person .error", has_text="Enter a valid username").wait_for()
        admitted.fill("#name", "dora@example.org")
        admitted.check("label:has-text('keepers') >> input")
        admitted.get_by_role("button", name="Save").click()

        admitted.wait_for_selector("#made:not([hidden])")
        assert not admitted.locator("#person").is_visible()
        row = admitted.locator("#people-rows tr", has_text="dora@example.org")
        assert "keepers" in row.inner_text()
        assert row.get_by_text("never").is_visible()
        other = browser.new_page()
        other.goto(admitted.inner_text("#secret"))
        other.fill("#id_new_password1", PASSWORD)
        other.fill("#id_new_password2", PASSWORD)
        other.click("text=Save")
        other.fill("input[name=username]", "dora@example.org")
        other.fill("input[name=password]", PASSWORD)
        other.press("input[name=password]", "Enter")
        other.wait_for_selector("label[data-index=plain]")
        other.goto(admitted.inner_text("#secret"))
        assert "used before" in other.inner_text("main")
        other.close()

    def test_are_put_into_groups_and_deactivated(self, admitted: "Page"):
        admitted.on("dialog", lambda dialog: dialog.accept())
        row = admitted.locator("#people-rows tr", has_text="alice")
        row.get_by_role("button", name="Groups alice").click()
        assert admitted.is_checked("label:has-text('keepers') >> input")
        admitted.uncheck("label:has-text('keepers') >> input")
        admitted.get_by_role("button", name="Save").click()
        row.locator("td:nth-child(2):empty").wait_for()

        row.get_by_role("button", name="Deactivate alice").click()
        row.get_by_role("button", name="Activate alice").click()
        row.get_by_role("button", name="Deactivate alice").wait_for()

    def test_are_not_shown_without_a_key(self, page: "Page"):
        page.goto("/settings/")

        page.locator("#problem", has_text="Enter your API key").wait_for()
        assert not page.locator("#people").is_visible()


class TestWebhooks:
    def test_a_test_event_is_delivered(self, admitted: "Page", other: str):
        assert admitted.inner_text("#receivers") == f"{other}/hook"

        admitted.click("text=Send a test event")

        admitted.locator("#delivery-rows tr", has_text="delivered").first.wait_for()
        assert "webhook.test" in admitted.inner_text("#delivery-rows")
        assert "hidden" not in admitted.inner_text("#webhooks")

    def test_a_delivery_that_failed_is_sent_again(
        self, admitted: "Page", monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(Other, "status", 410)
        admitted.click("text=Send a test event")
        admitted.select_option("#state", "given_up")
        failed = admitted.locator("#delivery-rows tr", has_text="It answered 410.")
        failed.wait_for()

        monkeypatch.setattr(Other, "status", 204)
        failed.get_by_role("button").click()

        failed.wait_for(state="detached")
        admitted.select_option("#state", "delivered")
        admitted.locator("#delivery-rows tr", has_text="webhook.test").first.wait_for()


class TestAddress:
    def test_is_fetched_and_its_history_shown(self, page: "Page", service: Service, other: str):
        page.goto(f"/add/?index=plain#key={KEY}")
        page.click("text=Give an address")
        page.fill("#address", f"{other}/buoys")
        page.get_by_role("button", name="Fetch it").click()

        page.wait_for_selector("#documents li[data-state=ready]")
        page.locator("#documents a").click()
        page.locator("#history li", has_text="Added by the key").wait_for()
        assert page.inner_text("#title") == "Buoys"

    def test_that_is_refused_says_why(self, page: "Page"):
        page.goto(f"/add/?index=plain#key={KEY}")
        page.click("text=Give an address")
        page.fill("#address", "https://elsewhere.example/")
        page.get_by_role("button", name="Fetch it").click()

        page.locator("#documents .failed", has_text="not fetched from").wait_for()

"""Signing in by password in a real browser, and searching without a key."""

from typing import TYPE_CHECKING

import pytest

from tests.serving import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

PASSWORD = "seven herons in the harbour"
MAKE_USERS = f"""
from access.models import GroupRights
from django.contrib.auth.models import Group, User
alice = User.objects.create_user("alice", password={PASSWORD!r})
User.objects.create_user("bob", password={PASSWORD!r})
group = Group.objects.create(name="harbour")
GroupRights.objects.create(group=group, scope="write", indexes=["plain"], groups=["harbour"])
alice.groups.add(group)
"""


@pytest.fixture(scope="module", autouse=True)
def _users(service: Service) -> None:
    service.add("plain", title="Tides", text="The tide turns at noon.", groups=["harbour"])
    service.add("plain", title="Wages", text="The tide of wages turns.", groups=["office"])
    made = service.manage("shell", "-c", MAKE_USERS)
    assert made.returncode == 0, made.stderr


def sign_in(page: "Page", name: str, password: str = PASSWORD) -> None:
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")


class TestSignIn:
    def test_returns_to_the_search_page(self, page: "Page") -> None:
        page.goto("/")
        page.click("nav >> text=Sign in")
        sign_in(page, "alice", "wrong")
        assert "correct username and password" in page.inner_text("[role=alert]")

        sign_in(page, "alice")

        page.wait_for_selector("label[data-index=plain]")
        assert page.inner_text("nav >> text=alice") == "alice"

    def test_lets_a_user_search_and_judge_what_their_groups_may_see(self, page: "Page") -> None:
        page.goto("/sign-in/")
        sign_in(page, "alice")
        page.wait_for_selector("label[data-index=plain]")
        assert page.locator("label[data-index]").count() == 1

        page.fill("#q", "when does the tide turn")
        page.press("#q", "Enter")

        page.wait_for_selector(".hit >> text=Tides")
        assert "wages" not in page.inner_text("#results")
        page.locator(".hit .judge [data-verdict=good]").first.click()
        page.locator(".hit .judge [data-verdict=good][aria-pressed=true]").first.wait_for()

    def test_tells_users_that_they_have_no_rights(self, page: "Page") -> None:
        page.goto("/sign-in/")
        sign_in(page, "bob")

        page.wait_for_selector("#problem:not([hidden])")
        assert page.inner_text("#problem") == "None of your groups has rights over the API."

    def test_ends_with_sign_out_on_the_account_page(self, page: "Page") -> None:
        page.goto("/sign-in/")
        sign_in(page, "alice")
        page.click("nav >> text=alice")
        assert "harbour" in page.inner_text("main")

        page.click("text=Sign out")

        page.wait_for_url("**/sign-in/")
        page.goto("/account/")
        assert page.locator("input[name=password]").is_visible()

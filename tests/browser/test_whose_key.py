"""Whose key a tab uses, and what stays in the browser, in a real browser."""

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_sign_in_page import sign_in
from tests.serving import KEY, Service

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page

PASSWORD = "seven herons in the harbour"
MAKE_USER = f"""
from access.models import GroupRights
from django.contrib.auth.models import Group, User
group = Group.objects.create(name="coxswains")
GroupRights.objects.create(group=group, scope="write", indexes=["plain"], groups=None)
User.objects.create_user("winifred", password={PASSWORD!r}).groups.add(group)
"""
KEPT = "JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])"


@pytest.fixture(scope="module")
def _winifred(service: Service) -> None:
    made = service.manage("shell", "-c", MAKE_USER)
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def others_key(service: Service) -> str:
    return service.api.post("keys/", json={"name": "other", "scope": "write"}).json()["secret"]


def answer_questions(page: "Page", *, accept: bool) -> list[str]:
    """Answer each question of the page; the questions are added to the list."""
    asked: list[str] = []

    def answer(dialog: "Dialog") -> None:
        asked.append(dialog.message)
        dialog.accept() if accept else dialog.dismiss()

    page.on("dialog", answer)
    return asked


def used_key(page: "Page") -> str:
    return page.evaluate("sessionStorage.getItem('key') ?? ''")


class TestALinkWithAKey:
    def test_is_followed_without_a_question_where_no_key_and_no_sign_in_is_used(
        self, page: "Page", others_key: str
    ):
        asked = answer_questions(page, accept=False)
        page.goto(f"/add/#key={others_key}")

        page.wait_for_selector("#used-key:not([hidden])")
        assert page.inner_text("#used-key") == f"Key {others_key[:12]}…"
        assert used_key(page) == others_key
        assert asked == []

    def test_leaves_the_key_of_the_tab_unless_the_user_agrees(self, page: "Page", others_key: str):
        asked = answer_questions(page, accept=False)
        page.goto(f"/add/#key={KEY}")
        page.goto(f"/documents/#key={others_key}")
        page.wait_for_selector("#index option:checked", state="attached")

        assert used_key(page) == KEY
        assert others_key not in page.url
        assert [others_key[:12] in question for question in asked] == [True]

    @pytest.mark.parametrize("text", ["%00", "a%0d%0ab", "%E2%80%AE"])
    def test_is_ignored_if_it_can_be_no_key(self, page: "Page", text: str):
        asked = answer_questions(page, accept=True)
        page.goto(f"/add/#key={KEY}")
        page.goto(f"/documents/#key={text}")
        page.wait_for_selector("#index option:checked", state="attached")

        assert used_key(page) == KEY
        assert asked == []

    def test_leaves_the_key_of_the_tab_when_only_the_fragment_changes(
        self, page: "Page", others_key: str
    ):
        asked = answer_questions(page, accept=False)
        page.goto(f"/work/#key={KEY}")
        page.goto(f"/work/#key={others_key}")
        page.wait_for_function("location.hash === ''")

        assert used_key(page) == KEY
        assert len(asked) == 1

    def test_replaces_the_key_and_what_was_kept_of_it_once_the_user_agrees(
        self, page: "Page", others_key: str
    ):
        asked = answer_questions(page, accept=True)
        page.goto(f"/add/#key={KEY}")
        page.evaluate("sessionStorage.setItem('added', '[]')")
        page.goto(f"/documents/#key={others_key}")
        page.wait_for_selector("#index option:checked", state="attached")

        assert used_key(page) == others_key
        assert "added" not in page.evaluate("Object.keys(sessionStorage)")
        assert len(asked) == 1

    @pytest.mark.usefixtures("_winifred")
    def test_does_not_replace_a_sign_in_unless_the_user_agrees(self, page: "Page", others_key: str):
        asked = answer_questions(page, accept=False)
        page.goto("/sign-in/")
        sign_in(page, "winifred", PASSWORD)
        page.wait_for_selector("label[data-index=plain]")
        page.goto(f"/add/#key={others_key}")
        page.wait_for_selector("#index option:checked", state="attached")

        assert used_key(page) == ""
        assert not page.is_visible("#used-key")
        assert "instead of your sign-in" in asked[0]


@pytest.mark.usefixtures("_winifred")
class TestSigningOut:
    def test_leaves_nothing_of_the_user_in_the_browser(self, page: "Page"):
        page.goto("/sign-in/")
        sign_in(page, "winifred", PASSWORD)
        page.wait_for_selector("label[data-index=plain]")
        page.evaluate(
            """() => {
              const name = `thread user ${document.documentElement.dataset.user}`;
              localStorage.setItem(name, JSON.stringify({index: "plain", turns: []}));
              sessionStorage.setItem("hits", "{}");
            }"""
        )
        page.click("nav >> text=winifred")
        page.click("text=Sign out")
        page.wait_for_url("**/sign-in/")
        page.wait_for_load_state()

        assert page.evaluate(KEPT) == "[[],[]]"

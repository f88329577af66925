"""The admin of builds and its actions."""

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from documents.models import Artifact
from indexing import tasks
from indexing.lifecycle import apply_spec, pause_build, promote_build
from indexing.models import IndexBuild, Node
from tests.acting import act, record_enqueued
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

SHORTER = "chunks: {strategies: [{name: sentence, max_chars: 60}]}\n"
BUILDS = "indexing_indexbuild"
REFUSED = {
    "source": "golden_queries",
    "is_optimistic": False,
    "kind": "chunk",
    "live_build": 1,
    "query_count": 12,
    "measures": {
        "nDCG@10": {
            "live": 0.8, "new": 0.6, "difference": -0.2, "low": -0.3, "high": -0.1, "is_loss": True,
        },
    },
    "is_loss": True,
    "verdict": "refused: nDCG@10 falls by 0.200, more than chance explains.",
}  # fmt: skip


@pytest.fixture
def reconciled(monkeypatch) -> list[bool]:
    """One element for each time the reconciliation was enqueued."""
    woken: list[bool] = []
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: woken.append(True))
    return woken


@pytest.fixture
def beside(specs, build) -> IndexBuild:
    """An unfinished build beside the live one, which holds a document."""
    sync(build, give())
    specs(SHORTER)
    return apply_spec("plain")


def again(build: IndexBuild) -> IndexBuild:
    return IndexBuild.objects.get(pk=build.pk)


def listed(client) -> str:
    return client.get(reverse(f"admin:{BUILDS}_changelist")).content.decode()


def asked_first(client, model: str, action: str, row) -> str:
    """The page that asks for confirmation."""
    given = {"action": action, "index": "0", "_selected_action": [row.pk]}
    answer = client.post(reverse(f"admin:{model}_changelist"), given)
    assert answer.status_code == 200
    return answer.content.decode()


def confirm(client, model: str, action: str, row) -> str:
    """Confirm on that page; return the messages."""
    given = {"action": action, "confirmed": "yes", "_selected_action": [row.pk]}
    answer = client.post(reverse(f"admin:{model}_changelist"), given)
    assert answer.status_code == 302
    *_, last = get_messages(answer.wsgi_request)
    return str(last)


class TestTheListOfBuilds:
    def test_shows_the_progress_of_each_build(self, beside, admin_client):
        sync(beside, *Artifact.objects.all())
        total = Node.objects.filter(build=beside).count()
        first, second, third = Node.objects.filter(build=beside)[:3]
        for node, state in ((first, "pending"), (second, "failed"), (third, "deleting")):
            Node.objects.filter(pk=node.pk).update(state=state)

        assert f"{total - 3} of {total - 1}, 1 failed" in listed(admin_client)

    def test_shows_pause_reasons_and_comparisons(self, beside, admin_client):
        pause_build(beside, "Its calls are used up.")
        IndexBuild.objects.filter(pk=beside.pk).update(comparison=REFUSED)

        page = listed(admin_client)

        assert "Its calls are used up." in page
        assert "refused (nDCG@10 -0.200)" in page

    def test_takes_as_many_queries_for_many_builds_as_for_few(
        self, beside, admin_client, django_assert_max_num_queries
    ):
        for number in range(10, 30):
            IndexBuild.objects.create(
                index=beside.index, number=number, recipe=beside.recipe, fingerprint=str(number)
            )

        with django_assert_max_num_queries(7):
            listed(admin_client)


class TestThePageOfABuild:
    def test_shows_missing_documents_and_the_comparison(self, beside, admin_client):
        IndexBuild.objects.filter(pk=beside.pk).update(comparison=REFUSED)
        url = reverse(f"admin:{BUILDS}_change", args=[beside.pk])

        page = admin_client.get(url).content.decode()

        assert "Missing documents" in page
        assert "-0.3000 to -0.1000 (a loss)" in page
        assert "Refused: nDCG@10 falls by 0.200, more than chance explains." in page


class TestPromote:
    def test_requests_the_promotion(self, beside, admin_client):
        said = act(admin_client, BUILDS, "promote", beside)

        assert said.startswith(f"{beside} will be promoted when complete")
        assert again(beside).promotion == "when_complete"

    def test_says_why_a_build_cannot_be_promoted(self, build, admin_client):
        said = act(admin_client, BUILDS, "promote", build)

        assert said.startswith(f"{build}: ")
        assert "is live or retired" in said

    def test_continues_after_a_build_that_raises_an_error(self, build, beside, admin_client):
        said = act(admin_client, BUILDS, "promote", build, beside)

        assert said.startswith(f"{beside} will be promoted")
        assert again(beside).promotion == "when_complete"


class TestForcePromotion:
    def test_asks_for_confirmation_and_shows_what_is_missing(self, beside, admin_client):
        IndexBuild.objects.filter(pk=beside.pk).update(comparison=REFUSED)

        page = asked_first(admin_client, BUILDS, "force_promotion", beside)

        assert "missing documents: 1" in page
        assert "refused (nDCG@10 -0.200)" in page
        assert again(beside).promotion == "manual"

    def test_is_requested_once_confirmed(self, beside, admin_client):
        said = confirm(admin_client, BUILDS, "force_promotion", beside)

        assert said == f"{beside} will be promoted within seconds."
        assert again(beside).promotion == "forced"


class TestPauseAndResume:
    def test_pause_a_build_and_store_who_did(self, beside, admin_client):
        act(admin_client, BUILDS, "pause", beside)

        assert again(beside).paused_at is not None
        assert again(beside).pause_reason == "Paused by admin."

    def test_resume_a_build_at_once(self, beside, admin_client, reconciled):
        pause_build(beside)

        said = act(admin_client, BUILDS, "resume", beside)

        assert said == f"{beside} is resumed."
        assert again(beside).paused_at is None
        assert reconciled == [True]

    def test_refuse_the_live_build(self, build, admin_client):
        said = act(admin_client, BUILDS, "pause", build)

        assert "is live or retired" in said
        assert again(build).paused_at is None


class TestGiveUp:
    def test_asks_for_confirmation(self, beside, admin_client):
        page = asked_first(admin_client, BUILDS, "give_up", beside)

        assert str(beside) in page
        assert again(beside).state == "building"

    def test_retires_the_build_once_confirmed(self, beside, admin_client):
        said = confirm(admin_client, BUILDS, "give_up", beside)

        assert said == f"{beside} is given up."
        assert again(beside).state == "retired"


class TestApplyTheSpec:
    def test_begins_a_build_and_enqueues_the_work(self, build, specs, admin_client, reconciled):
        specs(SHORTER)

        said = act(admin_client, "indexing_index", "apply_spec", build.index)

        begun = IndexBuild.objects.get(index="plain", state="building")
        assert said == f"{begun} is being built beside the live build."
        assert reconciled == [True]

    def test_says_when_no_build_is_needed(self, build, specs, admin_client, reconciled):
        said = act(admin_client, "indexing_index", "apply_spec", build.index)

        assert said == f"{build} is live and already matches this spec."

    def test_says_what_is_wrong_with_a_spec(self, build, specs, admin_client, reconciled):
        specs("chunks: {strategies: []}\n")

        said = act(admin_client, "indexing_index", "apply_spec", build.index)

        assert said.startswith("plain: ")
        assert IndexBuild.objects.filter(index="plain").count() == 1


class TestRollBack:
    def test_makes_the_previous_build_live_and_publishes_it(
        self, build, beside, admin_client, monkeypatch, django_capture_on_commit_callbacks
    ):
        promote_build(beside, is_forced=True)
        wakes = record_enqueued(monkeypatch, tasks.reconcile_store)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "indexing_index", "roll_back", build.index)

        assert said == f"{build} is live again."
        assert IndexBuild.objects.live().get(index="plain") == build
        assert wakes == [("reconcile_store", {})]

    def test_says_when_there_is_no_standby_build(self, build, admin_client):
        said = act(admin_client, "indexing_index", "roll_back", build.index)

        assert said.startswith("plain: The index plain has no standby build to roll back to.")


class TestPrune:
    def test_asks_for_confirmation(self, build, beside, admin_client):
        promote_build(beside, is_forced=True)

        asked_first(admin_client, "indexing_index", "prune", build.index)

        assert again(build).state == "standby"

    def test_retires_the_standby_build_once_confirmed(self, build, beside, admin_client):
        promote_build(beside, is_forced=True)

        said = confirm(admin_client, "indexing_index", "prune", build.index)

        assert said == f"{build} is given up."
        assert again(build).state == "retired"

    def test_says_when_there_is_no_standby_build(self, build, admin_client):
        said = confirm(admin_client, "indexing_index", "prune", build.index)

        assert said == "plain has no standby build."

from collections import Counter

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from documents.models import Artifact
from indexing import lifecycle, tasks
from indexing.models import IndexBuild, Node
from indexing.services import plan_nodes
from tests.factories import give, sync
from tests.rereading import add_file

ENQUEUE_RECONCILIATION = tasks.enqueue_reconciliation  # which ``client`` replaces
RECONCILE_INDEXES = "indexing.tasks.reconcile_indexes"
SHORTER = "chunks: {strategies: [{name: sentence, max_chars: 60}]}\n"


@pytest.fixture
def client(db, monkeypatch):
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
    _, secret = ApiKey.issue("tests")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.fixture
def beside(specs, build) -> IndexBuild:
    sync(build, give())
    specs(SHORTER)
    beside = lifecycle.apply_spec("plain")
    sync(beside, *Artifact.objects.all())
    return beside


def url(*parts: object) -> str:
    return "/api/v1/indexes/plain/" + "".join(f"{part}/" for part in parts)


class TestPlanView:
    def test_returns_what_applying_would_change(self, client, specs, build):
        sync(build, give())
        specs(SHORTER)

        answer = client.get(url("plan")).json()

        assert not answer["is_free"]
        assert answer["kinds"]["chunk"]["rebuilt"] > 1
        assert any(change.startswith("chunks.strategies") for change in answer["changes"])

    def test_refuses_unknown_parameters(self, client, specs):
        answer = client.get(url("plan"), {"exactly": "true"})

        assert answer.status_code == 400
        assert (answer.json()["field"], answer.json()["allowed"]) == ("exactly", ["exact"])

    def test_names_the_existing_specs(self, client, specs):
        answer = client.get("/api/v1/indexes/nothing/plan/")

        assert answer.status_code == 404
        assert answer.json()["allowed"] == ["plain"]

    def test_says_what_is_wrong_with_a_spec(self, client, specs):
        specs("chunk: true\n")

        answer = client.get(url("plan"))

        assert answer.json()["code"] == "invalid_spec"
        assert "chunk" in answer.json()["detail"]


class TestReadingAnew:
    def test_makes_a_build_although_the_spec_is_the_same(self, client, specs, build):
        artifact = add_file("The heron waits.", "heron.txt")
        sync(build, artifact)
        Artifact.objects.filter(pk=artifact.pk).update(reader="")

        plan = client.get(url("plan")).json()
        made = client.post(url("builds"), {"reread": True}, format="json")

        assert (plan["is_free"], plan["outdated_count"]) == (True, 1)
        assert (made.status_code, made.json()["number"]) == (202, build.number + 1)
        assert (made.json()["artifacts_unread"], made.json()["artifacts_not_reread"]) == (1, 0)


class TestStartedTasks:
    @pytest.fixture
    def started(self, client, monkeypatch):
        """Names of the tasks for which a message is sent."""
        sent: list[str] = []
        monkeypatch.setattr(tasks, "enqueue_reconciliation", ENQUEUE_RECONCILIATION)
        monkeypatch.setattr(tasks, "enqueue_once", lambda task, **ids: sent.append(task.name))
        return sent

    @pytest.mark.parametrize(
        ("path", "needed"),
        [
            ("promote", ["evaluation.tasks.promote_builds"]),
            ("pause", []),
            ("resume", [RECONCILE_INDEXES, "summaries.tasks.reconcile_written_texts"]),
            ("cancel", [RECONCILE_INDEXES]),
        ],
    )
    def test_are_only_those_that_the_change_needs(self, beside, client, started, path, needed):
        client.post(url("builds", beside.number, path))

        assert sorted(started) == sorted(needed)


class TestBuildViewSet:
    def test_begins_a_build(self, client, specs, build):
        give()
        specs(SHORTER)

        answer = client.post(url("builds"), {"promote": True, "max_calls": 5}, format="json")

        assert answer.status_code == 202
        body = answer.json()
        assert (body["number"], body["state"]) == (build.number + 1, "building")
        assert (body["promotion"], body["max_calls"]) == ("when_complete", 5)

    def test_applies_changes_that_need_no_build(self, client, specs, build):
        specs("title: Other words\n")

        answer = client.post(url("builds"), {}, format="json")

        assert (answer.status_code, answer.json()["state"]) == (200, "live")
        assert IndexBuild.objects.live().get(index="plain").spec.title == "Other words"

    def test_lists_builds(self, client, beside, build):
        answer = client.get(url("builds")).json()

        assert [row["number"] for row in answer["results"]] == [build.number, beside.number]
        assert answer["results"][1]["artifacts_missing"] == 0

    def test_counts_the_nodes_of_each_build(self, client, beside, build):
        plan_nodes(give("A tern dives.").pk, beside)
        answer = client.get(url("builds")).json()

        for row, each in zip(answer["results"], (build, beside), strict=True):
            rows = Node.objects.filter(build=each).values_list("state", flat=True)
            assert row["nodes"] == dict.fromkeys(Node.State.values, 0) | Counter(rows)
        assert answer["results"][1]["nodes"]["pending"] == 1

    def test_counts_missing_documents(self, client, specs, build):
        sync(build, give())
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain")

        assert client.get(url("builds", begun.number)).json()["artifacts_missing"] == 1

    @pytest.mark.parametrize(("force", "asked"), [(False, "when_complete"), (True, "forced")])
    def test_requests_a_promotion(self, client, beside, force, asked):
        answer = client.post(
            url("builds", beside.number, "promote"), {"force": force}, format="json"
        )

        assert answer.status_code == 202
        assert answer.json()["promotion"] == asked

    def test_pauses_resumes_and_cancels_a_build(self, client, beside):
        paused = client.post(url("builds", beside.number, "pause")).json()
        resumed = client.post(url("builds", beside.number, "resume")).json()
        cancelled = client.post(url("builds", beside.number, "cancel")).json()

        assert paused["paused_at"] is not None
        assert resumed["paused_at"] is None
        assert cancelled["state"] == "retired"

    def test_refuses_to_pause_the_live_build(self, client, build):
        answer = client.post(url("builds", build.number, "pause"))

        assert (answer.status_code, answer.json()["code"]) == (409, "no_such_build")

    def test_names_the_existing_builds(self, client, build):
        answer = client.get(url("builds", 99))

        assert answer.status_code == 404
        assert answer.json()["allowed"] == [str(build.number)]


class TestRollBackView:
    def test_makes_the_previous_build_live(self, client, beside, build):
        lifecycle.promote_build(beside)

        answer = client.post(url("rollback"))

        assert (answer.status_code, answer.json()["number"]) == (200, build.number)

    def test_answers_409_without_a_standby_build(self, client, build):
        answer = client.post(url("rollback"))

        assert (answer.status_code, answer.json()["code"]) == (409, "no_such_build")


class TestPruneView:
    def test_returns_the_retired_builds(self, client, beside, build):
        lifecycle.promote_build(beside)

        answer = client.post(url("prune")).json()

        assert [row["number"] for row in answer["results"]] == [build.number]
        assert answer["results"][0]["state"] == "retired"

import pytest
from django.core.management.base import CommandError

from documents.models import Artifact
from indexing.management import waiting
from indexing.models import IndexBuild, IndexedDocument
from tests.factories import give, sync


class TestWaitForArtifacts:
    def test_waits_until_an_artifact_that_failed_is_planned(self, build, monkeypatch):
        artifact = give("One heron.")
        sync(build, artifact)
        Artifact.objects.update(state=Artifact.State.FAILED)
        IndexedDocument.objects.update(state=IndexedDocument.State.DUE)
        waits = []

        def plan(seconds):
            waits.append(seconds)
            IndexedDocument.objects.update(state=IndexedDocument.State.READY)

        monkeypatch.setattr(waiting.time, "sleep", plan)
        waiting.wait_for_artifacts("plain", {artifact.pk})

        assert len(waits) == 1

    def test_waits_for_the_work_of_other_apps(self, build, monkeypatch):
        artifact = give("One heron.")
        sync(build, artifact)
        left = [2, 2, 1, 0]
        asked = []

        def count(index, ids):
            asked.append((index, ids))
            return left[len(asked) - 1]

        monkeypatch.setattr(
            waiting,
            "list_awaited_work",
            lambda: [("Thinking", count)],
        )
        monkeypatch.setattr(waiting.time, "sleep", lambda seconds: None)

        waiting.wait_for_artifacts("plain", {artifact.pk})

        assert asked == [("plain", {artifact.pk})] * len(left)

    def test_reports_the_problem_if_other_apps_make_no_progress(self, build, monkeypatch):
        artifact = give("One heron.")
        sync(build, artifact)
        IndexBuild.objects.update(writing_problem="The language model did not answer.")
        work = [("Thinking", lambda index, ids: 1)]
        monkeypatch.setattr(waiting, "list_awaited_work", lambda: work)
        monkeypatch.setattr(waiting, "STALL_SECONDS", 0)

        with pytest.raises(CommandError, match="waits: The language model did not answer"):
            waiting.wait_for_artifacts("plain", {artifact.pk})

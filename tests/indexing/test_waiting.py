from documents.models import Artifact
from indexing.management import waiting
from indexing.models import IndexedDocument
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

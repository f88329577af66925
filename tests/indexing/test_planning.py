import time
from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from documents.index_catalog import get_catalog
from documents.models import Artifact, Page, Source
from documents.serializers import render_artifacts
from documents.services import remove_artifact, update_artifact
from indexing import services
from indexing.exceptions import ModelUnavailable
from indexing.models import IndexedDocument, Node
from indexing.services import planning
from indexing.services.planning import DocumentPlanner
from tests.factories import give
from tests.indexed import list_unplanned

pytestmark = pytest.mark.django_db


def plan_all(build) -> None:
    planner = DocumentPlanner()
    while planner.plan_next(build):
        pass


def states(build) -> dict[str, int]:
    return dict(
        Counter(IndexedDocument.objects.filter(build=build).values_list("state", flat=True))
    )


def rendered(artifact) -> dict:
    artifacts = get_catalog().with_status(Artifact.objects.filter(pk=artifact.pk))
    return render_artifacts(list(artifacts))[0]


class TestPlanNext:
    def test_plans_all_due_documents(self, build):
        for number in range(5):
            give(f"Heron number {number}.", title=f"Heron {number}")
        assert states(build) == {"due": 5}

        plan_all(build)

        assert states(build) == {"syncing": 5}
        assert not list_unplanned(build)

    def test_writes_nothing_while_nothing_is_due(self, build):
        with CaptureQueriesContext(connection) as queries:
            assert DocumentPlanner().plan_next(build) == 0

        assert {query["sql"].split()[0] for query in queries} == {"SELECT"}

    def test_opens_two_transactions_for_small_documents(self, build):
        give("One heron.")

        with CaptureQueriesContext(connection) as queries:
            DocumentPlanner().plan_next(build)

        begun = [query for query in queries if query["sql"].startswith("SAVEPOINT")]
        assert len(begun) == 2  # to claim them, and to write what was planned

    def test_takes_as_many_statements_for_many_documents_as_for_few(self, build):
        def count_statements(documents: int) -> int:
            for number in range(documents):
                give(f"Heron {number} of {documents}.", title=f"{number} of {documents}")
            with CaptureQueriesContext(
                connection,
            ) as queries:
                DocumentPlanner().plan_next(build)
            return len(queries)

        few, many = count_statements(3), count_statements(30)

        assert many == few

    def test_returns_zero_if_nothing_is_due(self, build):
        assert DocumentPlanner().plan_next(build) == 0

    def test_fails_only_a_document_that_cannot_be_drafted(self, build, embedder, monkeypatch):
        poison = give("The poison stands here.", title="Poison")
        for number in range(3):
            give(f"Heron number {number}.", title=f"Heron {number}")
        count_tokens = embedder.count_tokens

        def fail(texts):
            if any("poison" in text for text in texts):
                raise ValueError("a defect in planning")
            return count_tokens(texts)

        monkeypatch.setattr(embedder, "count_tokens", fail)
        plan_all(build)

        assert states(build) == {"syncing": 3, "failed": 1}
        answer = rendered(poison)
        assert answer["status"] == "failed"
        assert answer["error"] == {
            "code": "planning_failed", "detail": "ValueError: a defect in planning"
        }  # fmt: skip

    def test_fails_only_a_document_that_cannot_be_written(self, build, monkeypatch):
        poison = give("The poison stands here.", title="Poison")
        for number in range(3):
            give(f"Heron number {number}.", title=f"Heron {number}")
        write = planning.write_rows

        def fail(build, drafts, *, known_ids):
            write(build, drafts, known_ids=known_ids)
            if any(draft.artifact_id == poison.pk for draft in drafts):
                raise ValueError("in the middle of a batch")

        monkeypatch.setattr(planning, "write_rows", fail)
        plan_all(build)

        assert states(build) == {"syncing": 3, "failed": 1}
        assert not Node.objects.filter(artifact=poison).exists()

    def test_waits_for_a_model_without_counting_attempts(self, build, embedder, monkeypatch):
        artifact = give("One heron.")
        count_tokens = embedder.count_tokens

        def fail(texts):
            raise ModelUnavailable("The model is missing.", fix="Install it.")

        monkeypatch.setattr(embedder, "count_tokens", fail)
        for _ in range(7):
            with pytest.raises(ModelUnavailable):
                DocumentPlanner().plan_next(build)

        document = IndexedDocument.objects.get(artifact=artifact, build=build)
        assert (document.attempts, document.lease_token) == (0, None)
        assert rendered(artifact)["error"] == {
            "code": "planning_waits", "detail": "The model is missing. Install it."
        }  # fmt: skip
        monkeypatch.setattr(embedder, "count_tokens", count_tokens)
        plan_all(build)
        assert rendered(artifact)["error"] is None

    def test_releases_documents_on_a_stop_request(self, build):
        give("One heron.")

        assert DocumentPlanner().plan_next(build, lambda: True) == 0

        assert IndexedDocument.objects.due(build).free().get().attempts == 0

    def test_never_overwrites_changes_made_meanwhile(self, build, monkeypatch):
        artifact = give("One heron.")
        draft = planning.draft_rows

        def rename_meanwhile(drafted, *args):
            yield from draft(drafted, *args)
            if drafted.title != "Renamed":
                update_artifact(artifact.pk, title="Renamed")

        monkeypatch.setattr(planning, "draft_rows", rename_meanwhile)
        DocumentPlanner().plan_next(build)
        assert not Node.objects.exists()

        plan_all(build)

        assert Node.objects.get().context == "Renamed"


class TestALargeDocument:
    @pytest.fixture(autouse=True)
    def small_parts(self, monkeypatch):
        monkeypatch.setattr(planning, "LARGE_BYTES", 2_000)
        monkeypatch.setattr(planning, "DRAFTS_PER_PART", 4)

    def text(self, count: int = 60) -> str:
        return "\n\n".join(
            f"Observation {n}: {'the heron waits in the shallows at dawn ' * 8}."
            for n in range(count)
        )

    def test_does_not_block_other_documents(self, build):
        large = give(self.text(), title="Large")
        planner = DocumentPlanner()
        planner.plan_next(build)
        small = give("One heron.", title="Small")

        planner.plan_next(build)

        assert planner.is_active
        assert IndexedDocument.objects.get(artifact=small, build=build).state == "syncing"
        assert IndexedDocument.objects.get(artifact=large, build=build).state == "due"
        while planner.plan_next(build):
            pass
        assert states(build) == {"syncing": 2}
        assert not list_unplanned(build)

    def test_is_embedded_in_turns_with_later_documents(self, build, embedder, settings):
        settings.STRATA_SYNC_BATCH = planning.NODES_PER_TURN
        give(self.text(200), title="Large")
        plan_all(build)
        services.sync_nodes(build)
        small = give("One heron.", title="Small")
        plan_all(build)

        services.sync_nodes(build)
        services.sync_nodes(build)

        assert Node.objects.get(artifact=small).state == Node.State.SYNCED
        assert Node.objects.filter(state=Node.State.PENDING).exists()

    def test_is_planned_completely_by_the_successor_of_a_dead_planner(self, build):
        artifact = give(self.text(), title="Large")
        DocumentPlanner().plan_next(build)  # then the worker dies
        IndexedDocument.objects.update(lease_token=None, leased_until=None)
        artifact.pages.update(text="")  # the claim is lost, and then it is edited
        first = artifact.sources.first()
        Source.objects.filter(pk=first.pk).update(text="Other words. " + first.text)

        plan_all(build)

        assert not list_unplanned(build)
        assert states(build) == {"syncing": 1}


class TestMakeUnannouncedDue:
    def test_finds_bulk_writes(self, build):
        artifact = Artifact(
            index="plain", identity="bulk", state="parsed", title="Bulk", revision=7
        )
        Artifact.objects.bulk_create([artifact])
        page = Page(artifact=artifact, index=0, text="A heron.")
        Page.objects.bulk_create([page])
        source = Source(artifact=artifact, page=page, ordinal=0, start=0, end=8, text="A heron.")
        Source.objects.bulk_create([source])
        assert states(build) == {}

        assert services.make_unannounced_due(build) == 1
        plan_all(build)

        assert Node.objects.get(build=build).text == "A heron."
        assert services.make_unannounced_due(build) == 0

    def test_finds_artifacts_deleted_without_a_signal(self, build):
        artifact = give("A heron.")
        plan_all(build)
        while services.sync_nodes(build):
            pass
        Source.objects.all()._raw_delete("default")
        Page.objects.all()._raw_delete("default")
        Artifact.objects.filter(pk=artifact.pk)._raw_delete("default")

        assert services.make_unannounced_due(build) == 1
        plan_all(build)
        while services.sync_nodes(build):
            pass

        assert not Node.objects.exists()
        assert states(build) == {}

    def test_ignores_failed_documents(self, build):
        artifact = give("A heron.")
        IndexedDocument.objects.filter(artifact=artifact).update(state="failed")

        assert services.make_unannounced_due(build) == 0


class TestDocuments:
    def test_are_deleted_with_their_last_node(self, build):
        artifact = give("A heron.")
        plan_all(build)
        while services.sync_nodes(build):
            pass
        remove_artifact(artifact.pk)
        assert states(build) == {"due": 1}

        plan_all(build)
        assert states(build) == {"syncing": 1}
        while services.sync_nodes(build):
            pass

        assert states(build) == {}

    def test_count_their_nodes(self, build):
        artifact = give("A heron.")
        plan_all(build)
        assert rendered(artifact)["nodes"] == {"pending": 1, "synced": 0, "failed": 0}

        services.sync_nodes(build)

        assert rendered(artifact)["nodes"] == {"pending": 0, "synced": 1, "failed": 0}
        assert rendered(artifact)["status"] == "ready"


class TestASlowBatch:
    @pytest.mark.django_db(transaction=True)
    def test_is_embedded_once(self, build, embedder, monkeypatch, settings):
        settings.STRATA_LEASE_SECONDS = 1
        embed = embedder.embed_documents

        def embed_slowly(texts):
            time.sleep(2)
            return embed(texts)

        monkeypatch.setattr(embedder, "embed_documents", embed_slowly)

        give()  # tasks run at once

        assert len(embedder.embedded) == Node.objects.count() > 0
        assert set(Node.objects.values_list("state", "attempts")) == {("synced", 0)}

"""Writes that the store may carry out after it stopped answering, and how they are resolved."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from documents.models import Artifact
from documents.services import TextContent, replace_content, update_artifact
from indexing import tasks, unconfirmed_writes
from indexing.exceptions import StoreOutcomeUnknown, StoreUnavailable
from indexing.models import Node, UnconfirmedWrite
from indexing.point_audit import resolve_unconfirmed_writes
from indexing.services import sync_nodes
from indexing.stores import VectorStore
from indexing.unconfirmed_writes import unconfirmed_write
from indexing.verification import verify_build
from tests.acting import record_enqueued
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

COLLECTION = "plain.page_embeddings.1"
TEXT = "The heron waits in the shallow water."


@contextmanager
def silent(store: VectorStore, method: str) -> Iterator[Callable[[], None]]:
    """In the block the store records writes without answering, and the callers get an error. The
    yielded function carries the writes out."""
    does = getattr(store, method)
    asked: list[tuple[Any, ...]] = []

    def take(*given: Any) -> None:
        asked.append(given)
        raise StoreOutcomeUnknown

    def catch_up() -> None:
        for given in asked:
            does(*given)

    setattr(store, method, take)
    try:
        with pytest.raises(StoreOutcomeUnknown):
            yield catch_up
    finally:
        delattr(store, method)


@pytest.fixture
def server(store, monkeypatch):
    """The store with ``has_late_writes``, as a server has."""
    monkeypatch.setattr(store, "has_late_writes", True)
    return store


@pytest.fixture
def artifact(server, build) -> Artifact:
    artifact = give(TEXT)
    sync(build, artifact)
    return artifact


@pytest.fixture
def over(settings):
    """Make the unconfirmed writes old enough to be resolved."""
    settings.STRATA_UNCONFIRMED_SECONDS = -1


def edit(build, artifact: Artifact, text: str) -> None:
    replace_content(artifact.pk, TextContent((text,)))
    sync(build, artifact)


class TestUnconfirmedWrite:
    def test_is_stored_for_a_write_without_an_answer(self, build, artifact):
        [node] = Node.objects.all()

        with (
            pytest.raises(StoreOutcomeUnknown),
            unconfirmed_write(build, COLLECTION, [node.point_id]),
        ):
            raise StoreOutcomeUnknown

        [kept] = UnconfirmedWrite.objects.all()
        assert kept.build == build
        assert kept.collection == COLLECTION
        assert kept.point_ids == [str(node.point_id)]

    def test_is_stored_before_the_write(self, build, artifact):
        with unconfirmed_write(build, COLLECTION, []):
            assert UnconfirmedWrite.objects.count() == 1

    def test_is_deleted_after_the_answer(self, build, artifact):
        edit(build, artifact, "The heron has flown.")

        assert not UnconfirmedWrite.objects.exists()

    def test_is_not_kept_for_a_write_that_was_not_sent(self, build, artifact):
        with pytest.raises(StoreUnavailable), unconfirmed_write(build, COLLECTION, []):
            raise StoreUnavailable

        assert not UnconfirmedWrite.objects.exists()

    def test_is_not_stored_for_a_store_in_this_process(self, build, store, monkeypatch):
        monkeypatch.setattr(unconfirmed_writes, "UnconfirmedWrite", None)

        with unconfirmed_write(build, COLLECTION, []):
            pass

    @pytest.mark.parametrize("method", ["upsert", "replace_payloads", "delete"])
    def test_is_stored_for_every_write_of_a_build(self, build, artifact, server, method):
        with silent(server, method):
            if method == "replace_payloads":
                update_artifact(artifact.pk, metadata={"venue": "pond"})
            else:
                replace_content(artifact.pk, TextContent(("The heron has flown.",)))
            sync(build, artifact)

        assert UnconfirmedWrite.objects.count() == 1
        sync(build, artifact)
        assert verify_build(build).is_sound


class TestResolveUnconfirmedWrites:
    @pytest.mark.parametrize(
        ("method", "finding"), [("delete", "missing"), ("upsert", "orphan")], ids=["took", "wrote"]
    )
    def test_undoes_late_writes(self, build, artifact, server, over, method, finding):
        with silent(server, method) as catch_up:
            edit(build, artifact, "The heron has flown.")
        edit(build, artifact, TEXT)
        assert verify_build(build).is_sound
        catch_up()
        assert verify_build(build).findings == {finding: 1}

        assert resolve_unconfirmed_writes(build) == 1

        sync(build)
        assert verify_build(build).is_sound
        assert not UnconfirmedWrite.objects.exists()

    def test_rewrites_the_payload_after_a_late_write(self, build, artifact, server, over, embedder):
        update_artifact(artifact.pk, metadata={"venue": "pond"})
        with silent(server, "replace_payloads") as catch_up:
            sync(build, artifact)
        update_artifact(artifact.pk, metadata={"venue": "river"})
        sync(build, artifact)
        catch_up()
        assert verify_build(build).findings == {"mislabelled": 1}
        embedder.embedded.clear()

        assert resolve_unconfirmed_writes(build) == 1

        sync(build)
        assert verify_build(build).is_sound
        assert embedder.embedded == []

    def test_changes_nothing_if_everything_is_correct(
        self, build, artifact, server, over, monkeypatch
    ):
        [node] = Node.objects.all()
        UnconfirmedWrite.objects.create(
            build=build, collection=COLLECTION, point_ids=[str(node.point_id)]
        )
        for method in ("upsert", "replace_payloads", "delete"):
            monkeypatch.setattr(server, method, None)

        assert resolve_unconfirmed_writes(build) == 0

        assert not UnconfirmedWrite.objects.exists()
        assert sync_nodes(build) == 0

    def test_compares_points_again_that_are_written_meanwhile(
        self, build, artifact, server, over, monkeypatch
    ):
        [node] = Node.objects.all()
        UnconfirmedWrite.objects.create(
            build=build, collection=COLLECTION, point_ids=[str(node.point_id)]
        )
        retrieve, edits = server.retrieve, iter([{"metadata": {"venue": "pond"}}])

        def edit_meanwhile(*given: Any) -> Any:
            for edit in edits:
                update_artifact(artifact.pk, **edit)
                sync(build, artifact)
            return retrieve(*given)

        monkeypatch.setattr(server, "retrieve", edit_meanwhile)

        assert resolve_unconfirmed_writes(build) == 0
        assert UnconfirmedWrite.objects.exists()
        assert resolve_unconfirmed_writes(build) == 0
        assert not UnconfirmedWrite.objects.exists()

    def test_waits_until_no_write_can_be_in_progress(self, build, artifact):
        UnconfirmedWrite.objects.create(build=build, collection=COLLECTION, point_ids=[])

        assert resolve_unconfirmed_writes(build) == 0

        assert UnconfirmedWrite.objects.exists()

    def test_continues_after_another_outage(self, build, artifact, server, over):
        [node] = Node.objects.all()
        Node.objects.all().delete()
        UnconfirmedWrite.objects.create(
            build=build, collection=COLLECTION, point_ids=[str(node.point_id)]
        )
        with silent(server, "delete"):
            resolve_unconfirmed_writes(build)

        assert resolve_unconfirmed_writes(build) == 1

        assert server.count(COLLECTION) == 0

    def test_runs_in_the_reconciliation(self, build, artifact, server, over, monkeypatch):
        with silent(server, "delete") as catch_up:
            edit(build, artifact, "The heron has flown.")
        edit(build, artifact, TEXT)
        catch_up()
        wakes = record_enqueued(monkeypatch, tasks.sync_nodes)

        tasks.reconcile_store()

        assert wakes == [("sync_nodes", {"build_id": build.pk})]

"""The disk of the embedded engine is away for a while, or its folder is gone."""

import errno

import pytest

from indexing.exceptions import StoreUnavailable
from indexing.models import Node
from indexing.services import DocumentPlanner, make_documents_due, sync_nodes
from indexing.stores.base import CollectionSchema
from tests.factories import PARAGRAPHS, give, sync

pytestmark = pytest.mark.usefixtures("embedded")


@pytest.fixture
def embedded(settings):
    settings.STRATA_VECTOR_STORE = "embedded"


@pytest.fixture
def planned(embedded, build):
    """A build whose nodes are not written yet, and whose store is open."""
    artifacts = [give(text) for text in PARAGRAPHS]
    ids = [artifact.pk for artifact in artifacts]
    make_documents_due([build.pk], ids)
    DocumentPlanner().plan_next(build, lambda: False)
    assert Node.objects.unsynced(build).count() == len(PARAGRAPHS)
    return build


@pytest.fixture
def away(settings, store):
    """Move the folder of the vectors away; the result brings it back."""
    folder = settings.STRATA_VECTORS_DIR
    elsewhere = folder.with_name("elsewhere")

    def move():
        folder.rename(elsewhere)
        return lambda: elsewhere.rename(folder)

    return move


@pytest.mark.parametrize("is_open", [False, True], ids=["new collection", "open collection"])
def test_nodes_wait_without_cost_while_the_folder_is_away(planned, away, is_open):
    if is_open:
        sync(planned, give("A first document opens the collection."))
        Node.objects.update(state=Node.State.PENDING, synced_input_hash="")
    bring_back = away()

    for _ in range(6):  # more than there are attempts
        with pytest.raises(StoreUnavailable):
            sync_nodes(planned)
    waiting = set(Node.objects.values_list("state", "attempts"))
    bring_back()
    while sync_nodes(planned):
        pass

    assert waiting == {("pending", 0)}
    assert set(Node.objects.values_list("state", flat=True)) == {"synced"}


def test_an_error_of_the_disk_costs_no_attempt(planned, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("indexing.stores.embedded.store.write_schema", fail)

    with pytest.raises(StoreUnavailable, match="Input/output error"):
        sync_nodes(planned)

    assert set(Node.objects.values_list("state", "attempts")) == {("pending", 0)}


def test_a_folder_that_is_away_is_neither_read_as_empty_nor_created_again(store, away, settings):
    store.ensure_collection("notes", CollectionSchema(4, {}))
    away()

    for ask in (
        store.ping,
        lambda: store.has_collection("other"),
        lambda: store.count("other"),
        lambda: store.count("notes"),
        lambda: store.ensure_collection("other", CollectionSchema(4, {})),
        store.aliases,
    ):
        with pytest.raises(StoreUnavailable, match="away"):
            ask()
    assert not settings.STRATA_VECTORS_DIR.exists()


def test_a_folder_put_in_its_place_is_not_used(store, away, settings):
    away()
    settings.STRATA_VECTORS_DIR.mkdir()

    with pytest.raises(StoreUnavailable, match="another one is in its place"):
        store.ping()

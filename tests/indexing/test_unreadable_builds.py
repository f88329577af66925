"""A build that another release stored stops no other build."""

import pytest

from indexing import lifecycle, tasks
from indexing.exceptions import StoreUnavailable
from indexing.models import IndexBuild, Node
from tests.clients import client_with_key
from tests.factories import give, load_index, sync


@pytest.fixture
def unreadable(build):
    """A build beside the live one, and the live build of another index."""
    beside = IndexBuild.objects.create(
        index=build.index, number=2, recipe=build.recipe, fingerprint="other"
    )
    ids = [beside.pk, load_index("library").pk]
    recipe = {**build.recipe, "version": 99, "embedding": {"provider": "telepathy"}}
    IndexBuild.objects.filter(pk__in=ids).update(recipe=recipe)
    return beside


def test_the_live_build_is_synced_beside_it(build, unreadable):
    sync(build, give())

    assert Node.objects.filter(build=build, state="synced").exists()


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("search/questions?index=plain&q=heron", None),
        ("search/hierarchical?index=plain&q=heron", None),
        ("indexes/plain/concepts/", {"label": "heron"}),
        ("indexes/plain/evidence/", {"items": [{"text": "Herons wait."}]}),
    ],
)
def test_an_error_of_another_index_is_no_error_of_the_server(build, unreadable, path, data):
    client = client_with_key()
    url = f"/api/v1/{path}"

    answer = client.get(url) if data is None else client.post(url, data, format="json")

    assert answer.status_code == 400, answer.content


def test_a_step_of_the_upkeep_that_fails_stops_no_other(build, unreadable, monkeypatch):
    done = []

    def fail():
        raise StoreUnavailable

    monkeypatch.setattr(lifecycle, "remove_retired_builds", fail)
    monkeypatch.setattr(lifecycle, "publish_aliases", lambda: done.append("aliases"))

    def update(each):
        done.append(str(each))
        raise StoreUnavailable

    monkeypatch.setattr(lifecycle, "update_collections", update)
    load_index("physio")
    tasks.reconcile_store()

    assert done[0] == "aliases"
    assert set(done[1:]) == {"plain #1", "physio #1"}

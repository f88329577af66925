from typing import Any

import pytest
from django.utils import timezone

from documents.models import Artifact
from feeds import services, types
from feeds.models import Feed
from indexing.models import Index, SearchSettings
from tests.factories import original_path
from tests.feeds.scripted import SCRIPTS, Script


@pytest.fixture
def script(monkeypatch):
    """What the scripted source has."""
    path = "tests.feeds.scripted.ScriptedSource"
    monkeypatch.setitem(types.BUILT_IN, "scripted", path)
    types.list_types.cache_clear()
    types.get_type.cache_clear()
    SCRIPTS["script"] = Script()
    yield SCRIPTS["script"]
    types.list_types.cache_clear()
    types.get_type.cache_clear()


def declare(**sources: dict[str, Any]) -> None:
    """Have the stored spec of an index name these sources."""
    row = Index.objects.select_related("search_settings").get(pk="plain")
    settings = row.search_settings
    content = {**(settings.content if settings else {}), "sources": sources}
    number = settings.number + 1 if settings else 1
    row.search_settings = SearchSettings.objects.create(index=row, number=number, content=content)
    row.save()
    services.sync_feeds()


def make_feed(name: str = "notes", **settings) -> Feed:
    declare(**{name: {"type": "scripted", "groups": None, **settings}})
    return Feed.objects.get(name=name)


def run(feed: Feed, listings: int = 1) -> Feed:
    """List the feed, and work until nothing is due."""
    for _ in range(listings):
        Feed.objects.filter(pk=feed.pk).update(next_listing_at=timezone.now(), waits_until=None)
        while services.work_on_feed(feed.pk):
            pass
    feed.refresh_from_db()
    return feed


def read_contents(index: str = "plain") -> dict[str, bytes]:
    """File name -> the content of each document of the index."""
    artifacts = Artifact.objects.filter(index=index)
    return {each.file_name: original_path(each).read_bytes() for each in artifacts}


def states(feed: Feed) -> dict[str, str]:
    return dict(feed.entries.values_list("path", "state"))


@pytest.fixture
def notes(script) -> Feed:
    script.documents = {f"{number}.txt": f"Note {number}.".encode() for number in range(10)}
    return run(make_feed())

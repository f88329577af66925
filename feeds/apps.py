from core.apps import StrataApp, Task, WaitingRows


class FeedsConfig(StrataApp):
    name = "feeds"
    api_urls = "feeds.urls"
    page = "sources"
    spec_sections = {"sources": "feeds.spec.SourcesSection"}
    tasks = [Task("work_on_feed", queue="sources"), Task("reconcile_feeds", every=60)]
    workers = ["feed_worker"]
    waiting_rows = [WaitingRows("fetching from sources", "FeedEntry", ["new", "due"])]

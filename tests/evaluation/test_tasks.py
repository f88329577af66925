import pytest

from config.celery import app
from core.apps import list_workers
from documents.models import Artifact
from evaluation import promotion_gate
from evaluation.tasks import promote_builds, promotion_worker
from indexing.exceptions import StoreUnavailable
from indexing.lifecycle import publish_aliases
from indexing.models import IndexBuild
from tests.factories import give, sync
from tests.retrieval.two_builds import begin_build


@pytest.fixture
def live(build, settings, tmp_path) -> IndexBuild:
    settings.STRATA_GOLDEN_DIR = tmp_path
    sync(build, give())
    return build


def now_live() -> IndexBuild:
    return IndexBuild.objects.live().get(index="plain")


class TestPromoteBuilds:
    def test_promotes_and_publishes_a_build_once_it_is_complete(self, live, store):
        publish_aliases()
        beside = begin_build(live, is_synced=False)
        promote_builds()
        assert now_live() == live

        sync(beside, *Artifact.objects.all())
        promote_builds()

        assert now_live() == beside
        assert store.aliases()[live.spec.collection_alias("chunk")] == beside.collection("chunk")

    def test_takes_one_query_without_requested_promotions(self, live, django_assert_num_queries):
        with django_assert_num_queries(1):
            promote_builds()

    def test_continues_if_one_build_raises_a_retryable_error(self, live, monkeypatch):
        first, second = begin_build(live, is_synced=False), begin_build(live)
        decide = promotion_gate.decide_promotion

        def fail_first(build, **given):
            if build == first:
                raise StoreUnavailable
            return decide(build, **given)

        monkeypatch.setattr(promotion_gate, "decide_promotion", fail_first)

        promote_builds()

        assert now_live() == second

    def test_decides_nothing_after_a_stop_request(self, live, monkeypatch):
        begin_build(live)
        monkeypatch.setattr(
            promotion_gate,
            "decide_promotion",
            lambda build, before_each_answer: before_each_answer() or pytest.fail("went on"),
        )
        promotion_worker.stop_requested.set()
        try:
            promote_builds()
        finally:
            promotion_worker.stop_requested.clear()

        assert promotion_worker.wait_idle(0)
        assert promotion_worker in list_workers()

    def test_is_scheduled_on_the_indexing_queue(self):
        woken = {entry["task"] for entry in app.conf.beat_schedule.values()}

        assert promote_builds.name in woken
        assert app.amqp.router.route({}, promote_builds.name)["queue"].name == "indexing"

"""Promotions that several workers attempt at the same time, on PostgreSQL."""

import pytest

from evaluation.promotion_gate import decide_promotion
from indexing.models import IndexBuild
from tests.factories import give, sync
from tests.retrieval.two_builds import begin_build

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 4


@pytest.mark.usefixtures("no_messages")
class TestDecidePromotion:
    def test_is_done_once_if_several_workers_try(self, build, at_once, settings, tmp_path):
        settings.STRATA_GOLDEN_DIR = tmp_path
        sync(build, give())
        beside = begin_build(build)

        decided = at_once(lambda worker: decide_promotion(beside), list(range(WORKERS)))

        assert sorted(decided) == [False] * (WORKERS - 1) + [True]
        states = dict(IndexBuild.objects.filter(index="plain").values_list("number", "state"))
        assert states == {build.number: "standby", beside.number: "live"}

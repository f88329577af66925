from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from documents.models import Artifact
from evaluation import promotion_gate
from evaluation.build_comparison import measure_build_difference
from evaluation.promotion_gate import decide_promotion
from indexing import embedding
from indexing.lifecycle import cancel_build, pause_build, promote_build, request_promotion
from indexing.models import IndexBuild, Node
from indexing.services import changing_nodes, plan_nodes
from summaries.models import Summary, WrittenText
from tests.factories import give, sync
from tests.hashing import HashingEmbedder
from tests.retrieval.two_builds import BLIND, begin_build, fill, write_golden_queries
from tests.written import write_summary

Promotion = IndexBuild.Promotion


@pytest.fixture
def golden(settings, tmp_path):
    """The folder for the golden queries of the plain index."""
    settings.STRATA_GOLDEN_DIR = tmp_path / "golden"
    return settings.STRATA_GOLDEN_DIR / "plain"


@pytest.fixture
def live(build, golden, monkeypatch):
    """The live build, with documents. The embedder follows each build's own recipe."""
    monkeypatch.setattr(embedding, "get_embedder", HashingEmbedder)
    fill(build)
    return build


def now_live() -> IndexBuild:
    return IndexBuild.objects.live().get(index="plain")


def again(build: IndexBuild) -> IndexBuild:
    return IndexBuild.objects.get(pk=build.pk)


def verdict(build: IndexBuild) -> str:
    comparison = again(build).comparison
    assert comparison is not None
    return comparison["verdict"]


class Measuring:
    """Fake ``compare_builds`` that finds no difference and runs an action meanwhile."""

    def __init__(self, monkeypatch, meanwhile=lambda: None) -> None:
        self.meanwhile = meanwhile
        self.count = 0
        monkeypatch.setattr(promotion_gate, "compare_builds", self)

    def __call__(self, live, build, *, before_each_answer) -> dict[str, Any]:
        self.count += 1
        self.meanwhile()
        return {
            "source": "golden_queries",
            "is_optimistic": False,
            "kind": "chunk",
            "live_build": live.number,
            "query_count": 2,
            "measures": {"nDCG@10": measure_build_difference([1, 1], [1, 1])},
            "is_loss": False,
            "measured_at": timezone.now().isoformat(),
        }


class TestDecidePromotion:
    def test_promotes_a_build_that_finds_as_much(self, live, golden):
        write_golden_queries(golden)
        beside = begin_build(live)

        assert decide_promotion(beside)

        assert now_live() == beside
        assert verdict(beside) == "promoted: no measure is significantly worse."
        assert again(beside).comparison["measures"]["nDCG@10"]["difference"] == 0

    def test_refuses_a_build_that_finds_significantly_less(self, live, golden):
        write_golden_queries(golden)
        beside = begin_build(live, **BLIND)

        assert not decide_promotion(beside)

        assert now_live() == live
        assert again(beside).promotion == Promotion.MANUAL
        assert verdict(beside).startswith("refused: nDCG@10 falls by 0.")
        assert again(beside).comparison["is_loss"]

    def test_measures_a_refused_build_again_when_requested(self, live, golden):
        write_golden_queries(golden)
        beside = begin_build(live, **BLIND)
        decide_promotion(beside)
        golden.rename(golden.with_name("other"))

        request_promotion(beside)
        decide_promotion(beside)

        assert now_live() == beside

    def test_promotes_a_build_that_cannot_be_measured(self, live):
        beside = begin_build(live)

        assert decide_promotion(beside)

        assert verdict(beside) == "promoted: there were no queries to measure it with."
        assert again(beside).comparison["measures"] == {}

    def test_promotes_the_first_build_of_an_index(self, live):
        live.index.live_build = None
        live.index.save()
        IndexBuild.objects.filter(pk=live.pk).update(state="building", promotion="when_complete")

        assert decide_promotion(live)

        assert now_live() == live

    def test_waits_until_the_build_is_complete(self, live, monkeypatch):
        measuring = Measuring(monkeypatch)
        beside = begin_build(live, is_synced=False)

        assert not decide_promotion(beside)

        assert (now_live(), measuring.count) == (live, 0)
        assert again(beside).promotion == Promotion.WHEN_COMPLETE

    def test_ignores_builds_without_a_requested_promotion(self, live):
        beside = begin_build(live)
        IndexBuild.objects.filter(pk=beside.pk).update(promotion=Promotion.MANUAL)

        assert not decide_promotion(beside)

        assert now_live() == live

    def test_ignores_a_paused_build(self, live):
        beside = begin_build(live)
        pause_build(beside)

        assert not decide_promotion(beside)

        assert now_live() == live

    def test_promotes_a_standby_build_again_when_requested(self, live, golden):
        write_golden_queries(golden)
        beside = begin_build(live)
        decide_promotion(beside)

        request_promotion(live)

        assert decide_promotion(live)
        assert now_live() == live

    def test_refuses_if_the_golden_queries_cannot_be_read(self, live, golden):
        write_golden_queries(golden)
        (golden / "queries.jsonl").write_text("{")
        beside = begin_build(live)

        assert not decide_promotion(beside)

        assert now_live() == live
        assert (
            verdict(beside)
            == "refused: queries.jsonl, line 1: the line must be a JSON object with an _id."
        )


class TestAForcedPromotion:
    def test_promotes_a_build_that_is_worse(self, live, golden):
        write_golden_queries(golden)
        beside = begin_build(live, **BLIND)
        decide_promotion(beside)

        request_promotion(beside, is_forced=True)

        assert decide_promotion(beside)
        assert now_live() == beside
        assert verdict(beside) == "promoted: it was forced."

    def test_promotes_a_build_that_is_incomplete_and_paused(self, live):
        beside = begin_build(live, is_synced=False)
        pause_build(beside)
        request_promotion(beside, is_forced=True)

        assert decide_promotion(beside)

        assert now_live() == beside


def fail_nodes(build, artifact) -> None:
    with changing_nodes(build.pk, [artifact.pk]):
        Node.objects.filter(build=build, artifact=artifact).update(state="failed")


def fail_summary(build, artifact) -> None:
    write_summary(build, artifact, "", input_hash="")
    Summary.objects.update(state=WrittenText.State.FAILED)
    plan_nodes(artifact.pk, build)


class TestDocumentsThatFailed:
    def test_prevent_a_promotion(self, live):
        beside = begin_build(live)
        fail_nodes(beside, Artifact.objects.first())

        assert not decide_promotion(beside)

        assert now_live() == live
        assert verdict(beside).startswith("refused: 1 documents failed in it")

    def test_do_not_prevent_a_promotion_if_they_failed_in_the_live_build_too(self, live):
        beside = begin_build(live)
        for build in (live, beside):
            fail_nodes(build, Artifact.objects.first())

        assert decide_promotion(beside)

    def test_include_documents_whose_summary_failed(self, live):
        beside = begin_build(live)
        artifact = Artifact.objects.first()
        fail_summary(beside, artifact)

        assert not decide_promotion(beside)

        assert verdict(beside).startswith("refused: 1 documents failed in it")

    def test_exclude_documents_whose_summary_failed_in_the_live_build_too(self, live):
        beside = begin_build(live)
        for build in (live, beside):
            fail_summary(build, Artifact.objects.first())

        assert decide_promotion(beside)


class TestChangesDuringTheMeasurement:
    def test_by_a_second_worker_are_kept(self, live, monkeypatch):
        beside = begin_build(live)
        other = Measuring(monkeypatch)
        kept = []

        def promote_elsewhere() -> None:
            other.meanwhile = lambda: None
            assert decide_promotion(beside)
            IndexBuild.objects.filter(pk=beside.pk).update(comparison={"verdict": "theirs"})
            kept.append(again(beside).promoted_at)

        other.meanwhile = promote_elsewhere

        assert not decide_promotion(beside)
        assert verdict(beside) == "theirs"
        assert [again(beside).promoted_at] == kept

    def test_do_not_promote_a_build_cancelled_meanwhile(self, live, monkeypatch):
        beside = begin_build(live)
        Measuring(monkeypatch, lambda: cancel_build(beside))

        assert not decide_promotion(beside)

        assert now_live() == live
        assert again(beside).state == IndexBuild.State.RETIRED

    def test_of_the_live_build_discard_the_measurement(self, live, golden, monkeypatch):
        write_golden_queries(golden)
        beside, third = begin_build(live, **BLIND), begin_build(live)
        measure = promotion_gate.compare_builds

        def compare(*builds, before_each_answer):
            promote_build(third)
            return measure(*builds, before_each_answer=before_each_answer)

        monkeypatch.setattr(promotion_gate, "compare_builds", compare)

        assert not decide_promotion(beside)

        assert now_live() == third
        assert again(beside).promotion == Promotion.WHEN_COMPLETE
        assert again(beside).comparison is None

    def test_by_a_new_document_are_waited_for_without_measuring_again(self, live, monkeypatch):
        beside = begin_build(live)
        measuring = Measuring(monkeypatch, lambda: sync(live, give("New.", title="Late")))

        assert not decide_promotion(beside)
        assert again(beside).promotion == Promotion.WHEN_COMPLETE

        sync(beside, *Artifact.objects.all())
        assert decide_promotion(beside)
        assert (now_live(), measuring.count) == (beside, 1)
        assert verdict(beside).startswith("promoted")

    def test_measured_long_ago_are_measured_again(self, live, monkeypatch):
        beside = begin_build(live)
        measuring = Measuring(monkeypatch, lambda: sync(live, give("New.", title="Late")))
        decide_promotion(beside)
        sync(beside, *Artifact.objects.all())
        measuring.meanwhile = lambda: None
        kept = again(beside).comparison
        long_ago = timezone.now() - timedelta(minutes=promotion_gate.COMPARISON_VALID_MINUTES + 1)
        IndexBuild.objects.filter(pk=beside.pk).update(
            comparison={**kept, "measured_at": long_ago.isoformat()}
        )

        assert decide_promotion(beside)

        assert measuring.count == 2

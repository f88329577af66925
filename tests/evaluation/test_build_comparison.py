"""The builds that are compared are filled once. Points outlive their test, so that a test that adds
some does so in an index of its own."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from core.exceptions import InvalidInput
from documents.models import Artifact
from evaluation import build_comparison
from evaluation.build_comparison import (
    compare_builds,
    measure_build_difference,
)
from evaluation.measuring import bootstrap_confidence_interval, deduplicate_locations
from evaluation.systems import ModeSystem
from indexing import embedding
from indexing.models import IndexBuild
from tests.factories import give, load_index
from tests.hashing import HashingEmbedder
from tests.retrieval.two_builds import BLIND, COUNT, begin_build, fill, write_golden_queries
from tests.written import make_build, question, write_all


@pytest.fixture
def golden(golden_dir):
    """The folder for the golden queries of the plain index."""
    return golden_dir / "plain"


@pytest.fixture(scope="module")
def embedders(shared_store) -> Iterator[None]:
    """The embedder follows each build's own recipe."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(embedding, "get_embedder", HashingEmbedder)
        yield


@pytest.fixture(scope="module")
def live(embedders) -> IndexBuild:
    """The live build of the plain index, with documents."""
    live = load_index("plain")
    fill(live)
    return live


@pytest.fixture(scope="module")
def equal(live) -> IndexBuild:
    """A new build of the plain index that is as good."""
    return begin_build(live)


class Pair(NamedTuple):
    live: IndexBuild
    new: IndexBuild


@pytest.fixture(scope="module")
def blinded(embedders) -> Pair:
    """A live build, and a useless new one. Their index is another, because its search settings
    affect all its builds."""
    live = make_build("blinded")
    fill(live)
    return Pair(live, begin_build(live, **BLIND))


class TestBootstrapInterval:
    @pytest.mark.parametrize(
        ("differences", "interval"),
        [
            # The mean of a sample is -k/4, where k has the distribution Binomial(4, 1/4):
            # P(k = 4) = 0.004, P(k >= 3) = 0.051, P(k = 0) = 0.316. So the 2.5 % tails end at 3, 0.
            ([-1, 0, 0, 0], (-3 / 4, 0)),
            # -k/8, where k has the distribution Binomial(8, 1/2): P(k = 8) = P(k = 0) = 0.004;
            # P(k >= 7) = P(k <= 1) = 0.035.
            ([-1, -1, -1, -1, 0, 0, 0, 0], (-7 / 8, -1 / 8)),
            ([0.25, 0.25, 0.25], (0.25, 0.25)),
        ],
    )
    def test_agrees_with_intervals_computed_by_hand(self, differences, interval):
        assert bootstrap_confidence_interval(differences) == pytest.approx(interval)

    def test_approximates_the_normal_interval_with_many_queries(self):
        sample = np.random.default_rng(5).normal(0.02, 0.2, 400)
        margin = 1.96 * sample.std() / 20

        low, high = bootstrap_confidence_interval(sample)

        assert low == pytest.approx(sample.mean() - margin, abs=margin / 20)
        assert high == pytest.approx(sample.mean() + margin, abs=margin / 20)

    def test_is_the_same_each_time(self):
        sample = np.random.default_rng(5).normal(size=50)

        assert bootstrap_confidence_interval(sample) == bootstrap_confidence_interval(sample)


class TestMeasureDifference:
    def test_pairs_the_queries(self):
        measured = measure_build_difference([1.0, 0.5, 0.0], [0.5, 0.0, 0.0])

        assert (measured["live"], measured["new"]) == (pytest.approx(0.5), pytest.approx(1 / 6))
        assert measured["difference"] == pytest.approx(-1 / 3)
        assert (measured["low"], measured["high"]) == pytest.approx(
            bootstrap_confidence_interval([-0.5, -0.5, 0.0])
        )

    @pytest.mark.parametrize(
        ("new", "is_loss"),
        [
            ([0, 0, 0, 0, 1, 1, 1, 1], True),
            ([0, 1, 1, 1, 1, 1, 1, 1], False),  # a sample may not contain the one difference
            ([1, 1, 1, 1, 1, 1, 1, 1], False),
        ],
    )
    def test_reports_a_loss_only_if_the_whole_interval_is_below_zero(self, new, is_loss):
        assert measure_build_difference([1] * 8, new)["is_loss"] is is_loss

    def test_reports_no_loss_if_more_is_found(self):
        assert not measure_build_difference([0] * 8, [1] * 8)["is_loss"]


@pytest.mark.django_db
class TestRankLocations:
    def test_names_each_artifact_once_by_its_best_chunk(self, embedders):
        live = make_build("long")
        fill(live)
        text = "\n\n".join(f"The kel3 bird, part {n}. " + "sea " * 90 for n in range(6))
        long = give(text, index="long")
        beside = begin_build(live)

        locations = ModeSystem("hybrid", beside).rank_locations("kel3 tam3 bird")
        ranked = deduplicate_locations(locations, {})

        assert len(ranked) == COUNT + 1
        assert str(long.pk) in ranked

    def test_searches_the_given_build(self, live):
        empty = begin_build(live, is_synced=False)

        assert list(ModeSystem("hybrid", empty).rank_locations("kel3")) == []


@pytest.mark.django_db
class TestCompareBuilds:
    def test_finds_no_difference_between_equal_builds(self, live, equal, golden):
        write_golden_queries(golden)

        compared = compare_builds(live, equal)

        assert compared["query_count"] == COUNT
        for measured in compared["measures"].values():
            assert (measured["live"], measured["new"]) == (1, 1)
            assert (measured["low"], measured["difference"], measured["high"]) == (0, 0, 0)
        assert not compared["is_loss"]

    def test_finds_the_loss_of_a_useless_model(self, blinded, golden_dir):
        write_golden_queries(golden_dir / "blinded")

        compared = compare_builds(*blinded)

        ndcg = compared["measures"]["nDCG@10"]
        assert ndcg["live"] == 1
        assert ndcg["low"] < ndcg["difference"] < ndcg["high"] < 0
        assert compared["is_loss"]

    def test_finds_no_loss_if_the_new_build_is_better(self, blinded, golden_dir):
        write_golden_queries(golden_dir / "blinded")

        assert not compare_builds(blinded.new, blinded.live)["is_loss"]

    def test_returns_a_result_that_json_can_represent(self, blinded, golden_dir):
        write_golden_queries(golden_dir / "blinded")
        live = blinded.live

        kept = compare_builds(*blinded)

        assert json.loads(json.dumps(kept)) == kept
        assert (kept["source"], kept["is_optimistic"]) == ("golden_queries", False)
        assert (kept["kind"], kept["live_build"], kept["is_loss"]) == ("chunk", live.number, True)
        assert set(kept["measures"]["nDCG@10"]) == {
            "live", "new", "difference", "low", "high", "is_loss",
        }  # fmt: skip

    def test_asks_the_same_sample_of_many_golden_queries_each_time(self, live, golden, monkeypatch):
        write_golden_queries(golden)
        monkeypatch.setattr(build_comparison, "MAX_GOLDEN_QUERIES", 5)
        asked = []
        monkeypatch.setattr(
            ModeSystem, "rank_locations", lambda system, query: asked.append(query) or []
        )

        first = compare_builds(live, live)
        half = len(asked)
        compare_builds(live, live)

        assert first["query_count"] == len(set(asked)) == 5
        assert asked[:half] == asked[half:]

    def test_counts_a_judged_document_outside_the_index_as_missed(self, live, golden):
        write_golden_queries(golden, kel1="d1", kel2="elsewhere")

        compared = compare_builds(live, live)

        assert compared["measures"]["R@100"]["live"] == 0.5

    def test_refuses_queries_without_a_judged_document_in_the_index(self, live, golden):
        write_golden_queries(golden, kel1="elsewhere")

        with pytest.raises(InvalidInput, match="holds none of the judged"):
            compare_builds(live, live)

    def test_returns_none_without_queries(self, live, equal):
        assert compare_builds(live, equal) is None

    def test_returns_none_for_an_empty_index(self, embedders, golden_dir):
        empty = make_build("empty")
        write_golden_queries(golden_dir / "empty")

        assert compare_builds(empty, begin_build(empty)) is None

    def test_can_be_stopped_before_each_answer(self, live, golden):
        write_golden_queries(golden)
        asked = []

        def end_at_third() -> None:
            asked.append(True)
            if len(asked) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compare_builds(live, live, before_each_answer=end_at_third)


@pytest.mark.django_db
class TestHypotheticalQuestions:
    @pytest.fixture
    def asked(self, live):
        """The live build, with questions about some of its chunks that are not embedded."""
        for artifact in Artifact.objects.filter(index="plain")[:3]:
            question(live, artifact)
        return live

    def test_are_used_without_golden_queries(self, asked, equal):
        compared = compare_builds(asked, equal)

        assert (compared["source"], compared["is_optimistic"]) == ("hypothetical_questions", True)
        assert compared["query_count"] == 3
        assert compared["measures"]["nDCG@10"]["live"] == 1

    def test_show_the_loss_of_a_useless_model(self, blinded):
        for artifact in Artifact.objects.filter(index="blinded"):
            question(blinded.live, artifact)

        assert compare_builds(*blinded)["is_loss"]

    def test_are_not_used_with_golden_queries(self, asked, golden):
        write_golden_queries(golden)

        assert compare_builds(asked, asked)["source"] == "golden_queries"

    def test_are_sampled_up_to_a_maximum(self, asked, monkeypatch):
        monkeypatch.setattr(build_comparison, "MAX_HYPOTHETICAL_QUERIES", 2)

        assert compare_builds(asked, asked)["query_count"] == 2

    def test_are_not_used_for_an_index_of_questions(self, embedders):
        live = make_build("asked", chunks={"embed": False}, questions={"count": 3})
        artifact = give(index="asked")
        write_all(live, artifact)

        assert compare_builds(live, live) is None


@pytest.mark.django_db
class TestOtherKindsOfNode:
    @pytest.mark.parametrize(
        ("recipe", "kind"),
        [
            ({"questions": {"count": 3}}, "question"),
            ({"page_summaries": True}, "page_summary"),
        ],
    )
    def test_are_compared_if_chunks_are_not_embedded(self, embedders, golden_dir, recipe, kind):
        name = f"only-{kind.replace('_', '-')}"
        live = make_build(name, chunks={"embed": False}, **recipe)
        write_all(live, *fill(live, 3))
        write_golden_queries(golden_dir / name, 3)

        compared = compare_builds(live, live)

        assert compared["kind"] == kind
        assert compared["measures"]["nDCG@10"]["live"] == 1

    def test_are_compared_if_both_builds_have_them(self, embedders, golden_dir):
        live = make_build("other", questions={"count": 3})
        write_all(live, *fill(live, 3))
        write_golden_queries(golden_dir / "other", 3)
        without_chunks = begin_build(live, is_synced=False, chunks={"embed": False})

        assert compare_builds(live, without_chunks)["kind"] == "question"

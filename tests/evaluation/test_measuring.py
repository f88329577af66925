import pytest

from core.exceptions import InvalidInput
from evaluation.judged_queries import JudgedQueries
from evaluation.measuring import (
    SystemMeasurement,
    compare_to_baseline,
    deduplicate_locations,
    measure_systems,
)
from evaluation.systems import HitLocation, find_answerable_modes, make_system


class Scripted:
    """Returns scripted results for each query."""

    def __init__(self, name: str, answers: dict[str, list[str]]) -> None:
        self.name = name
        self.answers = answers
        self.asked: list[str] = []

    def answer_first_page(self, query: str) -> None:
        self.asked.append(query)

    def rank_locations(self, query: str) -> list[HitLocation]:
        return [HitLocation(name, None, name.upper(), "") for name in self.answers[query]]


JUDGED = JudgedQueries({"q1": "heron", "q2": "granite"}, {"q1": {"d0": 1}, "q2": {"d1": 1}})


class TestMeasureSystems:
    def test_computes_the_known_measures_of_given_rankings(self):
        system = Scripted("a", {"heron": ["d0", "d1"], "granite": ["d3", "d1"]})

        [measured] = measure_systems([system], JUDGED, measures=["nDCG@10", "RR", "R@1"])

        assert measured.means["RR"] == pytest.approx(0.75)
        assert measured.means["R@1"] == pytest.approx(0.5)
        assert measured.means["nDCG@10"] == pytest.approx((1 + 0.63093) / 2, abs=1e-4)
        assert measured.values_by_measure["RR"] == [1.0, 0.5]

    def test_counts_a_query_without_hits_as_missed(self):
        system = Scripted("a", {"heron": ["d0"], "granite": []})

        [measured] = measure_systems([system], JUDGED, measures=["R@10"])

        assert measured.values_by_measure == {"R@10": [1.0, 0.0]}

    def test_asks_every_system_every_query_after_a_warm_up_query(self):
        answers = {"heron": ["d0"], "granite": ["d1"]}
        systems = [Scripted("a", answers), Scripted("b", answers)]
        counted = []

        measured = measure_systems(systems, JUDGED, before_each_answer=lambda: counted.append(1))

        assert [each.asked for each in systems] == [["heron", "heron", "granite"]] * 2
        assert [len(each.latencies_ms) for each in measured] == [2, 2]
        assert len(counted) == 4

    def test_raises_the_exception_that_stops_it(self):
        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            measure_systems([Scripted("a", {})], JUDGED, before_each_answer=stop)


class TestDeduplicateLocations:
    def test_keeps_each_artifact_once_at_its_first_rank(self):
        found = [HitLocation(name, 0, "", "") for name in ["d1", "d0", "d1", "d2"]]

        assert list(deduplicate_locations(found, {"d0": 1})) == ["d1", "d0", "d2"]

    def test_counts_pages_if_pages_were_judged(self):
        found = [
            HitLocation("d0", 4, "", ""),
            HitLocation("d0", 2, "", ""),
            HitLocation("d0", 7, "", ""),
        ]

        assert list(deduplicate_locations(found, {"d0#page=3": 1})) == ["d0", "d0#page=3"]

    def test_reads_at_most_100_places(self):
        many = (HitLocation(f"d{n}", None, "", "") for n in range(1_000))

        assert len(deduplicate_locations(many, {})) == 100
        assert next(many).artifact_id == "d100"


class TestCompareToBaseline:
    def test_returns_the_difference_and_interval_of_each_measure(self):
        better = SystemMeasurement("a", {"RR": [1.0] * 8}, [1.0] * 8, {})
        baseline = SystemMeasurement("b", {"RR": [1.0, 0.5] * 4}, [1.0] * 8, {})

        difference = compare_to_baseline(better, baseline)["RR"]

        assert difference["difference"] == pytest.approx(0.25)
        assert difference["baseline"] == pytest.approx(0.75)
        # k/16 with k from Binomial(8, 1/2), as in the test of the interval
        assert (difference["low"], difference["high"]) == pytest.approx((1 / 16, 7 / 16))
        assert difference["is_significant"]

    def test_does_not_report_a_random_difference_as_significant(self):
        one = SystemMeasurement("a", {"RR": [1.0, 0.0, 1.0, 0.0]}, [1.0] * 4, {})
        other = SystemMeasurement("b", {"RR": [0.0, 1.0, 0.0, 1.0]}, [1.0] * 4, {})

        assert not compare_to_baseline(one, other)["RR"]["is_significant"]


class TestSystems:
    def test_return_hits_of_the_index(self, filled):
        for name in [*find_answerable_modes("plain"), "plain"]:
            system = make_system("plain", name)
            first = next(iter(system.rank_locations("heron waits for fish in the shallows")))

            assert (name, first.artifact_id) == (name, str(filled[0].pk))
            assert first.title == "Note 0"
            assert first.page_index == 0
            assert "heron" in first.text

    def test_of_an_index_are_the_modes_that_it_supports(self, filled):
        assert find_answerable_modes("plain") == ["dense", "sparse", "hybrid"]

    def test_are_refused_if_the_name_is_unknown(self, filled):
        with pytest.raises(InvalidInput) as refused:
            make_system("plain", "psychic")

        assert {"dense", "plain"} <= set(refused.value.allowed)

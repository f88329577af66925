import pytest

from core.exceptions import InvalidInput
from evaluation.judged_queries import JudgedQueries
from evaluation.measuring import (
    SystemMeasurement,
    compare_to_baseline,
    deduplicate_locations,
    measure_systems,
    parse_measures,
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
    def test_measures_rankings_it_can_be_sure_of(self):
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

    def test_has_every_system_answer_every_query_after_a_first_to_warm_up(self):
        answers = {"heron": ["d0"], "granite": ["d1"]}
        systems = [Scripted("a", answers), Scripted("b", answers)]
        counted = []

        measured = measure_systems(systems, JUDGED, before_each_answer=lambda: counted.append(1))

        assert [each.asked for each in systems] == [["heron", "heron", "granite"]] * 2
        assert [len(each.latencies_ms) for each in measured] == [2, 2]
        assert len(counted) == 4

    def test_ends_with_what_it_is_stopped_by(self):
        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            measure_systems([Scripted("a", {})], JUDGED, before_each_answer=stop)


class TestRankPlaces:
    def test_counts_each_artifact_once_where_it_came_first(self):
        found = [HitLocation(name, 0, "", "") for name in ["d1", "d0", "d1", "d2"]]

        assert list(deduplicate_locations(found, {"d0": 1})) == ["d1", "d0", "d2"]

    def test_counts_the_page_where_that_was_judged(self):
        found = [
            HitLocation("d0", 4, "", ""),
            HitLocation("d0", 2, "", ""),
            HitLocation("d0", 7, "", ""),
        ]

        assert list(deduplicate_locations(found, {"d0#page=3": 1})) == ["d0", "d0#page=3"]

    def test_reads_no_more_of_a_ranking_than_measures_look_at(self):
        many = (HitLocation(f"d{n}", None, "", "") for n in range(1_000))

        assert len(deduplicate_locations(many, {})) == 100
        assert next(many).artifact_id == "d100"


class TestCompare:
    def test_gives_each_measure_its_difference_and_interval(self):
        better = SystemMeasurement("a", {"RR": [1.0] * 8}, [1.0] * 8, {})
        baseline = SystemMeasurement("b", {"RR": [1.0, 0.5] * 4}, [1.0] * 8, {})

        difference = compare_to_baseline(better, baseline)["RR"]

        assert difference.difference == pytest.approx(0.25)
        assert difference.baseline == pytest.approx(0.75)
        # k/16 with k from Binomial(8, 1/2), as in the test of the interval
        assert (difference.low, difference.high) == pytest.approx((1 / 16, 7 / 16))
        assert difference.is_significant

    def test_leaves_to_chance_what_chance_explains(self):
        one = SystemMeasurement("a", {"RR": [1.0, 0.0, 1.0, 0.0]}, [1.0] * 4, {})
        other = SystemMeasurement("b", {"RR": [0.0, 1.0, 0.0, 1.0]}, [1.0] * 4, {})

        assert not compare_to_baseline(one, other)["RR"].is_significant


class TestParseMeasures:
    @pytest.mark.parametrize("names", [["goodness"], [""], [], ["nDCG@"]])
    def test_refuses_a_measure_there_is_not(self, names):
        with pytest.raises(InvalidInput):
            parse_measures(names)


class TestSystems:
    def test_answer_with_what_the_index_holds(self, filled):
        for name in [*find_answerable_modes("plain"), "plain"]:
            system = make_system("plain", name)
            first = next(iter(system.rank_locations("heron waits for fish in the shallows")))

            assert (name, first.artifact_id) == (name, str(filled[0].pk))
            assert first.title == "Note 0"
            assert first.page_index == 0
            assert "heron" in first.text

    def test_of_an_index_are_the_modes_it_can_answer(self, filled):
        assert find_answerable_modes("plain") == ["dense", "sparse", "hybrid"]

    def test_are_refused_where_there_are_none_of_the_name(self, filled):
        with pytest.raises(InvalidInput) as refused:
            make_system("plain", "psychic")

        assert {"dense", "plain"} <= set(refused.value.allowed)

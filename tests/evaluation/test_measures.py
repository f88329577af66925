import random

import ir_measures
import pytest

from core.exceptions import InvalidInput
from evaluation.judged_queries import JudgedQueries
from evaluation.measures import NAMES, parse_measures
from evaluation.measuring import compute_measures

MEASURES = [
    "nDCG", "nDCG@10", "nDCG@3", "R@1", "R@100", "P@1", "P@20", "AP", "AP@5", "RR", "Success@3",
]  # fmt: skip


class TestMeasure:
    @pytest.mark.parametrize("seed", range(5))
    def test_has_the_values_of_pytrec_eval(self, seed):
        """Through ir_measures, with grades 0 to 3, unjudged documents, and queries without hits or
        without relevant documents."""
        source = random.Random(seed)
        documents = [f"d{number}" for number in range(60)]
        grades = {
            f"q{number}": {each: source.choice([0, 0, 1, 2, 3]) for each in documents[::2]}
            for number in range(20)
        }
        grades["q0"] = dict.fromkeys(documents, 0)
        rankings = {key: source.sample(documents, source.randrange(1, 60)) for key in grades}
        rankings["q1"] = []
        run = {
            key: {each: float(-rank) for rank, each in enumerate(ranking)}
            for key, ranking in rankings.items()
        }
        expected = {name: dict.fromkeys(grades, 0.0) for name in MEASURES}
        parsed = [ir_measures.parse_measure(name) for name in MEASURES]
        for each in ir_measures.pytrec_eval.iter_calc(parsed, grades, run):
            expected[str(each.measure)][each.query_id] = each.value

        judged = JudgedQueries(dict.fromkeys(grades, "heron"), grades)
        values = compute_measures(parse_measures(MEASURES), judged, rankings)

        assert list(values) == MEASURES
        for name in MEASURES:
            assert values[name] == pytest.approx(list(expected[name].values())), name

    def test_counts_the_first_relevant_document_within_the_cutoff(self):
        [measure] = parse_measures(["RR@2"])

        assert measure.compute(["a", "b", "c"], {"b": 1}) == 0.5
        assert measure.compute(["a", "b", "c"], {"c": 1}) == 0


class TestParseMeasures:
    def test_reads_the_notation_of_ir_measures(self):
        names = [*MEASURES, "MRR", "MAP@5", "Recall@5", "NDCG@10", "RR@10"]

        assert [str(each) for each in parse_measures(names)] == [
            str(ir_measures.parse_measure(name)) for name in names
        ]

    @pytest.mark.parametrize("names", [["goodness"], [""], [], ["nDCG@"], ["P"], ["R@0"], ["P@5x"]])
    def test_refuses_unknown_measures(self, names):
        with pytest.raises(InvalidInput):
            parse_measures(names)

    def test_names_every_measure_if_one_is_unknown(self):
        with pytest.raises(InvalidInput) as refused:
            parse_measures(["Bpref"])

        assert all(name in refused.value.fix for name in NAMES)

import json

import pytest

from benchmarks.finding_pairs.write import PAIRS_FILE, make_pairs
from evidence.differences import find_difference

SAID = "In Norway, aspirin lowered blood pressure by 1.2 mmHg in 40 adults."


class TestFindDifference:
    @pytest.mark.parametrize(
        ("new", "difference"),
        [
            ("In Norway, aspirin lowered blood pressure by 3.4 mmHg in 40 adults.", "number"),
            ("In Norway, aspirin lowered blood pressure by 1.2 percent in 40 adults.", "number"),
            ("In Norway, aspirin lowered blood pressure by -1.2 mmHg in 40 adults.", "number"),
            ("In Norway, aspirin raised blood pressure by 1.2 mmHg in 40 adults.", "sign"),
            (
                "In Norway, aspirin never lowered blood pressure by 1.2 mmHg in 40 adults.",
                "negation",
            ),
            ("In Sweden, aspirin lowered blood pressure by 1.2 mmHg in 40 adults.", "name"),
        ],
    )
    def test_names_the_fact_in_which_two_findings_differ(self, new, difference):
        assert find_difference(new, SAID) == difference

    @pytest.mark.parametrize(
        ("new", "known"),
        [
            ("By 1.2 mmHg, aspirin reduced blood pressure in forty adults in Norway.", SAID),
            ("Aspirin lowered blood pressure in Norway.", SAID),  # it adds nothing
            ("Researchers say aspirin lowers pain.", "According to a study, aspirin lowers pain."),
            ("A dose of 0.05 g helps.", "A dose of 50 mg helps."),
            ("1,500 people fell ill.", "1500 people fell ill."),
            ("It costs €5 million.", "It costs 5,000,000 euros."),
            ("Bees that were not exposed flew.", "Unexposed bees flew."),
            ("Type 2 diabetics sleep less.", "Patients with type 2 diabetes sleep less."),
        ],
    )
    def test_finds_none_between_two_wordings_of_one_fact(self, new, known):
        assert find_difference(new, known) is None

    def test_compares_each_sentence_with_the_most_similar_one(self):
        known = "The drug did not help men. The drug helped women."

        assert find_difference("The drug helped women.", known) is None
        assert find_difference("The drug helped men.", known) == "negation"

    def test_does_not_treat_german_nouns_as_names(self):
        known = "Die Studie der Klinik hat gezeigt, dass das Mittel bei den Kindern wirkt."
        new = "Die Untersuchung der Klinik hat gezeigt, dass das Mittel bei den Kindern wirkt."

        assert find_difference(new, known) is None


class TestPairs:
    def test_are_classified_as_different_or_repeated(self):
        pairs = [json.loads(line) for line in PAIRS_FILE.read_text("utf-8").splitlines()]
        wrong = {True: 0, False: 0}
        for pair in pairs:
            is_same = pair["differs_in"] is None
            wrong[is_same] += (find_difference(pair["second"], pair["first"]) is None) != is_same

        assert len(pairs) == 500
        assert wrong[False] <= 4  # of 400
        assert wrong[True] <= 10  # of 100

    def test_equal_the_output_of_their_script(self):
        pairs = [json.loads(line) for line in PAIRS_FILE.read_text("utf-8").splitlines()]

        assert pairs == list(make_pairs())

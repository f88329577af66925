import json

import pytest

from benchmarks.finding_pairs.measure import OPPOSITES_FILE, read_pairs
from benchmarks.finding_pairs.write import PAIRS_FILE, make_pairs
from evidence.wording import has_same_words

SAID = "In Norway, aspirin lowered blood pressure by 1.2 mmHg in 40 adults."


class TestHasSameWords:
    @pytest.mark.parametrize(
        "other",
        [
            "In Norway, aspirin lowered blood pressure by 3.4 mmHg in 40 adults.",
            "In Norway, aspirin lowered blood pressure by 1.2 percent in 40 adults.",
            "In Norway, aspirin lowered blood pressure by -1.2 mmHg in 40 adults.",
            "In Norway, aspirin raised blood pressure by 1.2 mmHg in 40 adults.",
            "In Norway, aspirin never lowered blood pressure by 1.2 mmHg in 40 adults.",
            "In Sweden, aspirin lowered blood pressure by 1.2 mmHg in 40 adults.",
            "Aspirin lowered blood pressure in Norway.",
        ],
    )
    def test_is_false_if_one_word_differs(self, other):
        assert not has_same_words(SAID, other)
        assert not has_same_words(other, SAID)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Metformin activates AMPK pathway", "Metformin inhibits AMPK pathway"),
            ("Mice outran rats.", "Rats outran mice."),
            ("Rates were higher in men than women.", "Rates were higher in women than men."),
            ("Smoking causes depression.", "Smoking is caused by depression."),
            ("The rate fell from 8 to 5.", "The rate fell from 5 to 8."),
            ("The effect was small (p < 0.05).", "The effect was small (p > 0.05)."),
        ],
    )
    def test_is_false_for_opposites(self, one, other):
        assert not has_same_words(one, other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (SAID, "Aspirin lowered blood pressure by 1.2 mmHg in 40 adults in Norway."),
            ("A dose of 0.05 g helps.", "The dose of 50 mg helps."),
            ("1,500 people fell ill.", "1500 people fell ill."),
            ("It has 1111,111,111.5 parts.", "It has 1111111111.5 parts."),
            ("It fell by 1,5 kg.", "It fell by 1.5 kg."),
            ("The students' scores rose.", "Scores of students rose."),
            (
                "It became warm, in Lapland, by 2 °C.",
                "It became warm by 2 degrees Celsius in Lapland",
            ),
            ("In mice, the drug slows growth.", "The drug slows growth in mice."),
        ],
    )
    def test_is_true_for_a_moved_phrase_another_spelling_or_a_free_word(self, one, other):
        assert has_same_words(one, other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Aspirin lowers the risk.", "Aspirin lowering the risk."),
            ("Aspirin lowers the risk.", "Aspirin lowered the risk."),
            ("Lithium reduces relapses.", "Lithium, reducing relapses"),
            ("The drug stops growth.", "The drug stopped growth."),
            ("A judge studies appeals.", "The judge studied an appeal."),
            ("The dose reaches the liver.", "The dose is reaching the liver."),
            ("In mice, the drug slows growth.", "The drug slowing growth in mice."),
        ],
    )
    def test_is_true_for_an_inflected_form(self, one, other):
        assert has_same_words(one, other)
        assert has_same_words(other, one)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("The firm sues.", "The firm is sued."),
            ("The firm often sues.", "The firm was often sued."),
            ("The infecting cells died.", "The infected cells died."),
            ("Rats rose by 5 percent.", "Rates rose by 5 percent."),
            ("Rats fell ill.", "Rating fell ill."),
            ("The plane crashed.", "The plan crashed."),
            ("Aspirin raises the risk.", "Aspirin lowering the risk."),
        ],
    )
    def test_is_false_for_a_passive_and_for_words_that_only_look_alike(self, one, other):
        assert not has_same_words(one, other)
        assert not has_same_words(other, one)


class TestPairs:
    def test_that_differ_are_kept_apart(self):
        pairs = [json.loads(line) for line in PAIRS_FILE.read_text("utf-8").splitlines()]
        same = [pair for pair in pairs if has_same_words(pair["first"], pair["second"])]

        assert len(pairs) == 500
        assert {pair["differs_in"] for pair in same} == {None}
        assert len(same) >= 35  # of 100 rewordings

    def test_of_opposites_are_kept_apart(self):
        pairs = read_pairs(OPPOSITES_FILE)

        assert len(pairs) == 100
        assert not [pair for pair in pairs if has_same_words(pair["first"], pair["second"])]

    def test_equal_the_output_of_their_script(self):
        pairs = [json.loads(line) for line in PAIRS_FILE.read_text("utf-8").splitlines()]

        assert pairs == list(make_pairs())

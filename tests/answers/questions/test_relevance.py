"""Relevance with the real model: short texts of a field, and questions about other things."""

import pytest

from access.grants import EVERYTHING
from answers.relevance import RelevanceTest
from retrieval.search.targets import find_builds, make_targets
from tests.factories import give, sync
from tests.written import make_build

ABSTRACTS = {
    "Phrase-based translation": "We translate by phrases and score them with a language model.",
    "Transition-based parsing": "A parser of dependencies that shifts and reduces, in linear time.",
    "Word sense disambiguation": "Which sense of a word is meant, told from the words around it.",
    "Sarcasm in short messages": "Irony and sarcasm turn the sentiment of a message round.",
    "Correlation with human judgement": "BLEU and METEOR are compared with what readers say.",
}
ELSEWHERE = """
best pizza in Rome
how do I change a bicycle tyre
weather in Madrid tomorrow
chocolate cake recipe with walnuts
who won the football world cup in 1998
symptoms of appendicitis
how to prune roses in winter
mortgage interest rates for first-time buyers
what is the capital of Mongolia
plumbing leak under the kitchen sink
best hiking boots for the Alps
when does the supermarket close on Sunday
vitamin D dosage for adults
how tall is Mount Kilimanjaro
tax return deadline
knee pain after running
""".strip().splitlines()
HERE = """
BLEU
sarcasm
statistical machine translation
dependency parsers
which sense does a word have?
is irony hard to detect?
evaluation metrics and human judgement
""".strip().splitlines()


@pytest.fixture
def target(db, store):
    build = make_build("papers")
    sync(build, *(give(text, index="papers", title=title) for title, text in ABSTRACTS.items()))
    [made] = make_targets([find_builds(["papers"], EVERYTHING)["papers"]], ["chunk"], None)
    return made


class TestRelevanceTest:
    def test_distinguishes_relevant_from_irrelevant_questions(self, target):
        test = RelevanceTest(0.4, ["en"], "")

        assert [each for each in ELSEWHERE if test.judge(target, each).is_relevant] == []
        assert [each for each in HERE if not test.judge(target, each).is_relevant] == []

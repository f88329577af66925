from datetime import date

import pytest

from answers.questions.english.years import find_year_clauses

TODAY = date(2026, 11, 21)


def read(text):
    return [clause.condition for clause in find_year_clauses(text, "year", TODAY)]


class TestFindYearClauses:
    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ("from 2012 onwards", {"gte": 2012}),
            ("from 2012 on", {"gte": 2012}),
            ("2012 or earlier", {"lte": 2012}),
            ("from 2012", 2012),
            ("between 2015 and 2012", {"gte": 2012, "lte": 2015}),
            ("mid-1990s", {"gte": 1994, "lte": 1996}),
            ("since the late 2010s", {"gte": 2017}),
            ("before the 1990s", {"lt": 1990}),
            ("over the past two decades", {"gte": 2006}),
            ("this year", 2026),
            ("last year", 2025),
            ("in the past year", {"gte": 2025}),
        ],
    )
    def test_reads_phrases_about_years(self, said, meant):
        assert read(f"parsing {said}") == [{"year": meant}]

    @pytest.mark.parametrize("said", ["not since 2019", "but not after 2019", "excluding 2019"])
    def test_reads_negated_phrases(self, said):
        [condition] = read(f"parsing {said}")

        assert set(condition) == {"not"}

    @pytest.mark.parametrize(
        "text",
        [
            "in 2000 sentences", "of 2019 examples", "2019-nCoV", "COVID-2019", "version 2019",
            "$2000 since", "since 2,019", "from 2019.5 on", "top 2000", "GPT 2019", "item 12019",
            "corpus (2009-2017) of speeches", "in recent years", "depuis 2019", "seit 2019",
            "no later than 2012", "newer than 2012", "pre-2012", "2015-18", "from 2015–18",
            "the 80s", "after May 2019", "from May 2015 to June 2018", "in the last 18 months",
        ],
    )  # fmt: skip
    def test_ignores_other_numbers(self, text):
        assert read(text) == []

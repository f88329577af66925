"""Searches say whether passages are about their query."""

# ruff: noqa: F811 (fixtures that are imported)

import pytest
from django.core.management import call_command

from access.grants import EVERYTHING
from retrieval.all_searches import run_search
from tests.retrieval.test_all_searches import written  # noqa: F401


class TestRunSearch:
    @pytest.mark.parametrize(
        "name", ["pages", "summaries", "questions", "hierarchical", "recursive"]
    )
    def test_says_whether_passages_are_about_the_query(self, written, name):
        about, other = (
            run_search(name, {"index": "full", "query": query}, EVERYTHING).content
            for query in ("granite crystals", "sourdough in Rome")
        )

        assert about["relevant"] is True
        assert other["relevant"] is False
        assert other["notes"][0] == (
            "Nothing here seems to be about the query: no passage is similar to it, and none "
            "mentions “sourdough” or “Rome”."
        )

    @pytest.mark.parametrize(
        ("parameters", "expected"),
        [
            ({"query": "granite", "mode": "sparse"}, True),
            ({"query": "sourdough", "mode": "sparse"}, None),
            ({"query": "sourdough", "mode": "dense"}, False),
            ({"query": "Wie backe ich ein Brot?"}, None),
            ({"query": "granite", "filter": {"artifact_title": "Notes"}}, True),
            ({"query": "granite", "filter": {"artifact_title": "Others"}}, False),
            ({"query": "granite", "filter": {"artifact_title": "Absent"}}, None),
            ({"query": "granite", "index": ["full", "empty"]}, True),
        ],
    )
    def test_says_null_where_it_cannot_tell(self, written, parameters, expected):
        answer = run_search("pages", {"index": "full", **parameters}, EVERYTHING).content

        assert answer["relevant"] is expected

    def test_tests_the_question_of_a_pasted_text_and_the_text(self, written):
        steps = "Yeast was added and the oven in Rome was set. " * 30
        queries = {
            f"What about granite crystals? {steps}": True,
            f"What about this sourdough? {'Granite crystals grow slowly. ' * 40}": True,
            f"What about sourdough in Rome? {steps}": False,
        }

        for query, expected in queries.items():
            answer = run_search("pages", {"index": "full", "query": query}, EVERYTHING).content
            assert answer["relevant"] is expected, query


class TestSearchCommand:
    def test_prints_above_the_hits_that_they_are_about_something_else(self, written, capsys):
        call_command("search", "sourdough in Rome", "--index=full")

        first, *others = capsys.readouterr().out.splitlines()
        assert first.startswith("Nothing here seems to be about the query")
        assert others[0].startswith("1. Notes")

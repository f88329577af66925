import pytest

from answers.questions.clauses import extract_topic, join_filters


class TestJoinFilters:
    @pytest.mark.parametrize(
        ("filters", "joined"),
        [
            ([], {}),
            ([{"year": 2019}, {"venue": "acl"}], {"year": 2019, "venue": "acl"}),
            (
                [{"year": {"gte": 2015}}, {"year": {"lt": 2019}}],
                {"year": {"gte": 2015, "lt": 2019}},
            ),
            (
                [{"year": {"gte": 2015}}, {"year": {"gte": 2017}}],
                {"year": {"gte": 2015}, "all_of": [{"year": {"gte": 2017}}]},
            ),
            ([{"venue": "acl"}, {"venue": "acl"}], {"venue": "acl"}),
            (
                [{"venue": "acl"}, {"venue": "tacl"}],
                {"venue": "acl", "all_of": [{"venue": "tacl"}]},
            ),
            (
                [{"not": {"venue": "acl"}}, {"not": {"year": 2019}}],
                {"not": {"venue": "acl"}, "all_of": [{"not": {"year": 2019}}]},
            ),
            (
                [{"not": {"year": {"gte": 2019}}}, {"not": {"venue": "acl"}}],
                {"not": {"year": {"gte": 2019}}, "all_of": [{"not": {"venue": "acl"}}]},
            ),
            (
                [{"all_of": [{"a": 1}]}, {"all_of": [{"b": 2}]}, {"any_of": [{"c": 3}]}],
                {"all_of": [{"a": 1}, {"b": 2}], "any_of": [{"c": 3}]},
            ),
            (
                [{"any_of": [{"a": 1}]}, {"any_of": [{"b": 2}]}],
                {"any_of": [{"a": 1}], "all_of": [{"any_of": [{"b": 2}]}]},
            ),
        ],
    )
    def test_returns_one_filter_that_requires_all(self, filters, joined):
        assert join_filters(filters) == joined

    def test_does_not_change_its_inputs(self):
        given = {"all_of": [{"a": 1}], "year": {"gte": 2015}}

        join_filters([given, {"all_of": [{"b": 2}], "year": {"lt": 2019}}])

        assert given == {"all_of": [{"a": 1}], "year": {"gte": 2015}}


class TestExtractTopic:
    @pytest.mark.parametrize(
        ("question", "read", "remainder"),
        [
            ("parsing since 2019", "since 2019", "parsing"),
            ("since 2019: parsing", "since 2019", "parsing"),
            ("What is parsing since 2019?", "since 2019", "What is parsing?"),
            ("Show me all papers on parsing since 2019", "since 2019", "parsing"),
            ("parsing papers since 2019", "since 2019", "parsing"),
            ("paper recommendation since 2019", "since 2019", "paper recommendation"),
            ("how does attention work since 2019", "since 2019", "how does attention work"),
            ("papers that compare parsers since 2019", "since 2019", "compare parsers"),
            ("parsing (since 2019) of tweets", "since 2019", "parsing () of tweets"),
            ("please list the papers since 2019", "since 2019", ""),
            ("papers which were since 2019", "since 2019", ""),
        ],
    )
    def test_removes_the_clauses_that_were_read(self, question, read, remainder):
        start = question.index(read)

        assert extract_topic(question, [(start, start + len(read))]) == remainder

    def test_returns_the_whole_question_if_nothing_was_read(self):
        assert extract_topic(" papers on parsing ", []) == "papers on parsing"

import math

import pytest

from access.grants import EVERYONE
from core.exceptions import InvalidInput
from indexing.spec import FieldSpec, IndexSpec
from indexing.stores import AllOf, AnyOf, Empty, Match, MatchText, Not, Range
from retrieval.filters import MAX_CONDITIONS, MAX_DEPTH, parse_filter

SPEC = IndexSpec(
    name="papers",
    metadata={
        "year": FieldSpec(type="integer"),
        "venue": FieldSpec(type="keyword", values=("ACL", "EMNLP")),
        "topics": FieldSpec(type="keyword", many=True, lowercase=True),
        "impact": FieldSpec(type="float"),
        "is_award": FieldSpec(type="bool"),
        "published": FieldSpec(type="datetime"),
        "abstract": FieldSpec(type="text"),
    },
)
LAST = "23:59:59.999999Z"


def refusal(content):
    with pytest.raises(InvalidInput) as refused:
        parse_filter(content, SPEC)
    return refused.value


class TestParseFilter:
    @pytest.mark.parametrize("content", [None, {}])
    def test_returns_none_for_an_empty_filter(self, content):
        assert parse_filter(content, SPEC) is None

    def test_requires_every_key(self):
        parsed = parse_filter({"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}, SPEC)

        assert parsed == AllOf([Range("year", gte=2019), Match("venue", ["ACL", "EMNLP"])])

    def test_reads_nested_filters(self):
        parsed = parse_filter(
            {"any_of": [{"year": 2019}, {"not": {"all_of": [{"venue": "ACL"}]}}]}, SPEC
        )

        assert parsed == AnyOf([Match("year", [2019]), Not(Match("venue", ["ACL"]))])

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ({"is_award": True}, Match("is_award", [True])),
            ({"impact": 2}, Range("impact", gte=2.0, lte=2.0)),
            ({"impact": {"gt": 1, "lt": 2.5}}, Range("impact", gt=1.0, lt=2.5)),
            ({"abstract": "graph parsing"}, MatchText("abstract", "graph parsing")),
            (
                {"abstract": ["graph", "tree"]},
                AnyOf([MatchText("abstract", "graph"), MatchText("abstract", "tree")]),
            ),
            ({"topics": "Parsing"}, Match("topics", ["parsing"])),
            ({"page_index": {"lte": 3}}, Range("page_index", lte=3)),
            ({"media_type": "text/plain"}, Match("media_type", ["text/plain"])),
            (
                {"artifact_id": "6F1C3C6E-4A6B-4D57-9E0C-111111111111"},
                Match("artifact_id", ["6f1c3c6e-4a6b-4d57-9e0c-111111111111"]),
            ),
            (
                {"published": {"gte": "2019-05-01T12:00:00+02:00"}},
                Range("published", gte="2019-05-01T10:00:00Z"),
            ),
            ({"published": {"lt": "2019-05-01"}}, Range("published", lt="2019-05-01T00:00:00Z")),
            (
                {"published": ["2024-02", "20240501T120000Z"]},
                AnyOf(
                    [
                        Range("published", gte="2024-02-01T00:00:00Z", lte=f"2024-02-29T{LAST}"),
                        Range("published", gte="2024-05-01T12:00:00Z", lte="2024-05-01T12:00:00Z"),
                    ]
                ),
            ),
            (
                {"published": {"gt": "2023", "lte": "2024-05-01"}},
                Range("published", gt=f"2023-12-31T{LAST}", lte=f"2024-05-01T{LAST}"),
            ),
        ],
    )
    def test_converts_each_type_to_what_the_store_compares(self, content, expected):
        assert parse_filter(content, SPEC) == expected

    @pytest.mark.parametrize(
        "written", ["impingement", "Shoulder  Impingement", "SUBACROMIAL PAIN"]
    )
    def test_compares_a_declared_value_and_its_synonyms_however_it_is_written(self, written):
        values = {"shoulder impingement": {"synonyms": ["Impingement", "subacromial pain"]}}
        declared = {"type": "keyword", "lowercase": True, "closed": False, "values": values}
        spec = IndexSpec.model_validate({"name": "physio", "metadata": {"conditions": declared}})
        forms = ["shoulder impingement", "impingement", "subacromial pain"]

        assert parse_filter({"conditions": written}, spec) == Match("conditions", forms)
        assert parse_filter({"not": {"conditions": [written, "Sciatica"]}}, spec) == Not(
            Match("conditions", [*forms, "sciatica"])
        )

    @pytest.mark.parametrize("no_value", [None, {"exists": False}])
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("year", Empty("year")),
            ("is_award", Empty("is_award")),
            ("published", Empty("published")),
            ("page_index", Empty("page_index")),
            ("topics", AnyOf([Empty("topics"), Match("topics", [""])])),
            ("abstract", AnyOf([Empty("abstract"), Match("abstract", [""])])),
            ("groups", Match("groups", [EVERYONE])),
        ],
    )
    def test_matches_what_has_no_value(self, name, expected, no_value):
        assert parse_filter({name: no_value}, SPEC) == expected
        assert parse_filter({"not": {name: no_value}}, SPEC) == Not(expected)
        assert parse_filter({name: {"exists": True}}, SPEC) == Not(expected)

    def test_takes_no_value_beside_values_and_bounds(self):
        assert parse_filter({"year": [2019, None]}, SPEC) == AnyOf(
            [Match("year", [2019]), Empty("year")]
        )
        assert parse_filter({"year": {"exists": True, "lt": 2019}}, SPEC) == AllOf(
            [Not(Empty("year")), Range("year", lt=2019)]
        )

    def test_takes_the_days_of_the_time_zone_of_the_index(self):
        spec = SPEC.model_copy(update={"time_zone": "Europe/Berlin"})

        assert parse_filter({"published": "2024-03-31"}, spec) == Range(
            "published", gte="2024-03-30T23:00:00Z", lte="2024-03-31T21:59:59.999999Z"
        )
        assert parse_filter({"published": {"gt": "2024-03-31T12:00:00"}}, spec) == Range(
            "published", gt="2024-03-31T10:00:00Z"
        )

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            ([], "filter"),
            ("year", "filter"),
            ({"yaer": 2019}, "filter.yaer"),
            ({"year": {"from": 2019}}, "filter.year.from"),
            ({"year": {"gte": "2019"}}, "filter.year.gte"),
            ({"year": {}}, "filter.year"),
            ({"year": True}, "filter.year"),
            ({"year": 2019.0}, "filter.year"),
            ({"year": {"exists": 1}}, "filter.year.exists"),
            ({"year": {"exists": True, "from": 1}}, "filter.year.from"),
            ({"venue": {"exists": True, "gte": "ACL"}}, "filter.venue"),
            ({"venue": [None, "NAACL"]}, "filter.venue.1"),
            ({"year": 2**63}, "filter.year"),
            ({"year": []}, "filter.year"),
            ({"year": [2019, "x"]}, "filter.year.1"),
            ({"venue": {"gte": "ACL"}}, "filter.venue"),
            ({"venue": "NAACL"}, "filter.venue"),
            ({"venue": 1}, "filter.venue"),
            ({"is_award": 1}, "filter.is_award"),
            ({"is_award": {"gte": True}}, "filter.is_award"),
            ({"impact": math.nan}, "filter.impact"),
            ({"impact": {"lt": math.inf}}, "filter.impact.lt"),
            ({"impact": 10**400}, "filter.impact"),
            ({"impact": False}, "filter.impact"),
            ({"published": "yesterday"}, "filter.published"),
            ({"published": "2019-13-01T00:00:00Z"}, "filter.published"),
            ({"published": {"lt": 1556712000}}, "filter.published.lt"),
            ({"published": "01/02/2024"}, "filter.published"),
            ({"published": ["2024", "2024-02-30"]}, "filter.published.1"),
            ({"published": "0001-01-01T00:00:00+23:00"}, "filter.published"),
            ({"abstract": "  "}, "filter.abstract"),
            ({"artifact_title": "half \ud800"}, "filter.artifact_title"),
            ({"artifact_id": "7"}, "filter.artifact_id"),
            ({"any_of": {"year": 2019}}, "filter.any_of"),
            ({"any_of": []}, "filter.any_of"),
            ({"any_of": [{"year": 2019}, {}]}, "filter.any_of.1"),
            ({"any_of": [{"year": 2019}, {"yaer": 1}]}, "filter.any_of.1.yaer"),
            ({"not": {}}, "filter.not"),
            ({"not": [{"year": 1}]}, "filter.not"),
        ],
    )
    def test_names_the_wrong_place(self, content, place):
        assert refusal(content).field == place

    def test_lists_the_allowed_fields(self):
        allowed = refusal({"yaer": 2019}).allowed

        assert {"year", "page_index", "any_of"} <= set(allowed)
        assert "text_hash" not in allowed

    def test_lists_the_allowed_comparisons(self):
        assert refusal({"year": {"from": 1}}).allowed == ["exists", "gt", "gte", "lt", "lte"]

    def test_lists_the_values_of_a_closed_list(self):
        assert refusal({"venue": "NAACL"}).allowed == ["ACL", "EMNLP"]

    def test_limits_its_depth(self):
        content = {"year": 2019}
        for _ in range(MAX_DEPTH - 1):
            content = {"not": content}
        parse_filter(content, SPEC)

        assert "deeper" in refusal({"not": content}).detail

    def test_limits_its_size(self):
        half = list(range(MAX_CONDITIONS // 2))
        parse_filter({"all_of": [{"year": half}, {"year": half}]}, SPEC)

        assert "more than" in refusal({"all_of": [{"year": half}, {"year": [*half, 1]}]}).detail

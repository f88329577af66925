import pytest

from core.exceptions import InvalidInput
from evaluation.judged_queries import (
    JudgedQueries,
    format_page_name,
    make_judged_queries,
    read_judged_queries,
    resolve_artifact_ids,
    split_page_name,
)


def write(tmp_path, text: str):
    path = tmp_path / "judged.csv"
    path.write_text(text, encoding="utf-8-sig")
    return path


class TestReadCsv:
    def test_collects_the_judgements_of_each_query(self, tmp_path):
        path = write(
            tmp_path,
            "Query,artifact,page,relevance\n"
            "where do herons fish,d0,,\n"
            '"granite, cooling",d1,3,2\n'
            "where do herons fish,d2,,0\n",
        )

        judged = read_judged_queries(path)

        assert judged.queries == {"1": "where do herons fish", "2": "granite, cooling"}
        assert judged.qrels == {"1": {"d0": 1, "d2": 0}, "2": {"d1#page=3": 2}}

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("question,answer\na,b\n", "columns query and artifact"),
            ("", "columns query and artifact"),
            ("query,artifact\n,d0\n", "line 2"),
            ("query,artifact,page\nq,d0,0\n", "page"),
            ("query,artifact,relevance\nq,d0,high\n", "relevance"),
            ("query,artifact\nq,d0,7\n", "more columns"),
            ("query,artifact\n", "no judged query"),
        ],
    )
    def test_reports_invalid_files(self, tmp_path, text, said):
        with pytest.raises(InvalidInput, match=said):
            read_judged_queries(write(tmp_path, text))


class TestFormatPageName:
    def test_is_inverted_by_split_page_name(self):
        assert split_page_name(format_page_name("a#page=x", 2)) == ("a#page=x", "#page=3")
        assert split_page_name("a#page=x") == ("a#page=x", "")


class TestFingerprint:
    def test_depends_on_the_judgements_but_not_on_their_order(self):
        one = JudgedQueries({"a": "x", "b": "y"}, {"a": {"d": 1, "e": 0}, "b": {"d": 1}})
        same = JudgedQueries({"b": "y", "a": "x"}, {"b": {"d": 1}, "a": {"e": 0, "d": 1}})
        other = JudgedQueries({"a": "x", "b": "y"}, {"a": {"d": 2, "e": 0}, "b": {"d": 1}})

        assert one.fingerprint == same.fingerprint != other.fingerprint


class TestMakeJudgedQueries:
    def test_keeps_only_queries_with_judgements(self):
        judged = make_judged_queries({"q1": "a", "q2": "b"}, {"q1": {"d": 1}, "q3": {"d": 1}})

        assert judged == JudgedQueries({"q1": "a"}, {"q1": {"d": 1}})

    def test_refuses_queries_without_any_judgement(self):
        with pytest.raises(InvalidInput):
            make_judged_queries({"q1": "a"}, {"q2": {"d": 1}})


class TestResolveArtifactIds:
    def test_resolves_external_ids_and_ids(self, filled):
        own = str(filled[1].pk)
        judged = JudgedQueries({"q": "x"}, {"q": {"d0#page=2": 1, own: 1, "gone": 1}})

        found = resolve_artifact_ids("plain", judged)

        assert found.qrels == {"q": {f"{filled[0].pk}#page=2": 1, own: 1, "gone": 1}}

    def test_refuses_if_no_artifact_is_in_the_index(self, filled):
        with pytest.raises(InvalidInput, match="plain"):
            resolve_artifact_ids("plain", JudgedQueries({"q": "x"}, {"q": {"gone": 1}}))

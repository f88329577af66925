from typing import Any

from indexing.comparison_text import describe_comparison, summarise_comparison

NDCG = {
    "live": 0.69214, "new": 0.6, "difference": -0.09214, "low": -0.15, "high": -0.03,
    "is_loss": True,
}  # fmt: skip
RECALL = {"live": 1.0, "new": 1.0, "difference": 0.0, "low": 0.0, "high": 0.0, "is_loss": False}
REFUSED = {
    "source": "golden_queries",
    "is_optimistic": False,
    "kind": "chunk",
    "live_build": 3,
    "query_count": 24,
    "measures": {"nDCG@10": NDCG, "R@100": RECALL},
    "is_loss": True,
    "measured_at": "2026-11-21T12:00:00+00:00",
    "verdict": "refused: nDCG@10 falls by 0.092, more than chance explains.",
}
UNMEASURED: dict[str, Any] = {
    "source": None,
    "is_optimistic": False,
    "query_count": 0,
    "measures": {},
    "is_loss": False,
    "measured_at": "2026-11-21T12:00:00+00:00",
    "verdict": "promoted: there were no queries to measure it with.",
}


class TestDescribeComparison:
    def test_returns_the_queries_an_aligned_table_and_the_verdict(self):
        assert describe_comparison(REFUSED) == [
            "24 golden queries, searched in chunks; live: #3",
            "measure    live     new  difference  95% interval",
            "nDCG@10  0.6921  0.6000     -0.0921  -0.1500 to -0.0300 (a loss)",
            "R@100    1.0000  1.0000     +0.0000  +0.0000 to +0.0000",
            "Refused: nDCG@10 falls by 0.092, more than chance explains.",
        ]

    def test_says_if_the_figures_are_optimistic(self):
        kept = {**REFUSED, "source": "hypothetical_questions", "is_optimistic": True}

        lines = describe_comparison(kept)

        assert lines[0].startswith("24 generated questions about chunks of the live build")
        assert any("optimistic" in line for line in lines)

    def test_returns_only_the_verdict_if_nothing_was_measured(self):
        assert describe_comparison(UNMEASURED) == [
            "Promoted: there were no queries to measure it with."
        ]

    def test_returns_no_verdict_before_the_decision(self):
        undecided = {**REFUSED, "verdict": None}

        assert describe_comparison(undecided) == describe_comparison(REFUSED)[:-1]

    def test_is_empty_without_a_comparison(self):
        assert describe_comparison(None) == []


class TestSummariseComparison:
    def test_names_outcome_and_differences(self):
        assert summarise_comparison(REFUSED) == "refused (nDCG@10 -0.092, R@100 +0.000)"

    def test_returns_only_the_outcome_if_nothing_was_measured(self):
        assert summarise_comparison(UNMEASURED) == "promoted"

    def test_is_empty_without_a_comparison(self):
        assert summarise_comparison(None) == ""

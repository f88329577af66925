import html
import re
from xml.etree import ElementTree

import pytest

from core.exceptions import InvalidInput
from evaluation.judged_queries import JudgedQueries
from evaluation.report import (
    format_measure_name,
    plot_differences,
    plot_history,
    plot_values,
    render_report,
)
from evaluation.runs import claim_run, create_run, measure_run
from tests.factories import give, sync

HOSTILE = "<script>alert(1)</script> heron"


@pytest.fixture
def run(filled, build):
    """A run of two systems over three queries; a title contains characters of markup."""
    sync(build, give("A heron again.", title=HOSTILE, external_id="d9"))
    judged = JudgedQueries(
        {"q1": "heron waits for fish", "q2": "granite cools slowly", "q3": HOSTILE},
        {"q1": {"d0": 1}, "q2": {"d3": 1}, "q3": {"d0": 1}},
    )
    run = create_run("plain", systems=["hybrid"], baseline="sparse", judged=judged)
    return measure_run(claim_run(run.pk))


class TestRenderReport:
    def test_loads_no_script_and_no_other_file(self, run):
        page = render_report(run)

        assert "<script" not in page
        assert not re.search(r"(src|href)=", page)
        assert "default-src 'none'" in html.unescape(page)

    def test_shows_figures_queries_and_hits(self, run):
        page = render_report(run)

        assert "hybrid against sparse" in page
        assert "recall@100" in page
        assert "MRR" in page
        assert "granite cools slowly" in page
        assert "Relevant documents: d3" in page
        assert "Note 1" in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt; heron" in page

    def test_draws_valid_svg(self, run):
        plots = re.findall(r"<svg.*?</svg>", render_report(run), re.DOTALL)

        assert len(plots) >= 2
        for plot in plots:
            ElementTree.fromstring(plot)

    def test_refuses_an_unfinished_run(self, filled, judged):
        with pytest.raises(InvalidInput, match="queued"):
            render_report(create_run("plain", judged=judged))


class TestFormatMeasureName:
    @pytest.mark.parametrize(
        ("name", "said"), [("R@100", "recall@100"), ("RR", "MRR"), ("nDCG@10", "nDCG@10")]
    )
    def test_returns_the_common_name(self, name, said):
        assert format_measure_name(name) == said


class TestPlotValues:
    def test_descends_from_the_best_query_to_the_worst(self):
        spread = plot_values("a", [0.0, 1.0, 0.5])

        corners = [tuple(map(float, each.split(","))) for each in spread["points"].split()]
        assert [y for _, y in corners] == [0, 0, 100, 100, 200, 200]
        assert [x for x, _ in corners] == [0, 240, 240, 480, 480, 720]
        assert (spread["perfect_count"], spread["zero_count"]) == (1, 1)


class TestPlotDifferences:
    def test_makes_a_bar_for_each_query_that_changed(self, run):
        change = plot_differences(run, "hybrid", [1.0, 0.5, 0.25], [0.5, 0.5, 0.75])

        gain, loss = change["bars"]
        assert (gain["y"], gain["height"], gain["is_loss"]) == (50, 50, False)
        assert (loss["y"], loss["height"], loss["is_loss"]) == (100, 50, True)
        assert gain["label"] == "+0.500 heron waits for fish"
        assert (change["gained_count"], change["lost_count"]) == (1, 1)
        assert [each["text"] for each in change["losses"]] == [HOSTILE]
        assert [each["system"] for each in change["losses"][0]["answers"]] == ["sparse", "hybrid"]


class TestPlotHistory:
    def test_draws_a_line_for_each_system_through_its_runs(self, run):
        judged = JudgedQueries(run.queries, run.qrels)
        alone = create_run("plain", systems=["hybrid"], judged=judged)
        measure_run(claim_run(alone.pk))
        last = create_run("plain", systems=["hybrid", "sparse"], judged=judged)
        last = measure_run(claim_run(last.pk))

        history = plot_history(last, "nDCG@10")

        assert [row["run"].pk for row in history["runs"]] == [run.pk, alone.pk, last.pk]
        assert [len(line["dots"]) for line in history["lines"]] == [3, 2]
        assert [dot["x"] for dot in history["lines"][1]["dots"]] == [0, 720]

"""Measuring beside a running server: the server's worker measures, the command waits."""

import json

import pytest

from tests.forked import serving_forked


@pytest.fixture
def served(tmp_path):
    """A server with the real model."""
    with serving_forked(tmp_path) as service:
        yield service


class TestEvaluate:
    def test_delegates_to_the_server_and_shows_the_result(self, served, tmp_path):
        served.add("plain", title="Herons", text="The heron waits for fish.", external_id="d1")
        served.add("plain", title="Stones", text="Granite cools slowly.", external_id="d2")
        judged = tmp_path / "judged.csv"
        judged.write_text("query,artifact\nbird that fishes,d1\nslow rock,d2\n")

        measured = served.manage(
            "evaluate", str(judged), "--index", "plain", "--pipeline", "plain",
            "--against", "sparse", "--json", "--report", str(tmp_path / "report.html"),
        )  # fmt: skip

        assert measured.returncode == 0, measured.stderr
        pipeline, sparse = json.loads(measured.stdout)
        assert (pipeline["mode"], sparse["mode"]) == ("plain", "sparse")
        assert pipeline["measures"]["nDCG@10"] == 1.0
        assert "plain against sparse" in (tmp_path / "report.html").read_text()
        [run] = served.api.get("evaluations/").json()["results"]
        assert (run["state"], run["asked_by"]) == ("done", "this server")

        again = served.manage("evaluate", "--golden", "--index", "plain")
        assert again.returncode == 1
        assert "no judgements or golden queries" in again.stderr

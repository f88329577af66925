import json
from contextlib import nullcontext

import pytest
from django.core.management import CommandError, call_command

from access.models import ApiKey
from core import api_client
from core.exceptions import InvalidInput
from core.running_server import RunningServer
from evaluation import tasks
from evaluation.judged_queries import read_corpus, read_judged_queries
from evaluation.management.commands import evaluate
from evaluation.models import EvaluationRun
from tests.factories import PARAGRAPHS, give, sync


@pytest.fixture
def folder(tmp_path):
    """Four documents, two judged queries, one query without judgements."""
    corpus = [
        {"_id": f"d{number}", "title": f"Note {number}", "text": text}
        for number, text in enumerate(PARAGRAPHS)
    ]
    queries = [
        {"_id": "q1", "text": "heron waits for fish"},
        {"_id": "q2", "text": "granite cools slowly"},
        {"_id": "q3", "text": "unjudged"},
    ]
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)) + "\n\n")
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td0\t1\nq2\td1\t1\nq2\td3\t0\n"
    )
    return folder


class TestReadJudgedQueries:
    def test_returns_only_queries_with_judgements(self, folder):
        judgements = read_judged_queries(folder)

        assert judgements.queries == {"q1": "heron waits for fish", "q2": "granite cools slowly"}
        assert judgements.qrels == {"q1": {"d0": 1}, "q2": {"d1": 1, "d3": 0}}

    @pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
    def test_names_the_missing_file(self, folder, name):
        (folder / name).unlink()

        with pytest.raises(InvalidInput, match=name.rpartition("/")[2]):
            read_judged_queries(folder)

    @pytest.mark.parametrize("row", ["q1\td0", "q1\td0\tvery"])
    def test_names_the_wrong_line(self, folder, row):
        (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{row}\n")

        with pytest.raises(InvalidInput, match="line 2"):
            read_judged_queries(folder)


class TestReadCorpus:
    def test_returns_every_text(self, folder):
        assert [text.id for text in read_corpus(folder)] == ["d0", "d1", "d2", "d3"]

    @pytest.mark.parametrize("line", ["{", "[]", '{"text": "no id"}'])
    def test_names_the_wrong_line(self, folder, line):
        (folder / "corpus.jsonl").write_text(f'{{"_id": "d0"}}\n{line}\n')

        with pytest.raises(InvalidInput, match="line 2"):
            list(read_corpus(folder))


class TestEvaluateCommand:
    @pytest.fixture(autouse=True)
    def works(self, monkeypatch):
        """The command's workers measure while it waits."""
        monkeypatch.setattr(api_client, "local_workers", nullcontext)
        monkeypatch.setattr(evaluate.time, "sleep", lambda seconds: tasks.reconcile_runs())

    @pytest.fixture
    def filled(self, build, folder):
        sync(
            build,
            *[
                give(text.text, title=text.title, external_id=text.id)
                for text in read_corpus(folder)
            ],
        )

    def test_prints_one_aligned_row_per_mode(self, filled, folder, capsys):
        call_command("evaluate", str(folder), "--index", "plain")

        header, *rows = capsys.readouterr().out.splitlines()
        assert header.split() == [
            "mode", "nDCG@10", "recall@100", "MRR", "p50", "ms", "p95", "ms",
        ]  # fmt: skip
        assert [row.split()[0] for row in rows] == ["dense", "sparse", "hybrid"]
        assert all(row.split()[1:4] == ["1.0000"] * 3 for row in rows)
        assert len({len(line) for line in [header, *rows]}) == 1

    def test_prints_json_on_request(self, filled, folder, capsys):
        call_command(
            "evaluate", str(folder), "--index=plain", "--json", "--modes=sparse", "--measures=RR"
        )

        [figures] = json.loads(capsys.readouterr().out)
        assert figures["mode"] == "sparse"
        assert figures["measures"] == {"RR": 1.0}
        assert figures["query_count"] == 2

    @pytest.mark.django_db(transaction=True)
    def test_can_index_the_corpus_first(self, build, folder, capsys):
        call_command("evaluate", str(folder), "--fill", "--modes", "hybrid", "--json")

        [figures] = json.loads(capsys.readouterr().out)
        assert figures["measures"] == {"nDCG@10": 1.0, "R@100": 1.0, "RR": 1.0}

    def test_indexes_the_corpus_in_a_separate_process_and_folder(
        self, folder, tmp_path, monkeypatch, capsys
    ):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(scratch))

        call_command("evaluate", str(folder), "--json")

        figures = json.loads(capsys.readouterr().out)
        assert [each["mode"] for each in figures] == ["dense", "sparse", "hybrid"]
        assert all(each["measures"]["nDCG@10"] == 1.0 for each in figures)
        assert list(scratch.iterdir()) == []

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["--modes", "psychic"], "psychic"),
            (["--measures", "goodness"], "goodness"),
            (["--index", "plian"], "plain"),
            (["--index", "plain", "--fail-below", "nDCG@10"], "nDCG@10=0.9"),
            (["--index", "plain", "--pipeline", "dense", "--against", "pipe"], "papers"),
        ],
    )
    def test_rejects_unknown_arguments(self, build, folder, given, said):
        with pytest.raises(CommandError, match=said):
            call_command("evaluate", str(folder), *given)

    def test_compares_two_modes_and_writes_a_report(self, filled, folder, tmp_path, capsys):
        report = tmp_path / "report.html"

        call_command(
            "evaluate", str(folder), "--index=plain", "--pipeline=hybrid", "--against=sparse",
            "--report", str(report),
        )  # fmt: skip

        out = capsys.readouterr().out
        assert [line.split()[0] for line in out.splitlines()[1:3]] == ["hybrid", "sparse"]
        assert "hybrid against sparse:" in out
        assert "[+0.0000, +0.0000]  not significant" in out
        assert "hybrid against sparse" in report.read_text()

    def test_measures_a_query_pipeline(self, filled, folder, capsys):
        call_command("evaluate", str(folder), "--index=plain", "--pipeline=plain", "--json")

        [figures] = json.loads(capsys.readouterr().out)
        assert figures["mode"] == "plain"
        assert figures["measures"]["nDCG@10"] == 1.0

    def test_stores_its_runs(self, filled, folder):
        call_command("evaluate", str(folder), "--index=plain", "--modes=dense")
        call_command("evaluate", str(folder), "--index=plain", "--modes=sparse,dense")

        later, first = EvaluationRun.objects.all()
        assert later.systems == ["sparse", "dense"]
        assert later.judgements_hash == first.judgements_hash
        assert later.build_number == 1

    @pytest.mark.parametrize(("least", "is_short"), [("1.0", False), ("1.01", True)])
    def test_fails_if_a_measure_is_below_its_threshold(
        self, filled, folder, capsys, least, is_short
    ):
        given = [str(folder), "--index=plain", "--modes=hybrid", f"--fail-below=nDCG@10={least}"]

        if is_short:
            with pytest.raises(SystemExit) as ended:
                call_command("evaluate", *given)
            assert ended.value.code == 3
            assert "hybrid: nDCG@10 is 1.0000, below 1.01" in capsys.readouterr().err
        else:
            call_command("evaluate", *given)

    def test_measures_by_the_golden_queries(self, filled, settings, tmp_path, folder, capsys):
        settings.STRATA_GOLDEN_DIR = tmp_path
        folder.rename(tmp_path / "plain")

        call_command("evaluate", "--golden", "--index=plain", "--modes=dense", "--json")

        [figures] = json.loads(capsys.readouterr().out)
        assert figures["query_count"] == 2

    @pytest.mark.parametrize("given", [[], ["--golden"], ["{folder}", "--golden", "--index=plain"]])
    def test_requires_either_a_path_or_golden_queries(self, build, folder, given):
        with pytest.raises(CommandError, match="PATH"):
            call_command("evaluate", *(each.format(folder=folder) for each in given))

    def test_reports_a_missing_folder(self, db, tmp_path):
        with pytest.raises(CommandError, match=r"corpus\.jsonl"):
            call_command("evaluate", str(tmp_path / "nowhere"))


class TestSearchCommand:
    def test_prints_ranked_passages(self, build, capsys):
        sync(build, give(title="Stones"), give("Yeast.\x1b[2J", title="Bread"))

        call_command("search", "granite yeast", "--index", "plain")

        out = capsys.readouterr().out
        assert "1. " in out
        assert "Stones  page 1  rrf 0.0" in out
        assert "Granite cools slowly under the ground." in out
        assert "\x1b[2J" not in out

    def test_prints_the_answer_of_the_api_on_request(self, build, capsys):
        sync(build, give(title="Stones"))

        call_command("search", "granite", "--index=plain", "--mode=dense", "--limit=1", "--json")

        answer = json.loads(capsys.readouterr().out)
        [hit] = answer["hits"]
        assert hit["artifact"]["title"] == "Stones"
        assert hit["score_kind"] == "cosine"

    def test_reports_that_nothing_was_found(self, build, capsys):
        call_command("search", "granite", "--index", "plain")

        assert "Nothing found." in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["--index", "plian"], "plain"),
            (["--index", "plain", "--limit", "1000"], "100"),
            (["--index", "plain", "--filter", "{"], "JSON"),
            (["--index", "plain", "--filter", '{"yaer": 1}'], "yaer"),
        ],
    )
    def test_rejects_unknown_arguments(self, build, given, said):
        with pytest.raises(CommandError, match=said):
            call_command("search", "granite", *given)


@pytest.mark.django_db(transaction=True)
class TestCommandsBesideAServer:
    @pytest.fixture(autouse=True)
    def server(self, build, live_server, monkeypatch):
        sync(build, give(title="Stones", external_id="d1"))
        _, secret = ApiKey.issue("commands")
        running = RunningServer(url=live_server.url, key=secret, pid=0)
        monkeypatch.setattr(api_client, "find_server", lambda: running)
        # Beside a server, commands must not answer in their own process.
        monkeypatch.setattr(api_client, "WSGIHandler", None)

    def test_search_through_the_server(self, capsys):
        call_command("search", "granite", "--index", "plain")

        assert "Stones  page 1" in capsys.readouterr().out

    def test_measure_through_the_server(self, folder, capsys):
        call_command("evaluate", str(folder), "--index=plain", "--measures=R@100", "--json")

        figures = json.loads(capsys.readouterr().out)
        assert [each["measures"]["R@100"] for each in figures] == [0.5, 0.5, 0.5]

    def test_report_errors_of_the_server(self):
        with pytest.raises(CommandError, match=r"plian.*Allowed: .*plain"):
            call_command("search", "granite", "--index", "plian")

import json

import pytest
from django.core.management import CommandError, call_command

from access.models import ApiKey
from access.server import RunningServer
from documents.exceptions import InvalidInput
from retrieval.evaluation import (
    evaluate_mode,
    parse_measures,
    rank_artifacts,
    read_corpus,
    read_judgements,
)
from retrieval.management import asking
from tests.factories import PARAGRAPHS, give, settle


@pytest.fixture
def folder(tmp_path):
    """Four documents, two judged queries, one query nobody judged."""
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


class TestReadJudgements:
    def test_keeps_the_queries_that_were_judged(self, folder):
        judgements = read_judgements(folder)

        assert judgements.queries == {"q1": "heron waits for fish", "q2": "granite cools slowly"}
        assert judgements.qrels == {"q1": {"d0": 1}, "q2": {"d1": 1, "d3": 0}}

    @pytest.mark.parametrize("name", ["queries.jsonl", "qrels/test.tsv"])
    def test_names_the_file_that_is_missing(self, folder, name):
        (folder / name).unlink()

        with pytest.raises(InvalidInput, match=name.rpartition("/")[2]):
            read_judgements(folder)

    @pytest.mark.parametrize("row", ["q1\td0", "q1\td0\tvery"])
    def test_names_the_line_that_is_wrong(self, folder, row):
        (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{row}\n")

        with pytest.raises(InvalidInput, match="line 2"):
            read_judgements(folder)


class TestReadCorpus:
    def test_gives_every_text(self, folder):
        assert [text.id for text in read_corpus(folder)] == ["d0", "d1", "d2", "d3"]

    @pytest.mark.parametrize("line", ["{", "[]", '{"text": "no id"}'])
    def test_names_the_line_that_is_wrong(self, folder, line):
        (folder / "corpus.jsonl").write_text(f'{{"_id": "d0"}}\n{line}\n')

        with pytest.raises(InvalidInput, match="line 2"):
            list(read_corpus(folder))


class TestRankArtifacts:
    def test_ranks_by_the_best_hit_and_pages_on_for_more(self):
        hits = [(f"d{n // 40}", 1_000 - n) for n in range(400)]  # 40 chunks an artifact

        def search(parameters):
            page = hits[parameters["offset"] :][: parameters["limit"]]
            return {"hits": [{"artifact": {"external_id": i}, "score": s} for i, s in page]}

        ranked = rank_artifacts(search, {"query": "any"})

        assert ranked == {f"d{n}": 1_000 - 40 * n for n in range(10)}


class TestEvaluateMode:
    def test_measures_a_ranking_it_can_be_sure_of(self, folder):
        answers = {"heron waits for fish": ["d0", "d1"], "granite cools slowly": ["d3", "d1"]}

        def search(parameters):
            found = answers[parameters["query"]]
            return {
                "hits": [
                    {"artifact": {"external_id": name}, "score": 1 / rank}
                    for rank, name in enumerate(found, start=1)
                ]
            }

        figures = evaluate_mode(
            search,
            read_judgements(folder),
            index="any",
            mode="dense",
            measures=parse_measures(["nDCG@10", "RR", "R@1"]),
        )

        assert figures.measures["RR"] == pytest.approx(0.75)
        assert figures.measures["R@1"] == pytest.approx(0.5)
        assert figures.measures["nDCG@10"] == pytest.approx((1 + 0.63093) / 2, abs=1e-4)
        assert figures.query_count == 2

    def test_counts_a_query_without_hits_as_missed(self, folder):
        def search(parameters):
            names = ["d0"] if "heron" in parameters["query"] else []
            return {"hits": [{"artifact": {"external_id": name}, "score": 1} for name in names]}

        figures = evaluate_mode(
            search,
            read_judgements(folder),
            index="any",
            mode="dense",
            measures=parse_measures(["R@10"]),
        )

        assert figures.measures["R@10"] == pytest.approx(0.5)


class TestParseMeasures:
    def test_refuses_a_measure_there_is_not(self):
        with pytest.raises(InvalidInput, match="goodness"):
            parse_measures(["goodness"])


class TestEvaluateCommand:
    @pytest.fixture
    def filled(self, build, folder):
        settle(
            build,
            *[
                give(text.text, title=text.title, external_id=text.id)
                for text in read_corpus(folder)
            ],
        )

    def test_prints_one_aligned_row_a_mode(self, filled, folder, capsys):
        call_command("evaluate", str(folder), "--index", "plain")

        header, *rows = capsys.readouterr().out.splitlines()
        assert header.split() == ["mode", "nDCG@10", "recall@100", "p50", "ms"]
        assert [row.split()[0] for row in rows] == ["dense", "sparse", "hybrid"]
        assert all(row.split()[1:3] == ["1.0000", "1.0000"] for row in rows)
        assert len({len(line) for line in [header, *rows]}) == 1

    def test_prints_json_where_asked_to(self, filled, folder, capsys):
        call_command(
            "evaluate", str(folder), "--index=plain", "--json", "--modes=sparse", "--measures=RR"
        )

        [figures] = json.loads(capsys.readouterr().out)
        assert figures["mode"] == "sparse"
        assert figures["measures"] == {"RR": 1.0}
        assert figures["query_count"] == 2

    @pytest.mark.django_db(transaction=True)
    def test_fills_an_index_of_its_own(self, build, folder, capsys):
        call_command("evaluate", str(folder), "--fill", "--modes", "hybrid", "--json")

        [figures] = json.loads(capsys.readouterr().out)
        assert figures["measures"] == {"nDCG@10": 1.0, "R@100": 1.0}

    def test_measures_in_a_process_and_folder_of_its_own(
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
        ],
    )
    def test_says_what_it_does_not_understand(self, build, folder, given, said):
        with pytest.raises(CommandError, match=said):
            call_command("evaluate", str(folder), *given)

    def test_says_that_the_folder_is_not_there(self, db, tmp_path):
        with pytest.raises(CommandError, match=r"corpus\.jsonl"):
            call_command("evaluate", str(tmp_path / "nowhere"))


class TestSearchCommand:
    def test_prints_ranked_passages(self, build, capsys):
        settle(build, give(title="Stones"), give("Yeast.\x1b[2J", title="Bread"))

        call_command("search", "granite yeast", "--index", "plain")

        out = capsys.readouterr().out
        assert "1. " in out
        assert "Stones  page 1  rrf 0.0" in out
        assert "Granite cools slowly under the ground." in out
        assert "\x1b[2J" not in out

    def test_prints_the_apis_answer_where_asked_to(self, build, capsys):
        settle(build, give(title="Stones"))

        call_command("search", "granite", "--index=plain", "--mode=dense", "--limit=1", "--json")

        answer = json.loads(capsys.readouterr().out)
        [hit] = answer["hits"]
        assert hit["artifact"]["title"] == "Stones"
        assert hit["score_kind"] == "cosine"

    def test_says_that_nothing_was_found(self, build, capsys):
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
    def test_says_what_it_does_not_understand(self, build, given, said):
        with pytest.raises(CommandError, match=said):
            call_command("search", "granite", *given)


@pytest.mark.django_db(transaction=True)
class TestCommandsBesideAServer:
    @pytest.fixture(autouse=True)
    def server(self, build, live_server, monkeypatch):
        settle(build, give(title="Stones", external_id="d1"))
        _, secret = ApiKey.issue("commands")
        running = RunningServer(url=live_server.url, key=secret, pid=0)
        monkeypatch.setattr(asking, "find_server", lambda: running)
        # Whoever does not own the vectors must not reach for them.
        monkeypatch.setattr(asking, "ANSWERS", None)

    def test_search_through_it(self, capsys):
        call_command("search", "granite", "--index", "plain")

        assert "Stones  page 1" in capsys.readouterr().out

    def test_measure_through_it(self, folder, capsys):
        call_command("evaluate", str(folder), "--index=plain", "--measures=R@100", "--json")

        figures = json.loads(capsys.readouterr().out)
        assert [each["measures"]["R@100"] for each in figures] == [0.5, 0.5, 0.5]

    def test_say_what_it_answered(self):
        with pytest.raises(CommandError, match=r"plian.*There are: .*plain"):
            call_command("search", "granite", "--index", "plian")

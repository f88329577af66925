"""``strata api`` with the API in this process."""

import json
import logging

import pytest
from django.core.management import CommandError, call_command

from documents.models import Artifact
from documents.services import TextContent, add_artifact


@pytest.fixture
def run(build, capfdbinary):
    def run(*arguments: str) -> bytes:
        call_command("api", *arguments)
        return capfdbinary.readouterr().out

    return run


class TestApi:
    @pytest.mark.parametrize("path", ["indexes/", "/api/v1/indexes/", "/indexes/"])
    def test_prints_the_answer(self, run, path):
        answer = json.loads(run("get", path))

        assert "plain" in [index["name"] for index in answer["results"]]

    def test_sends_a_query_string(self, run):
        add_artifact("plain", TextContent(("Tides turn.",)), title="Tides")
        path = "indexes/plain/artifacts/"

        assert json.loads(run("GET", path, "--query=title=tide", "--query=limit=1"))["count"] == 1
        assert json.loads(run("GET", f"{path}?title=none", "--query=limit=1"))["count"] == 0

    def test_sends_a_body_or_a_file_or_both(self, run, tmp_path):
        (tmp_path / "body.json").write_text('{"title": "High tides"}')
        (tmp_path / "tides.txt").write_text("Tides turn at noon.")
        path = "indexes/plain/artifacts/"
        added = json.loads(run("POST", path, "--data", '{"text": "Tides turn."}'))

        changed = run("PATCH", f"artifacts/{added['id']}/", f"--data=@{tmp_path}/body.json")
        run("PUT", f"artifacts/{added['id']}/content", f"--file={tmp_path}/tides.txt")

        assert json.loads(changed)["title"] == "High tides"
        assert Artifact.objects.get().file_name == "tides.txt"

    def test_prints_other_content_unchanged(self, run, tmp_path):
        (tmp_path / "tides.txt").write_bytes(b"Tides turn.\xff")
        added = json.loads(run("POST", "indexes/plain/artifacts/", f"--file={tmp_path}/tides.txt"))

        assert run("GET", f"artifacts/{added['id']}/original") == b"Tides turn.\xff"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["GET", "indexes/nil/"], r"Allowed: .*plain.*\[unknown_index, field index\]"),
            (["GET", "nothing/"], r"\[not_found\]"),
            (["DELETE", "indexes/"], r"\[method_not_allowed\]"),
            (["POST", "search/pages", "--data={"], r"--data is not valid JSON.*\[malformed\]"),
            (["POST", "search/pages", "--data=@gone"], r"gone cannot be read"),
            (["GET", "indexes/", "--query=limit"], r"Write it as NAME=VALUE"),
            (["GET", "https://example.org/"], r"Give the path below /api/v1/ only"),
            (["GET", "http://a:b/"], r"is not a path: .*\[invalid\]"),
            (["POST", "search/pages", '--data={"limit": NaN}'], r"NaN is not a value"),
        ],
    )
    def test_says_what_is_wrong_and_logs_nothing(self, run, arguments, said, caplog):
        with caplog.at_level(logging.WARNING), pytest.raises(CommandError, match=said):
            run(*arguments)

        assert not caplog.records

    def test_rejects_unknown_methods(self, run):
        with pytest.raises(CommandError, match="invalid choice: 'FETCH'"):
            run("fetch", "indexes/")

    def test_says_that_the_next_serve_finishes_the_work(self, build, capsys):
        call_command("api", "POST", "indexes/plain/artifacts/", '--data={"text": "Tides turn."}')

        assert "The next strata serve does the rest." in capsys.readouterr().err

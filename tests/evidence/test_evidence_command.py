"""``strata evidence`` with the API in this process."""

import io
import json
import sys
from contextlib import nullcontext

import pytest
from django.core.management import CommandError, call_command

from core import api_client
from documents.models import Artifact
from evidence.management.commands import evidence
from tests.evidence.test_services import APART, NEAR, WORDS
from tests.factories import sync

ONE, TWO, THREE = (f"https://{name}.example/" for name in ("one", "two", "three"))


@pytest.fixture
def run(findings, monkeypatch, capsys):
    """Runs the command, and embeds what it adds as its workers would."""
    monkeypatch.setattr(api_client, "local_workers", nullcontext)
    monkeypatch.setattr(api_client, "has_embedded_store", lambda: True)

    def embed(index, ids):
        sync(findings, *Artifact.objects.filter(pk__in=ids))

    monkeypatch.setattr(evidence, "wait_for_artifacts", embed)

    def run(action: str, *arguments: str) -> str:
        call_command("evidence", action, "--index=evidence", *arguments)
        return capsys.readouterr().out

    return run


@pytest.fixture
def file(tmp_path):
    items = [(ONE, WORDS), (TWO, NEAR), (THREE, APART)]
    path = tmp_path / "found.jsonl"
    path.write_text(
        "\n\n".join(json.dumps({"url": url, "content": content}) for url, content in items)
    )
    return path


class TestAdd:
    def test_prints_a_verdict_for_each_line_of_a_file(self, run, file):
        lines = run("add", str(file)).splitlines()

        assert lines[0] == f"added: {ONE}"
        assert lines[1].startswith(f"duplicate: {TWO} repeats ")
        assert lines[2:] == [f"added: {THREE}", "2 added, 1 duplicate"]

    def test_splits_items_into_requests_that_the_api_accepts(self, run, file, monkeypatch):
        monkeypatch.setattr(evidence, "MAX_ITEMS", 2)

        answer = json.loads(run("add", str(file), "--json"))

        verdicts = [each["verdict"] for each in answer["verdicts"]]
        assert verdicts == ["added", "duplicate", "added"]

    def test_accepts_one_finding_or_lines_of_stdin(self, run, file, monkeypatch):
        assert run("add", "--url", ONE, "--content", WORDS).startswith(f"added: {ONE}\n")

        monkeypatch.setattr(sys, "stdin", io.StringIO(file.read_text()))
        assert run("add", "-", "--threshold=0.99").endswith("2 added, 1 duplicate\n")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], r"Give a FILE, or --url with --content"),
            (["--url", ONE], r"Give a FILE, or --url with --content"),
            (["nowhere.jsonl"], r"nowhere.jsonl cannot be read"),
            (["--url", "one", "--content", WORDS], r"\[invalid, field items.0.url\]"),
            (
                ["--url", ONE, "--content", WORDS, "--threshold=nan"],
                r"\[invalid, field threshold\]",
            ),
        ],
    )
    def test_reports_wrong_arguments(self, run, arguments, said):
        with pytest.raises(CommandError, match=said):
            run("add", *arguments)

    def test_names_the_line_that_is_not_json(self, run, file):
        file.write_text(file.read_text() + "\n{")

        with pytest.raises(CommandError, match=r"Line 6 of .*found.jsonl is not valid JSON"):
            run("add", str(file))
        assert not Artifact.objects.filter(index="evidence").exists()


class TestSearches:
    def test_find_similar_findings_and_leave_out_urls(self, run, file):
        file.write_text(file.read_text().replace('"}', '", "citation": {"source": "Nature"}}'))
        run("add", str(file))

        similar = run("similar", WORDS, "--limit=1")
        related = run("related", WORDS, f"--url={ONE}", "--min-similarity=0")

        assert similar.splitlines()[1:] == [
            f"   {ONE}", "   Nature", f"   {WORDS}", f"   Repeated by {TWO}",
        ]  # fmt: skip
        assert ONE not in related
        assert THREE in related

    def test_name_the_indexes_that_accept_evidence(self, findings):
        with pytest.raises(CommandError, match=r"Allowed: evidence\..* \[invalid, field index\]"):
            call_command("evidence", "similar", WORDS, "--index=plain")

"""The commands that print what the API answers, with the API in this process."""

import json

import pytest
from django.core.management import CommandError, call_command

from retrieval.searches import SEARCHES
from tests.images.conftest import clip, pair  # noqa: F401
from tests.openapi.conftest import SMILES, filled, models  # noqa: F401

QUESTION = "What does the heron wait for?"
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"

# kind: the arguments, and lines of what is printed
PRINTED = {
    "pages": (["heron waits for fish", "--index=plain"], ["1. Note 0  page 1  rrf 0.0"]),
    "summaries": (["granite", "--index=full"], ["1. Notes"]),
    "questions": (["granite", "--index=full", "--limit=1"], ["1. Notes  page 2  rrf 0.0"]),
    "hierarchical": (["granite", "--index=full"], ["1. Notes  0.0", "   page 2  0.0"]),
    "structures": (
        [SMILES, "--index=pharmacy", "--parameter=query=dry"],
        [f"   {SMILES}", "   It is kept dry."],
    ),
    "images": (["red", "--index=gallery"], ["1. Poppy  image/png  rrf 0.0"]),
    "concepts": (["Heron", "--index=knowledge"], ["1. Heron  ", "   “The heron”"]),
    "relationships": (
        ["EATS", "--index=knowledge"],
        ["1. EATS  cosine", "   Heron -[EATS]-> Fish"],
    ),
    "sources": (
        ["heron", "--index=knowledge", "--parameter=include_concepts=true"],
        ["1. (untitled)  page 1  cosine", "   Concepts: Heron"],
    ),
    "route": (["Heron", "--index=knowledge"], ["Nearest: concept ", "Concepts", "Sources"]),
    "blend": (["Heron", "--index=knowledge"], ["1. Heron  "]),
    "subgraph": (
        ["Heron", "--index=knowledge", "--parameter=min_similarity=-1"],
        ["Relationships", "1. Heron -[EATS]-> Fish"],
    ),
}


def run(capsys, *arguments: str) -> str:
    call_command(*arguments)
    return capsys.readouterr().out


def has_line(out: str, start: str) -> bool:
    return any(line.startswith(start) for line in out.splitlines())


class TestSearch:
    def test_prints_every_kind_of_search(self, filled, capsys):  # noqa: F811
        outs = {
            kind: run(capsys, "search", *arguments, f"--kind={kind}")
            for kind, (arguments, _) in PRINTED.items()
        }

        missing = [
            f"{kind}: {start!r} in {outs[kind]}"
            for kind, (_, starts) in PRINTED.items()
            for start in starts
            if not has_line(outs[kind], start)
        ]
        assert not missing, "\n".join(missing)
        assert set(outs) == set(SEARCHES)

    def test_refuses_what_a_kind_does_not_take(self, filled):  # noqa: F811
        arguments = ["search", "Heron", "--index=knowledge", "--kind=blend"]

        with pytest.raises(CommandError, match=r"'mood'.*source_weight.*\[invalid, field mood\]"):
            call_command(*arguments, "--parameter=mood=fine")
        with pytest.raises(CommandError, match=r"Write it as NAME=VALUE\. \[invalid\]"):
            call_command(*arguments, "--parameter=mood")


class TestAsk:
    def test_prints_the_answer_and_the_passages_it_cites(self, filled, capsys):  # noqa: F811
        out = run(capsys, "ask", QUESTION, "--index=plain", "--pipeline=plain")

        whole = json.loads(run(capsys, "ask", QUESTION, "--index=plain", "--json"))
        assert out.startswith(whole["answer"])
        cited = whole["citations"][0]["number"]
        assert has_line(out, f"{cited}. {whole['hits'][cited - 1]['artifact']['title']}  page 1")

    def test_says_why_it_cannot_answer(self, filled, capsys):  # noqa: F811
        with pytest.raises(CommandError, match=r"There are: .*plain.*\[unknown_index, field index"):
            call_command("ask", QUESTION, "--index=plian")
        with pytest.raises(CommandError, match=r"papers.*\[unknown_pipeline"):
            call_command("ask", QUESTION, "--index=plain", "--pipeline=nothing")
        with pytest.raises(CommandError, match=r"--filter is not valid JSON.*\[malformed\]"):
            call_command("ask", QUESTION, "--index=plain", "--filter={")


class TestTools:
    def test_are_listed_with_their_arguments_and_called(self, filled, capsys):  # noqa: F811
        listed = run(capsys, "tools", "full")
        [tool, *_] = json.loads(run(capsys, "tools", "full", "--json"))["results"]

        assert listed.startswith(f"{tool['name']}: {tool['description']}\n")
        for name in tool["parameters"]["required"]:
            assert has_line(listed, f"   {name} (")

    def test_print_their_hits(self, filled, capsys):  # noqa: F811
        out = run(capsys, "tools", "full", "search_knowledge_base", "query=granite", "limit=1")

        assert out.startswith("1. Notes")
        assert not has_line(out, "2.")

    def test_refuse_wrong_arguments(self, filled):  # noqa: F811
        with pytest.raises(CommandError, match=r"\[unknown_tool"):
            call_command("tools", "full", "nothing")
        with pytest.raises(CommandError, match=r"argument query is missing.*\[invalid"):
            call_command("tools", "full", "search_knowledge_base")
        with pytest.raises(CommandError, match=r"limit is not valid JSON.*\[malformed\]"):
            call_command("tools", "full", "search_knowledge_base", "query=x", "limit=many")


class TestConcepts:
    def test_are_listed_and_found(self, filled, capsys):  # noqa: F811
        listed = run(capsys, "concepts", "list", "--index=knowledge", "--label=HER")
        found = run(capsys, "concepts", "search", "Heron", "--index=knowledge", "--limit=1")

        assert listed == f"1. Heron  {filled.concept_id}  1 quotes, 1 relationships\n"
        assert found.startswith(f"1. Heron  {filled.concept_id}  cosine 1.0")

    def test_are_shown_with_their_quotes_sources_and_paths(self, filled, capsys):  # noqa: F811
        concept = str(filled.concept_id)
        evidence = run(capsys, "concepts", "evidence", concept, "--query=how it feeds")
        context = run(capsys, "concepts", "context", concept, "--window=1")
        paths = run(capsys, "concepts", "paths", concept, "--like=eats", "--min-similarity=-1")

        assert has_line(evidence, "   The heron")
        assert has_line(context, "   The heron stands in the shallows. It eats fish.")
        assert paths.startswith("1. Heron -[EATS]-> Fish  similarity")

    def test_are_refused_by_a_wrong_id(self, filled):  # noqa: F811
        with pytest.raises(CommandError, match=r"\[unknown_concept"):
            call_command("concepts", "evidence", UNKNOWN_ID)
        with pytest.raises(CommandError, match=r"\[not_found\]"):
            call_command("concepts", "context", "heron")

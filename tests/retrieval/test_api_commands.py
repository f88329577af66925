"""The commands that print what the API answers, with the API in this process; for ``ask`` see
``test_ask_command``. The documents are indexed once for all tests."""

import json
import sys
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from django.utils.module_loading import import_string

from documents.services import TextContent, add_artifact
from indexing.services import load_specs
from retrieval.all_searches import SEARCHES
from retrieval.management.answer_printing import AnswerPrinter
from tests.factories import PARAGRAPHS
from tests.openapi.conftest import fill_knowledge
from tests.openapi.document import Document
from tests.retrieval.test_tools import FIELDS, TOOLS
from tests.written import make_build, write_all

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"

# Lines of what is printed of the example that the OpenAPI document has for each kind of search.
PRINTED = {
    "pages": ["1. Keeper's handbook  page 1  rrf 0.0328", "   The lamp is lit at sunset."],
    "summaries": ["1. Keeper's handbook  page 1  rrf 0.0328", "   When and how the lamp is lit."],
    "questions": ["1. Keeper's handbook  page 1  rrf", "   When is the lamp lit?"],
    "hierarchical": [
        "1. Keeper's handbook  0.0328",
        "   How the light is kept.",
        "   page 1  0.0328",
        "      When and how the lamp is lit.",
        "      rrf 0.0328",
        "         The lamp is lit at sunset.",
    ],
    "recursive": ["1. Keeper's handbook  page 1  rrf 0.0328", "   The lamp is lit at sunset."],
    "structures": ["1. Keeper's handbook  cosine 0.9200", "   CC(=O)Oc1ccccc1C(=O)O"],
    "images": ["1. Keeper's handbook  image/png  cosine 0.9200"],
    "concepts": ["1. Heron  b4a1d6a8", "   “The heron stands in the shallows”  Field notes"],
    "relationships": ["1. EATS  cosine 0.8300", "   Feeds on.", "   Heron -[EATS]-> Fish"],
    "sources": [
        "1. Field notes  page 1  cosine 0.7900",
        "   The heron stands in the shallows at dawn.",
        "   Concepts: Heron",
    ],
    "route": [
        "Nearest: concept b4a1d6a8-3a5e-4a39-9a43-0a1c6a6d1b11  similarity 0.8300",
        "Concepts", "1. Heron", "Sources", "1. Field notes", "Relationship types", "1. EATS",
    ],
    "blend": ["1. Heron  b4a1d6a8"],
    "subgraph": ["Concepts", "Sources", "Relationships", "1. Heron -[EATS]-> Fish"],
}  # fmt: skip

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stored(shared_store) -> SimpleNamespace:
    """Notes in an index with questions and tools, and some concepts."""
    load_specs()
    ids = SimpleNamespace()
    asked = make_build("asked", metadata=FIELDS, tools=TOOLS, questions={"count": 3})
    notes, _ = add_artifact("asked", TextContent(tuple(PARAGRAPHS)), title="Notes")
    write_all(asked, notes)
    fill_knowledge(ids)
    return ids


@pytest.fixture
def run(stored, capsys):
    def run(*arguments: str) -> str:
        call_command(*arguments)
        return capsys.readouterr().out

    return run


def has_line(out: str, start: str) -> bool:
    return any(line.startswith(start) for line in out.splitlines())


class TestAnswerPrinter:
    def test_prints_every_kind_of_search(self, capsys):
        operations, outs = Document().operations, {}
        for kind, search in SEARCHES.items():
            answer = operations[search.operation_id].content["responses"]["200"]["content"]
            [example] = answer["application/json"]["examples"].values()
            printer = import_string(search.printer)
            printer(OutputWrapper(sys.stdout)).print_answer(example["value"])
            outs[kind] = capsys.readouterr().out

        missing = [
            f"{kind}: {start!r} in {outs[kind]}"
            for kind in SEARCHES
            for start in PRINTED[kind]
            if not has_line(outs[kind], start)
        ]
        assert not missing, "\n".join(missing)

    def test_prints_a_passage_that_has_no_questions(self, capsys):
        hit = {
            "artifact": {"title": "Notes"}, "page": {"index": 0}, "score": 0.5,
            "score_kind": "rrf", "verdict": "exact", "question": None, "text": "Granite cools.",
        }  # fmt: skip

        AnswerPrinter(OutputWrapper(sys.stdout)).print_answer({"hits": [hit]})

        printed = capsys.readouterr().out
        assert printed == "1. Notes  page 1  rrf 0.5000\n   Granite cools.\n"


class TestSearch:
    def test_finds_sources_concepts_and_relationships(self, run):
        sources = run(
            "search", "heron", "--index=knowledge", "--kind=sources",
            "--parameter=include_concepts=true", "--limit=1",
        )  # fmt: skip
        blended = run(
            "search", "Heron", "--index=knowledge", "--kind=blend", "--parameter=source_weight=0"
        )
        graph = run(
            "search", "Heron", "--index=knowledge", "--kind=subgraph",
            "--parameter=min_similarity=-1",
        )  # fmt: skip

        assert sources.startswith("1. Field notes  page 1  rrf")
        assert has_line(sources, "   Concepts: Heron")
        assert blended.startswith("1. Heron  ")
        assert has_line(graph, "1. Heron -[EATS]-> Fish")

    def test_refuses_parameters_of_another_kind(self, run):
        arguments = ["search", "Heron", "--index=knowledge", "--kind=blend"]

        with pytest.raises(CommandError, match=r"'mood'.*source_weight.*\[invalid, field mood\]"):
            run(*arguments, "--parameter=mood=fine")
        with pytest.raises(CommandError, match=r"mode.*\[invalid, field mode\]"):
            run(*arguments, "--mode=dense")
        with pytest.raises(CommandError, match=r"Write it as NAME=VALUE\. \[invalid\]"):
            run(*arguments, "--parameter=mood")


class TestTools:
    def test_are_listed_with_their_arguments_and_called(self, run):
        listed = run("tools", "asked")
        found = run("tools", "asked", "search_knowledge_base", "query=granite", "limit=1")
        answer = json.loads(run("tools", "asked", "--json"))

        assert "search_knowledge_base: Search everything.\n   query (string): A question." in listed
        assert "search_by_muscle_group" in [tool["name"] for tool in answer["results"]]
        assert "   group (lower_back, neck): Muscles it is about." in listed
        assert found.startswith("1. Notes  page")
        assert not has_line(found, "2.")

    def test_refuse_wrong_arguments(self, run):
        with pytest.raises(CommandError, match=r"\[unknown_tool"):
            run("tools", "asked", "nothing")
        with pytest.raises(CommandError, match=r"argument query is missing.*\[invalid"):
            run("tools", "asked", "search_knowledge_base")
        with pytest.raises(CommandError, match=r"limit is not valid JSON.*\[malformed\]"):
            run("tools", "asked", "search_knowledge_base", "query=x", "limit=many")


class TestConcepts:
    def test_are_listed_and_found(self, run, stored):
        listed = run("concepts", "list", "--index=knowledge", "--label=HER")
        found = run("concepts", "search", "Heron", "--index=knowledge", "--limit=1")

        assert listed == f"1. Heron  {stored.concept_id}  1 quote, 1 relationship\n"
        assert found.startswith(f"1. Heron  {stored.concept_id}  cosine 1.0")

    def test_are_shown_with_their_quotes_sources_and_paths(self, run, stored):
        concept = str(stored.concept_id)
        evidence = run("concepts", "evidence", concept, "--query=how it feeds")
        context = run("concepts", "context", concept, "--window=1")
        other = str(stored.near_concept_id)
        shared = run("concepts", "shared", concept, other)
        paths = run("concepts", "paths", concept, "--like=eats", "--min-similarity=-1")

        assert has_line(evidence, "   The heron")
        assert has_line(context, "   The heron stands in the shallows. It eats fish.")
        assert has_line(shared, f"1. Heron  {concept}")
        assert paths.startswith("1. Heron -[EATS]-> Fish  similarity")

    def test_are_refused_by_a_wrong_id(self, run):
        with pytest.raises(CommandError, match=r"\[unknown_concept"):
            run("concepts", "evidence", UNKNOWN_ID)
        with pytest.raises(CommandError, match=r"\[not_found\]"):
            run("concepts", "context", "heron")

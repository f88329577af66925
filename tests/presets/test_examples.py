"""Every example query of the docs gives the document it is meant to give, with the default model:
in the default set-up, where rules write the answers, and with a language model."""

import io
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_plus

import pytest
from django.core.management import CommandError, call_command

from benchmarks.physio.write import QUESTIONS
from tests.forked import ForkedService
from tests.presets.filled import (
    ANSWER_PAGE,
    CONCEPTS,
    EVIDENCE,
    GERMAN,
    ITEMS,
    MODEL,
    TUTORIAL,
    read_code,
    read_page,
    serving_examples,
)
from tests.serving import ROOT

RULES = "extractive"  # the model name of what rules write
HISTORY = "a-light-on-orrin-skerry.pdf"
TALK = "reading-the-tide.pptx"
HANDBOOK = "keepers-handbook.md"
REPORT = "lens-conservation-report.docx"


class Example(NamedTuple):
    """``shown`` is the example as the page has it: a command; the JSON of a request to ``path``; or
    the words of a query, which complete ``path``. ``wanted`` is the name of the best hit: an
    external id, a URL, a label, or the index of a page."""

    page: str
    shown: str
    wanted: str | int
    path: str = ""


SENTENCES = read_page("docs/how-to/ask-in-whole-sentences.md")
CONCEPT_ROWS = re.findall(r"^\| `search/(\w+)` \| ([^|]+) \| ([^|]+) \|$", CONCEPTS, re.M)
MINUTES = "search/pages?index=minutes"
SINCE_2023 = f'{MINUTES}&filter={{"year": {{"gte": 2023}}}}'
TOOLS = "indexes/physio/tools/search"
FINDINGS = "indexes/evidence/evidence"
PAGES: dict[str, list[tuple[str, str | int] | tuple[str, str | int, str]]] = {
    "README.md": [("strata search tide --index library --json", TALK)],
    "client/README.md": [("When does the ferry leave?", "ferries", "ask?index=plain")],
    "docs/tutorial.md": [
        ("when is the gauge read", HANDBOOK, "search/pages?index=library"),
        (
            '{"index": "minutes", "query": "when does work on the breakwater start", "limit": 1, '
            '"filter": {"year": {"gte": 2023}}, "explain": true}',
            "2024-03",
            "search/pages",
        ),
        ("lamps", "2024-03", SINCE_2023),
    ],
    "docs/how-to/ask-in-whole-sentences.md": [
        (
            "Machine translation papers since 2019 at ACL by Graham Neubig",
            "2020.acl-main.1",
            "ask?index=papers",
        ),
        ("parsing at ACL since 2019", "P19-1001", "ask?index=papers"),
        ("by hinrich schutze", "P14-1002", "ask?index=papers"),
    ],
    "docs/how-to/concepts.md": [
        *(
            (query, wanted, f"search/{search}?index=knowledge")
            for search, query, wanted in CONCEPT_ROWS
        ),
        (
            '{"index": "knowledge", "query": "birds that wait for fish"}',
            "notes-1",
            "search/route",
        ),
    ],
    "docs/how-to/connect-agents.md": [
        ("the great storm", HISTORY, "search/pages?index=library"),
        ('{"index": "plain", "query": "ferry to Ven"}', "ferries", "search/pages"),
    ],
    "docs/how-to/declare-a-query-pipeline.md": [
        (
            '{"index": "minutes", "query": "what was decided on the roof since 2021", '
            '"pipeline": "minutes"}',
            "2021-05",
            "ask",
        ),
    ],
    "docs/how-to/filter-searches.md": [
        (
            "strata search breakwater --index minutes --filter "
            """'{"year": {"gte": 2023}, "board": ["harbour", "works"]}'""",
            "2024-03",
        ),
        ("breakwater", "2024-03", SINCE_2023),
    ],
    "docs/how-to/search-with-phrases-and-exclusions.md": [
        ("""strata search 'breakwater "herring season" -moorings' --index minutes""", "2024-03"),
    ],
    "docs/how-to/keep-evidence.md": [
        ("Does aspirin prevent strokes?", "https://a.example/trial", f"{FINDINGS}/similar?limit=5"),
        (
            '{"query": "aspirin stroke", "urls": ["https://a.example/trial"], "limit": 5}',
            "https://c.example/review",
            f"{FINDINGS}/related",
        ),
        ("aspirin and stroke", "https://a.example/trial", f"{FINDINGS}/similar?limit=5"),
    ],
    "docs/how-to/research-loop.md": [
        (
            "When does the ferry leave?",
            "ferries",
            "search/pages?index=plain&mode=sparse&limit=5",
        ),
    ],
    "docs/how-to/search-by-questions.md": [
        (
            'strata search "exercises for impingement" --index physio --kind questions',
            "impingement",
        ),
        (
            '{"query": "lifting the arm sideways hurts"}',
            "impingement",
            f"{TOOLS}_knowledge_base/",
        ),
        ('{"condition": "impingement"}', "impingement", f"{TOOLS}_by_condition/"),
        ('{"condition": "lateral epicondylitis"}', "elbow", f"{TOOLS}_by_condition/"),
        ('{"exercise": "nordic hamstring curl"}', "nordic", f"{TOOLS}_by_exercise/"),
        ('{"exercise": "bench press"}', "bench", f"{TOOLS}_by_exercise/"),
        ('{"exercise": "face pull"}', "facepull", f"{TOOLS}_by_exercise/"),
        ('{"group": "lower_back"}', "back", f"{TOOLS}_by_muscle_group/"),
        (
            '{"type": "anatomy", "query": "muscles that turn the arm"}',
            "cuff",
            f"{TOOLS}_by_content_type/",
        ),
    ],
    "docs/how-to/search-slide-decks.md": [
        (
            'strata search "NadD with compound SACC-111 by TAMU" --index biomedical '
            "--kind hierarchical",
            ANSWER_PAGE,
        ),
    ],
    "docs/how-to/use-from-python.md": [
        ("when does work on the breakwater start", "2024-03", SINCE_2023),
        ("what does a mooring cost", "2024-03", f"{MINUTES}&mode=dense"),
        ("breakwater tender", "2024-03", f"{SINCE_2023}&mode=sparse"),
    ],
    "docs/how-to/use-the-client.md": [
        ("how do I get to Ven", "ferries", "search/pages?index=plain&limit=3"),
        ("When does the ferry to Ven leave?", "ferries", "ask?index=plain"),
        ("Does the ferry carry cars?", "ferries", "ask?index=plain"),
    ],
    "docs/reference/api.md": [
        ("When is the tide highest", TALK, "ask?index=library"),
        ('{"group": "lower_back"}', "back", f"{TOOLS}_by_muscle_group/"),
    ],
    "docs/reference/commands.md": [
        ('strata search "mercury bath" --index library --mode sparse', REPORT),
        (
            'strata search "wading birds" --index knowledge --kind sources '
            "--parameter include_concepts=true --parameter window=1",
            "notes-1",
        ),
        ('strata ask "How was the lamp kept burning?" --index library', HISTORY),
        ("strata tools physio search_by_muscle_group group=lower_back limit=5", "back"),
        ("strata api GET indexes/library/artifacts/ --query title=tide", TALK),
    ],
    "answers/pipelines/papers.yaml": [("like P19-1001", "P19-1001", "ask?index=papers")],
    "retrieval/views/searches.py": [
        ('{"exercise": "nordic curl", "limit": 5}', "nordic", f"{TOOLS}_by_exercise/"),
    ],
    "specs/papers.yaml": [
        ("translation papers since 2019 at ACL", "2020.acl-main.1", "ask?index=papers"),
    ],
}
EXAMPLES = [Example(page, *given) for page, rows in PAGES.items() for given in rows]
REFUSED = """strata search breakwater --index minutes --filter '{"yeer": 2024}'"""
OTHERS = {  # in the docs, and no example of this table
    "what you look for",  # stands for the reader's own words
    "…",
    REFUSED,
    "'a bird in shallow water'",  # needs the weights of CLIP: tests/spaces/images
    "a bird in shallow water",
    "CC(=O)Oc1ccccc1C(=O)O",  # needs RDKit: tests/spaces/chemistry
    "dissolves in water",
    "-- -moorings",  # tests/retrieval/test_search_command.py
}
NOTES = {  # question -> what docs/how-to/ask-in-whole-sentences.md says of it
    "papers by Zyx Qwerty": "“Zyx Qwerty” is not used as a filter: no document has Zyx Qwerty "
    "in authors. The words are searched for instead.",
    "Papers with an award by Schutze": "No passage matches the filter "
    '{"authors": "Hinrich Schütze"} together with {"awards": "Best Paper"}.',
}


@pytest.fixture(scope="module", params=[RULES, MODEL])
def filled(request, tmp_path_factory) -> Iterator[ForkedService]:
    folder = tmp_path_factory.mktemp("examples")
    with serving_examples(folder, has_model=request.param == MODEL) as service:
        yield service


@pytest.fixture
def service(filled, settings) -> ForkedService:
    """The service, which commands in this process ask, too."""
    settings.STRATA_DATA_DIR = filled.data_dir
    return filled


@pytest.fixture
def writer(service) -> str:
    """The name of the model that writes texts."""
    return service.environment["STRATA_LLM_MODEL"] or RULES


def flatten(text: str) -> str:
    return " ".join(unquote_plus(text).split())


def ask(service: ForkedService, shown: str, path: str = "") -> Any:
    if shown.startswith("strata "):
        return run(shown)
    headers = {"Accept": "application/json"}
    if shown.startswith("{"):
        answer = service.api.post(path, json=json.loads(shown), headers=headers)
    else:
        answer = service.api.get(f"{path}&q={quote(shown)}", headers=headers)
    assert answer.is_success, answer.text
    return answer.json()


def run(command: str) -> Any:
    _, name, *arguments = shlex.split(command)
    if name != "api":  # which prints JSON anyway
        arguments.append("--json")
    printed = io.StringIO()
    call_command(name, *arguments, stdout=printed)
    return json.loads(printed.getvalue())


def name_best(answer: dict[str, Any]) -> set[Any]:
    """The names of what an answer gives first; of an answer in words, what it cites first."""
    if "entry" in answer:
        hits = [*answer["concepts"], *answer["sources"], *answer["relationship_types"]]
        [best] = [hit for hit in hits if hit["id"] == answer["entry"]["id"]]
    elif "artifacts" in answer:
        best = answer["artifacts"][0]["pages"][0]
    elif "results" in answer:
        [best] = answer["results"]
    else:
        cited = answer.get("citations") or [{"number": 1}]
        best = answer["hits"][cited[0]["number"] - 1]
    document = best.get("artifact") or best
    names = [best.get(name) for name in ("label", "name", "url", "page_index")]
    return {*names, document.get("external_id")}


class TestSetUp:
    def test_has_the_texts_of_the_writer_alone(self, service, writer):
        summaries = ask(service, "NadD", "search/summaries?index=biomedical")["hits"]
        concepts = service.api.get("indexes/knowledge/concepts/?label=Minnow").json()

        assert {each["model_name"] for each in summaries} == {writer}
        assert concepts["count"] == (writer == MODEL)  # rules extract none


class TestExamples:
    @pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.page}: {each.shown}")
    def test_give_the_document_they_are_meant_to_give(self, service, writer, example):
        assert flatten(example.shown) in flatten(read_page(example.page))

        answer = ask(service, example.shown, example.path)

        assert example.wanted in name_best(answer), answer
        assert answer.get("model_name", writer) == writer
        if "citations" in answer and "?" in example.shown:
            assert answer["citations"], answer

    def test_are_all_here(self):
        pages = [ROOT / "README.md", ROOT / "client" / "README.md", ROOT / "docs" / "tutorial.md"]
        for folder in ("how-to", "reference"):
            pages += (ROOT / "docs" / folder).glob("*.md")
        found = {
            flatten(command or query)
            for page in pages
            for command, query in re.findall(
                r'(strata (?:search|ask|tools|evidence) [^`\n]+)|"query": "([^"]+)"',
                page.read_text(encoding="utf-8"),
            )
        }

        unknown = {each for each in found if not any(other in each for other in OTHERS)}
        for example in EXAMPLES:
            unknown = {each for each in unknown if each not in flatten(example.shown)}

        assert len(found) > 20
        assert len(CONCEPT_ROWS) >= 8
        assert unknown == set()

    def test_of_filters_say_which_field_there_is_not(self, service):
        guide = read_page("docs/how-to/filter-searches.md")
        assert REFUSED in guide

        with pytest.raises(CommandError) as caught:
            run(REFUSED)

        [shown] = re.findall(r"^CommandError: (.*), …$", guide, re.M)
        assert str(caught.value).startswith(shown)


class TestAskingInWholeSentences:
    @pytest.mark.parametrize("question", NOTES)
    def test_gives_the_note_that_the_guide_shows(self, service, question):
        assert NOTES[question] in flatten(SENTENCES)

        assert NOTES[question] in ask(service, question, "ask?index=papers")["notes"]

    def test_needs_a_language_model_in_other_languages(self, service, writer):
        assert GERMAN in SENTENCES

        answer = ask(service, GERMAN, "ask?index=papers")

        if writer == MODEL:
            assert "P19-1001" in name_best(answer)
        else:
            assert answer["relevant"] is None
            assert any("in English only" in note for note in answer["notes"])
            assert any("was not tested" in note for note in answer["notes"])


class TestQuestions:
    def test_say_which_question_found_the_passage(self, service, writer):
        query = "lifting the arm sideways hurts"

        answer = ask(service, query, "search/questions?index=physio&limit=1")

        [hit] = answer["hits"]
        assert hit["kind"] == "question"
        if writer == MODEL:
            assert QUESTIONS[hit["question"]] == "impingement"
            assert answer["notes"] == []
        else:
            assert hit["question"] is None
            assert "STRATA_LLM_MODEL" in answer["notes"][0]

    @pytest.mark.parametrize("name", ["source", "chunk_id", "summary", "model_name"])
    def test_can_be_filtered_by_what_is_stored_with_them(self, service, writer, name):
        path = "search/questions?index=physio&limit=50"
        every = ask(service, "grip", path)["hits"]
        [hit] = [each for each in every if each["artifact"]["external_id"] == "bench"]
        value = hit.get(name, writer)

        hits = ask(service, "grip", f"{path}&filter={quote(json.dumps({name: value}))}")["hits"]

        assert hit["chunk_id"] in {each["chunk_id"] for each in hits}
        if name in {"source", "chunk_id"}:
            assert {each[name] for each in hits} == {value}

    def test_refuse_a_filter_by_what_is_no_id(self, service):
        body = {"index": "physio", "query": "grip", "filter": {"chunk_id": "heel"}}

        answer = service.api.post("search/questions", json=body)

        assert (answer.status_code, answer.json()["field"]) == (400, "filter.chunk_id")


class TestAnswersInTheDocs:
    def test_are_the_verdicts_on_findings(self, service):
        shown = json.loads(read_code(EVIDENCE, '{"verdicts"'))["verdicts"]

        given = ask(service, ITEMS, "indexes/findings/evidence/")["verdicts"]

        assert [each.keys() for each in given] == [each.keys() for each in shown]
        for one, other in zip(given, shown, strict=True):
            assert (one["url"], one["verdict"]) == (other["url"], other["verdict"])
            assert one.get("similarity") == pytest.approx(other.get("similarity"), abs=0.01)

    def test_are_the_references_of_a_finding(self, service):
        [names] = re.findall(r"in `references`\s+what\s+repeats it: `([\w, ]+)`", EVIDENCE)

        hits = ask(service, "aspirin", "indexes/evidence/evidence/similar?limit=5")["hits"]

        [reference] = [each for hit in hits for each in hit["references"]]
        assert set(reference) == set(names.split(", "))

    def test_are_the_place_and_the_scores_of_a_hit(self, service):
        [example] = [each for each in EXAMPLES if '"explain": true' in each.shown]
        shown = json.loads("{" + read_code(TUTORIAL, '"start_offset"') + "}")

        [hit] = ask(service, example.shown, example.path)["hits"]

        for name in ("start_offset", "end_offset", "verdict"):
            assert hit[name] == shown[name]
        assert hit["source"].keys() == shown["source"].keys()
        assert hit["explain"].keys() == shown["explain"].keys()
        for name in ("fusion", "words"):
            assert hit["explain"][name] == shown["explain"][name]

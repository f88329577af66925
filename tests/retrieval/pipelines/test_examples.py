"""Every example question of the guides gives the document it is meant to give, with rules alone and
with a language model."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from documents.parsing import Limits, close_child_processes, parse_file
from documents.services import TextContent, add_artifact
from indexing.spec import parse_spec
from retrieval.pipelines.running import AskRequest, PipelineHits, find_hits
from tests.factories import give, sync
from tests.summaries.test_llm import Endpoint, endpoint, says
from tests.written import make_build

__all__ = ["endpoint"]  # a fixture

LIBRARY = Path(django_settings.BASE_DIR) / "demo" / "library"

# External id -> title, text, authors, venue, year, awards.
PAPERS: dict[str, tuple[str, str, str, str, int, list[str]]] = {
    "2020.acl-main.1": (
        "Machine translation with subwords", "We improve machine translation of rare words.",
        "Graham Neubig", "acl", 2020, [],
    ),
    "D17-1001": (
        "Machine translation by attention", "We study machine translation with attention.",
        "Graham Neubig", "emnlp", 2017, [],
    ),
    "P19-1001": (
        "Parsing with pointers", "A parser of dependencies points at heads.",
        "Ada Lovelace", "acl", 2019, [],
    ),
    "2021.emnlp-main.7": (
        "Parsing with graphs", "A parser of dependencies reads heads from graphs.",
        "Ada Lovelace", "emnlp", 2021, [],
    ),
    "P14-1002": (
        "Senses of words", "Embeddings of the senses of words.",
        "Hinrich Schütze", "acl", 2014, ["Best Paper"],
    ),
}  # fmt: skip

# Question -> the filters and other wordings that a sensible model answers, and the best document.
EXAMPLES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "machine translation papers since 2019 at ACL by Graham Neubig": ([], "2020.acl-main.1"),
    "translation papers since 2019 at ACL": ([], "2020.acl-main.1"),
    "parsing at ACL since 2019": ([], "P19-1001"),
    "like P19-1001": ([], "P19-1001"),
    "like P19-1001 but newer": ([], "2021.emnlp-main.7"),
    "parsing, not at ACL": ([], "2021.emnlp-main.7"),
    "papers with an award by Schutze": ([], "P14-1002"),
    "papers by hinrich schutze": ([], "P14-1002"),
}
GERMAN = "Artikel von Ada Lovelace seit 2020"
GERMAN_FILTERS: list[dict[str, Any]] = [
    {"field": "authors", "words": "von Ada Lovelace", "values": ["Ada Lovelace"]},
    {"field": "year", "words": "seit 2020", "first_year": 2020},
]


@pytest.fixture
def papers(db, store, embedder):
    path = django_settings.BASE_DIR / "specs" / "papers.yaml"
    spec = parse_spec("papers", path.read_text(encoding="utf-8"))
    build = make_build("papers", **spec.model_dump(mode="json", exclude={"name"}))
    given = [
        give(
            text, index="papers", title=title, external_id=name,
            metadata={"authors": [author], "venue": [venue], "year": year, "awards": awards},
        )
        for name, (title, text, author, venue, year, awards) in PAPERS.items()
    ]  # fmt: skip
    sync(build, *given)
    return {str(artifact.pk): artifact.external_id for artifact in given}


def find(query: str, index: str = "papers", **given: Any) -> PipelineHits:
    return find_hits(AskRequest(index, query, **given))


def best(found: PipelineHits, names: dict[str, str]) -> str:
    assert found.refusal is None
    return names[str(found.passages[0].hit.payload["artifact_id"])]


def model_says(filters: list[dict[str, Any]], *wordings: str) -> list[Any]:
    return [
        says(json.dumps({"is_relevant": True, "filters": filters})),
        says(json.dumps({"queries": wordings})),
    ]


class TestPapers:
    @pytest.mark.parametrize("question", EXAMPLES)
    def test_are_found_by_rules(self, papers, question):
        assert best(find(question), papers) == EXAMPLES[question][1]

    @pytest.mark.parametrize("question", EXAMPLES)
    def test_are_found_with_a_language_model(self, papers, endpoint: Endpoint, question):
        filters, expected = EXAMPLES[question]
        endpoint.scripts = model_says(filters, "another wording", "a third wording")

        assert best(find(question), papers) == expected

    def test_in_another_language_are_found_with_a_language_model(self, papers, endpoint: Endpoint):
        endpoint.scripts = model_says(GERMAN_FILTERS)

        assert best(find(GERMAN), papers) == "2021.emnlp-main.7"

    def test_in_another_language_say_without_one_that_filters_are_not_read(self, papers):
        found = find(GERMAN)

        assert found.refusal is None
        assert any("in English only" in note for note in found.notes)
        assert any("was not tested" in note for note in found.notes)


@pytest.fixture
def library(db, store, embedder):
    """The demo's library, each page by its reader."""
    path = django_settings.BASE_DIR / "specs" / "library.yaml"
    spec = parse_spec("library", path.read_text(encoding="utf-8"))
    build = make_build("library", **spec.model_dump(mode="json", exclude={"name"}))
    limits = Limits.from_settings()
    given = []
    for file in sorted(LIBRARY.iterdir()):
        parsed = parse_file(file, file_name=file.name, limits=limits)
        content = TextContent(tuple(page.text for page in parsed.pages))
        given.append(add_artifact("library", content, title=parsed.title, external_id=file.name)[0])
    close_child_processes()
    sync(build, *given)
    return {str(artifact.pk): artifact.external_id for artifact in given}


class TestLibrary:
    def test_answers_the_tutorials_question(self, library):
        found = find("when is the gauge read", index="library")

        assert best(found, library) in {"keepers-handbook.md", "reading-the-tide.pptx"}

    def test_refuses_what_it_is_not_about(self, library):
        assert find("how do I bake sourdough bread?", index="library").refusal is not None


class TestMinutes:
    def test_finds_when_work_starts(self, db, store, embedder):
        build = make_build("minutes", metadata={"year": {"type": "integer"}})
        march = "Work on the breakwater starts on 3 June and stops for the herring season."
        october = "The divers found the footing of the breakwater washed out."
        given = [
            give(march, index="minutes", external_id="2024-03", metadata={"year": 2024}),
            give(october, index="minutes", external_id="2022-10", metadata={"year": 2022}),
        ]
        sync(build, *given)
        names = {str(artifact.pk): artifact.external_id for artifact in given}

        found = find(
            "when does work on the breakwater start",
            index="minutes",
            filter={"year": {"gte": 2023}},
        )

        assert best(found, names) == "2024-03"

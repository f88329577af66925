"""The spec and pipeline of the preset ``papers`` as shipped, on a dozen abstracts."""

import asyncio
from typing import Any
from unittest import mock

import pytest
from django.conf import settings as django_settings

from answers.asking import Answer, AskRequest, PipelineHits
from answers.pipelines.running import run_pipeline
from core import enqueueing
from documents.models import Source
from indexing.spec import parse_spec
from tests.factories import give, sync
from tests.written import make_build

TOPICS = {
    "translation": "We improve machine translation: sentences are translated by phrases.",
    "parsing": "We parse sentences into dependencies with transitions, in linear time.",
    "sarcasm": "Sarcasm in short messages turns their sentiment round.",
}
AUTHORS = ["Ada Lovelace", "Grace Hopper"]
PLACES = [("acl", 2020), ("emnlp", 2018)]


@pytest.fixture
def papers(db, store):
    """A paper for each topic, author and venue; no text names its author."""
    path = django_settings.BASE_DIR / "specs" / "papers.yaml"
    spec = parse_spec("papers", path.read_text(encoding="utf-8"))
    build = make_build("papers", **spec.model_dump(mode="json", exclude={"name"}))
    with mock.patch.object(enqueueing, "enqueue_once"):  # ``sync`` does what tasks would do
        given = [
            give(
                text,
                index="papers",
                title=f"Towards {topic}, part {number}",
                external_id=f"{year}.{venue}-main.{first + number}",
                metadata={"authors": [author], "venue": [venue], "year": year},
            )
            for first, (topic, text) in zip((10, 20, 30), TOPICS.items(), strict=True)
            for number, (author, (venue, year)) in enumerate(
                ((author, place) for author in AUTHORS for place in PLACES), start=1
            )
        ]
        sync(build, *given)
    return {artifact.external_id: artifact for artifact in given}


def ask(query: str, **given: Any) -> tuple[PipelineHits, Answer | None]:
    async def listen() -> list[Any]:
        return [event async for event in run_pipeline(AskRequest("papers", query, **given))]

    events = asyncio.run(listen())
    last = events[-1]
    return events[0], last if isinstance(last, Answer) else None


def described(found: PipelineHits) -> set[tuple[str, str, int]]:
    payloads = [passage.hit.payload for passage in found.passages]
    return {(each["authors"][0], each["venue"][0], each["year"]) for each in payloads}


@pytest.mark.django_db(transaction=True)
class TestPapers:
    def test_returns_only_papers_that_match_the_question(self, papers):
        found, _ = ask("machine translation papers since 2019 at ACL by Ada Lovelace")

        assert described(found) == {("Ada Lovelace", "acl", 2020)}
        assert "translation" in found.passages[0].hit.payload["artifact_title"]
        assert found.queries[0] == "machine translation"
        [note] = found.notes
        assert "1 wording instead of 3" in note

    @pytest.mark.parametrize(
        ("question", "remainder"),
        [
            ("machine translation papers since 2019 at ACL", "machine translation"),
            ("papers by Ada Lovelace since 2019", ""),
            ("how are sentences translated?", "how are sentences translated?"),
        ],
    )
    def test_returns_what_its_filters_leave_of_the_question(self, papers, question, remainder):
        found, _ = ask(question)

        assert found.semantic_query == remainder

    def test_finds_papers_similar_to_a_named_one(self, papers):
        found, _ = ask("something like 2020.acl-main.21, please", limit=4)

        assert [each["identifier"] for each in found.identified] == ["2020.acl-main.21"]
        titles = [passage.hit.payload["artifact_title"] for passage in found.passages]
        assert all("parsing" in title for title in titles)
        assert found.filter is None
        assert found.semantic_query == "something like 2020.acl-main.21, please"

    def test_stops_early_for_a_question_on_another_subject(self, papers):
        found, answer = ask("best pizza in Rome")

        assert found.refusal is not None
        assert found.passages == []
        assert answer is None
        assert set(found.took_ms) == {"filters", "total"}

    def test_notes_conditions_that_it_cannot_apply(self, papers):
        found, _ = ask("parsing papers by Zyx Qwerty in the last 3 years at ICML")

        assert found.refusal is None
        assert len([note for note in found.notes if "is not used as a filter" in note]) == 2
        assert set(found.filter) == {"year"}

    def test_answers_in_sentences_of_the_sources(self, papers):
        found, answer = ask("how are sentences translated?")

        assert found.passages
        assert answer.text
        for citation in answer.citations:
            source = Source.objects.get(pk=citation["source_id"]).text
            said = answer.text[citation["answer_start"] : citation["answer_end"]]
            assert source[citation["start_offset"] : citation["end_offset"]] == said

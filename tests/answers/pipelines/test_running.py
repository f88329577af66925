import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from answers.asking import Answer, AskRequest, PipelineHits
from answers.exceptions import UnknownPipeline
from answers.pipelines.running import check_ask_request, find_hits, run_pipeline
from core.exceptions import InvalidInput, UnknownIndex
from indexing.exceptions import StoreUnavailable
from indexing.models import Index
from indexing.stores import get_store
from tests.answers.pipelines.components import AnswerSynthesiser
from tests.answers.pipelines.conftest import ASKING, index_notes
from tests.factories import PARAGRAPHS, give
from tests.written import make_build, write_all

ASKED = AskRequest("notes", "the heron waits for fish", pipeline="mine")


@pytest.fixture
def notes(db, store, embedder, declare):
    declare("mine", ASKING)
    return index_notes()


def collect(question):
    """Collect everything that a run yields."""

    async def go():
        async with aclosing(run_pipeline(question)) as results:
            return [result async for result in results]

    return asyncio.run(go())


def artifact_ids(found):
    return [passage.hit.payload["artifact_id"] for passage in found.passages]


@pytest.mark.django_db(transaction=True)
class TestRunPipeline:
    def test_yields_hits_then_pieces_then_the_answer(self, notes):
        found, *pieces, answer = collect(ASKED)

        assert isinstance(found, PipelineHits)
        assert artifact_ids(found)[0] == str(notes[0].pk)
        assert pieces == AnswerSynthesiser.pieces
        assert answer == Answer("It stands still.", "a test", [])

    def test_returns_queries_filters_notes_and_times_with_the_hits(self, notes):
        [found, *_] = collect(replace(ASKED, query="heron award since 2019"))

        assert found.pipeline == "mine"
        assert found.query == "heron award"
        assert found.queries == ["heron award", "award heron"]
        assert found.parsed == {"year": {"gte": 2019}}
        assert found.filter == {"all_of": [{"year": {"gte": 2019}}]}
        assert found.notes == ["Nothing is known of awards."]
        assert found.builds == {"notes": 1}
        assert found.refusal is None
        assert {*found.took_ms} == {
            "filters", "queries", "retriever", "fusion", "context", "total"
        }  # fmt: skip
        assert found.took_ms["total"] >= max(
            took for name, took in found.took_ms.items() if name != "total"
        )

    def test_ends_with_a_refusal(self, notes):
        [found] = collect(replace(ASKED, query="best pizza in Rome"))

        assert found.refusal.detail == "There is no pizza here."
        assert found.passages == []

    def test_applies_given_and_parsed_filters(self, notes):
        question = replace(ASKED, query="the heron since 2019", filter={"year": {"lte": 2020}})

        [found, *_] = collect(question)

        assert set(artifact_ids(found)) == {str(notes[1].pk), str(notes[2].pk)}

    def test_returns_at_most_the_limit(self, notes):
        [found, *_] = collect(replace(ASKED, limit=2))

        assert len(found.passages) == 2

    def test_writes_no_answer_if_none_is_wanted(self, notes):
        assert [type(each) for each in collect(replace(ASKED, wants_answer=False))] == [
            PipelineHits
        ]

    def test_uses_the_pipeline_of_the_live_spec_by_default(self, notes):
        [found, *_] = collect(replace(ASKED, pipeline=None))

        assert found.pipeline == "mine"

    def test_finds_nothing_without_a_live_build(self, notes):
        Index.objects.create(name="empty")

        [found, *_] = collect(replace(ASKED, index="empty"))

        assert found.passages == []
        assert found.builds == {"empty": None}

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"query": "  "}, "query"),
            ({"limit": 0}, "limit"),
            ({"limit": 101}, "limit"),
            ({"filter": {"colour": "red"}}, "filter.colour"),
            ({"query": "a broken question"}, "query"),
        ],
    )
    def test_raises_an_error_for_wrong_parameters(self, notes, changes, field):
        with pytest.raises(InvalidInput) as caught:
            collect(replace(ASKED, **changes))

        assert caught.value.field == field

    def test_names_the_existing_indexes_and_pipelines(self, notes):
        with pytest.raises(UnknownIndex):
            collect(replace(ASKED, index="atlantis"))
        with pytest.raises(UnknownPipeline) as caught:
            check_ask_request(replace(ASKED, pipeline="yours"))
        assert "mine" in caught.value.allowed

    def test_raises_errors_of_the_store(self, notes, monkeypatch):
        def fail(requests):
            raise StoreUnavailable("It is away.")

        monkeypatch.setattr(get_store(), "search_many", fail)

        with pytest.raises(StoreUnavailable, match="It is away"):
            collect(ASKED)

    def test_stops_the_answer_when_the_iterator_is_closed(self, notes, monkeypatch):
        monkeypatch.setattr(AnswerSynthesiser, "pieces", ["word "] * 1_000)
        monkeypatch.setattr(AnswerSynthesiser, "pause", 0.01)

        async def leave_early():
            async with aclosing(run_pipeline(ASKED)) as results:
                async for result in results:
                    if result == "word ":
                        break
            await asyncio.sleep(0)
            return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

        assert asyncio.run(leave_early()) == []
        assert AnswerSynthesiser.spoken < 1_000

    def test_stops_when_its_task_is_cancelled(self, notes, monkeypatch):
        monkeypatch.setattr(AnswerSynthesiser, "pieces", ["word "] * 1_000)
        monkeypatch.setattr(AnswerSynthesiser, "pause", 0.01)

        async def listen(heard):
            async with aclosing(run_pipeline(ASKED)) as results:
                async for result in results:
                    heard.append(result)

        async def cancel():
            heard = []
            listening = asyncio.create_task(listen(heard))
            while len(heard) < 3:
                await asyncio.sleep(0.01)
            listening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listening
            return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

        assert asyncio.run(cancel()) == []
        assert AnswerSynthesiser.spoken < 1_000

    def test_supports_simultaneous_runs(self, notes):
        async def ask(question):
            async with aclosing(run_pipeline(question)) as results:
                return [result async for result in results]

        async def ask_all():
            return await asyncio.gather(
                *(ask(replace(ASKED, query=text)) for text in PARAGRAPHS * 3)
            )

        answers = asyncio.run(ask_all())

        firsts = [artifact_ids(found)[0] for found, *_ in answers]
        assert firsts == [str(note.pk) for note in notes] * 3


class TestFindHits:
    def test_returns_the_hits_of_a_run(self, notes):
        found = find_hits(ASKED)

        assert artifact_ids(found)[0] == str(notes[0].pk)
        assert found.queries[0] == ASKED.query
        assert found.took_ms["total"] > 0

    def test_returns_a_refusal(self, notes):
        assert find_hits(replace(ASKED, query="pizza")).refusal is not None

    def test_raises_errors_of_a_component(self, notes):
        with pytest.raises(InvalidInput, match="This is broken"):
            find_hits(replace(ASKED, query="broken"))


class TestShippedPipelines:
    @pytest.mark.parametrize("pipeline", ["plain", "papers"])
    def test_find_chunks_by_their_questions_if_chunks_are_not_embedded(
        self, db, store, embedder, pipeline
    ):
        hyde = make_build("hyde", chunks={"embed": False}, questions={"count": 2})
        artifacts = [
            give(text, title=f"Note {n}", index="hyde") for n, text in enumerate(PARAGRAPHS)
        ]
        write_all(hyde, *artifacts, count=2)
        asked = AskRequest("hyde", "the heron stands in the shallows", pipeline=pipeline)

        found = find_hits(asked)
        lost = find_hits(replace(asked, limit=1, why_not=artifacts[1].pk))

        assert artifact_ids(found)[0] == str(artifacts[0].pk)
        assert len(found.passages) == len({p.hit.passage_id for p in found.passages}) == 4
        assert lost.why_not["lost_at"] is not None
        assert lost.why_not["ranks"][0]["fused"] > 1

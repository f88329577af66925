import asyncio
from dataclasses import replace
from uuid import UUID

import pytest
from django.core.cache import cache

from answers import answer_stream
from answers.answer_stream import AnswerEvent, StreamPosition
from answers.asking import Answer, AskRequest, PipelineHits, Refusal
from core.exceptions import InvalidInput
from indexing.spec import IndexSpec
from retrieval.passages import Passage
from retrieval.search import Hit

QUESTION = AskRequest(index="plain", query="What is it?")
PIECES = ["One. ", "Two. ", "Three."]
TEXT = "".join(PIECES)


def make_found(*numbers):
    hits = [Hit(UUID(int=n), "plain", 1, 1.0, {}, None, IndexSpec(name="plain")) for n in numbers]
    return PipelineHits(pipeline="plain", passages=[Passage(hit, 1.0, "rrf") for hit in hits])


class Pipeline:
    """Fake pipeline that yields scripted results and records its questions."""

    def __init__(self):
        self.asked = []
        self.closed = 0
        self.found = make_found(1, 2)
        self.breaks_after = None  # pieces

    async def __call__(self, question):
        self.asked.append(question)
        try:
            yield self.found
            if self.found.refusal:
                return
            for number, piece in enumerate(PIECES):
                if number == self.breaks_after:
                    await asyncio.sleep(60)
                yield piece
            yield Answer(TEXT, "extractive", [])
        finally:
            self.closed += 1


@pytest.fixture
def pipeline(monkeypatch):
    cache.clear()
    pipeline = Pipeline()
    monkeypatch.setattr(answer_stream, "run_pipeline", pipeline)
    return pipeline


def render(question, found):
    return {"hits": [passage.id for passage in found.passages]}


def ask(question=QUESTION, *, holder="someone", since=None, most=None):
    """Return the events, at most the first ``most``; then close the stream."""

    async def collect():
        events = answer_stream.stream_answer(
            question, caller=holder, render=render, resume_from=since
        )
        collected = []
        try:
            async for event in events:
                collected.append(event)
                if len(collected) == most:
                    break
        finally:
            await events.aclose()
        return collected

    return asyncio.run(asyncio.wait_for(collect(), 10))


def kinds(events):
    return [event.kind for event in events]


def text_of(events):
    return "".join(event.data["text"] for event in events if event.kind == "chunk")


class TestAnAnswer:
    def test_is_streamed_as_metadata_chunks_and_done(self, pipeline):
        events = ask()

        assert kinds(events) == ["metadata", "chunk", "chunk", "chunk", "done"]
        assert text_of(events) == TEXT
        assert events[-1].data == {
            "model_name": "extractive",
            "citations": [],
            "unknown_marks": 0,
            "notes": [],
        }

    def test_has_the_number_of_characters_so_far_as_event_id(self, pipeline):
        events = ask()

        [answer_id] = {event.id.answer_id for event in events}
        assert [event.id.chars for event in events] == [0, 5, 10, 16, None]
        assert all(StreamPosition.parse(str(event.id)) == event.id for event in events)
        assert ask()[0].id.answer_id != answer_id

    def test_ends_after_a_refusal(self, pipeline):
        pipeline.found = replace(make_found(), refusal=Refusal("Not here."))

        events = ask()

        assert kinds(events) == ["metadata", "done"]
        assert events[-1].data == {
            "model_name": None,
            "citations": [],
            "unknown_marks": 0,
            "notes": [],
        }

    def test_is_stopped_when_the_reader_leaves(self, pipeline):
        ask(most=2)

        assert pipeline.closed == 1


class TestAnInterruptedAnswer:
    @pytest.mark.parametrize("received", [1, 2, 3, 4])
    def test_is_completed_without_the_pipeline_if_it_is_finished(self, pipeline, received):
        first = ask()

        rest = ask(since=first[received - 1].id)

        assert "metadata" not in kinds(rest)
        assert text_of(first[:received]) + text_of(rest) == TEXT
        assert rest[-1] == first[-1]
        assert len(pipeline.asked) == 1

    def test_restarts_if_it_is_not_finished(self, pipeline):
        first = ask(most=2)

        events = ask(since=first[-1].id)

        assert events[0].data["restarted"] is True
        assert text_of(events) == TEXT

    def test_is_stored_once(self, pipeline, monkeypatch):
        stored = []
        monkeypatch.setattr(cache, "set", lambda key, *args: stored.append(key))

        ask()
        ask(most=2)

        assert len(stored) == 1

    @pytest.mark.parametrize(
        "changed", [{"holder": "another"}, {"question": replace(QUESTION, query="Why?")}]
    )
    def test_is_not_completed_for_another_caller_or_question(self, pipeline, changed):
        first = ask()

        events = ask(since=first[-2].id, **changed)

        assert events[0].kind == "metadata"
        assert events[0].id.answer_id != first[0].id.answer_id

    def test_restarts_if_it_is_no_longer_stored(self, pipeline):
        first = ask()
        cache.clear()

        events = ask(since=first[-2].id)

        assert events[0].data["restarted"] is True

    def test_restarts_for_a_position_beyond_its_end(self, pipeline):
        first = ask()

        events = ask(since=replace(first[1].id, chars=10_000))

        assert kinds(events) == ["metadata", "chunk", "chunk", "chunk", "done"]


class TestAPosition:
    @pytest.mark.parametrize("text", ["", "abc", "abc.", "abc.x", ".5", "a b.5", "a.-1", "a" * 200])
    def test_is_refused_if_it_is_malformed(self, text):
        with pytest.raises(InvalidInput) as refused:
            StreamPosition.parse(text)

        assert refused.value.field == "Last-Event-ID"


def test_an_event_needs_no_id():
    assert AnswerEvent("error", {"code": "x"}).id is None

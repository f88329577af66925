# Made of tests/client/asynchronous/test_streaming.py by `make client`: edit that.
"""Answer streams: complete, interrupted, and abandoned."""

import contextlib
import time

import httpx
import pytest

from strata_client import (
    Chunk,
    Done,
    InvalidRequest,
    Metadata,
    Strata,
    StrataError,
    Unavailable,
)
from strata_client._sync import connection, streaming
from tests.client.scripted import URL, Pieces, Script, event, refuses, streams, streams_from

pytestmark = pytest.mark.anyio

CUT = httpx.RemoteProtocolError("incomplete chunked read")
FOUND = event("metadata", {"hits": [{"text": "Boats leave."}], "index": "plain"}, id="x.0")
BOATS = event("chunk", {"text": "Boats "}, id="x.6")
LEAVE = event("chunk", {"text": "leave."}, id="x.12")
END = event("done", {"citations": [{"number": 1}], "model_name": "a-model"}, id="x.end")


def asking(script: Script) -> Strata:
    return Strata(URL, "a-key", transport=script)


def ids_sent(script: Script) -> list[str | None]:
    return [request.headers.get("Last-Event-ID") for request in script.requests]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    def sleep(seconds):
        assert 0 <= seconds <= 8

    monkeypatch.setattr(connection, "sleep", sleep)
    monkeypatch.setattr(streaming, "sleep", sleep)


class TestAsk:
    def test_yields_metadata_chunks_and_citations(self):
        script = Script(streams(FOUND, BOATS, LEAVE, END))
        with asking(script) as strata:
            events = [event for event in strata.ask("plain", "When?")]

        found, *pieces, done = events
        assert isinstance(found, Metadata)
        assert found.hits[0]["text"] == "Boats leave."
        assert not found.is_restart
        assert pieces == [Chunk("Boats "), Chunk("leave.")]
        assert isinstance(done, Done)
        assert done.citations[0]["number"] == 1

    def test_sends_only_the_given_parameters(self):
        script = Script(streams(FOUND, END))
        with asking(script) as strata:
            for _ in strata.ask("plain", "When?", filter={"year": 2020}, pipeline="papers"):
                pass

        assert script.asked == ["POST ask"]
        assert script.body() == {
            "index": "plain", "query": "When?", "filter": {"year": 2020}, "pipeline": "papers"
        }  # fmt: skip
        assert script.requests[0].headers["Accept"] == "text/event-stream"

    def test_sends_no_request_before_the_first_event_is_read(self):
        script = Script(streams(FOUND, END))
        with asking(script) as strata, strata.ask("plain", "When?"):
            pass

        assert script.asked == []

    def test_ignores_heartbeats_and_unknown_events(self):
        script = Script(streams(b": still here\n\n", FOUND, event("thought", {"a": 1}), END))
        with asking(script) as strata:
            kinds = [type(event) for event in strata.ask("plain", "When?")]

        assert kinds == [Metadata, Done]

    def test_does_not_split_events_at_unicode_line_separators(self):
        piece = "one\u2028two\x85three"
        script = Script(streams(FOUND, event("chunk", {"text": piece}), END))
        with asking(script) as strata:
            events = [event for event in strata.ask("plain", "When?")]

        assert events[1] == Chunk(piece)

    def test_raises_the_error_of_an_error_event(self):
        error = {"code": "language_model_unavailable", "detail": "It is away.", "fix": "Wait."}
        script = Script(streams(FOUND, BOATS, event("error", error), END))
        with asking(script) as strata:
            events = strata.ask("plain", "When?")
            with pytest.raises(Unavailable, match="It is away") as raised:
                for _ in events:
                    pass

        assert (raised.value.code, raised.value.fix) == ("language_model_unavailable", "Wait.")
        assert events.text == "Boats "
        assert len(script.requests) == 1

    def test_raises_an_error_for_a_refused_question(self):
        with asking(Script(refuses(400, field="pipeline"))) as strata:
            with pytest.raises(InvalidRequest) as raised:
                next(strata.ask("plain", "When?", pipeline="none"))

        assert raised.value.field == "pipeline"

    def test_raises_an_error_for_an_event_that_is_not_json(self):
        script = Script(streams(FOUND, b"event: chunk\ndata: {half\n\n", END))
        with asking(script) as strata:
            with pytest.raises(StrataError) as raised:
                for _ in strata.ask("plain", "When?"):
                    pass

        assert raised.value.code == "unexpected_answer"


class TestAnInterruptedAnswer:
    @pytest.mark.parametrize("cut", [(CUT,), (httpx.ReadTimeout("silent"),), ()])
    def test_continues_after_the_last_received_event(self, cut):
        half = LEAVE[:20]
        script = Script(streams(FOUND, BOATS, half, *cut), streams(LEAVE, END))
        with asking(script) as strata:
            events = strata.ask("plain", "When?")
            kinds = [type(event) for event in events]

        assert kinds == [Metadata, Chunk, Chunk, Done]
        assert events.text == "Boats leave."
        assert ids_sent(script) == [None, "x.6"]
        assert script.body(0) == script.body(1)

    def test_is_requested_again_if_no_event_was_received(self):
        script = Script(streams(CUT), streams(FOUND, BOATS, LEAVE, END))
        with asking(script) as strata:
            kinds = [type(event) for event in strata.ask("plain", "When?")]

        assert kinds == [Metadata, Chunk, Chunk, Done]
        assert ids_sent(script) == [None, None]

    def test_keeps_its_position_if_a_resumption_brings_no_piece(self):
        nothing = event("thought", {"about": "boats"})
        script = Script(streams(FOUND, BOATS, CUT), streams(nothing, CUT), streams(LEAVE, END))
        with asking(script) as strata:
            events = strata.ask("plain", "When?")
            for _ in events:
                pass

        assert events.text == "Boats leave."
        assert ids_sent(script) == [None, "x.6", "x.6"]

    def test_restarts_if_the_server_restarts_it(self):
        again = event("metadata", {"hits": [], "restarted": True}, id="y.0")
        script = Script(streams(FOUND, BOATS, CUT), streams(again, LEAVE, END))
        with asking(script) as strata:
            events = strata.ask("plain", "When?")
            restarts = [event.is_restart for event in events if isinstance(event, Metadata)]

        assert restarts == [False, True]
        assert events.text == "leave."

    def test_is_given_up_after_three_resumptions(self):
        script = Script(streams(FOUND, CUT), *(streams(BOATS, CUT) for _ in range(9)))
        with asking(script) as strata:
            with pytest.raises(Unavailable) as raised:
                for _ in strata.ask("plain", "When?"):
                    pass

        assert raised.value.code == "answer_cut"
        assert raised.value.__cause__ is CUT
        assert len(script.requests) == 4


class TestClosing:
    def test_happens_at_the_end_of_the_block(self):
        body = Pieces(FOUND, BOATS, LEAVE, END)
        with asking(Script(streams_from(body))) as strata:
            with strata.ask("plain", "When?") as events:
                assert isinstance(next(events), Metadata)
                assert not body.is_closed

            assert body.is_closed
            with pytest.raises(StopIteration):
                next(events)

    def test_happens_after_leaving_the_loop(self):
        body = Pieces(FOUND, BOATS, LEAVE, END)
        with asking(Script(streams_from(body))) as strata:
            for _ in strata.ask("plain", "When?"):
                break
            time.sleep(0.01)

            assert body.is_closed

    def test_happens_after_an_exception(self):
        body = Pieces(FOUND, BOATS, LEAVE, END)
        with asking(Script(streams_from(body))) as strata:
            with contextlib.suppress(ZeroDivisionError):
                with strata.ask("plain", "When?") as events:
                    for _ in events:
                        raise ZeroDivisionError

            assert body.is_closed

    def test_happens_to_an_interrupted_connection(self):
        cut = Pieces(FOUND, CUT)
        with asking(Script(streams_from(cut), streams(END))) as strata:
            for _ in strata.ask("plain", "When?"):
                pass

        assert cut.is_closed


class TestAnswer:
    def test_returns_the_complete_answer(self):
        with asking(Script(streams(FOUND, BOATS, LEAVE, END))) as strata:
            answer = strata.answer("plain", "When?")

        assert answer == {
            "hits": [{"text": "Boats leave."}], "index": "plain", "answer": "Boats leave.",
            "citations": [{"number": 1}], "model_name": "a-model",
        }  # fmt: skip

    def test_leaves_out_pieces_from_before_a_restart(self):
        again = event("metadata", {"hits": [], "restarted": True}, id="y.0")
        script = Script(streams(FOUND, BOATS, CUT), streams(again, LEAVE, END))
        with asking(script) as strata:
            answer = strata.answer("plain", "When?")

        assert answer["answer"] == "leave."

    def test_is_none_if_the_question_was_refused(self):
        refused = event("metadata", {"relevant": False, "hits": []}, id="x.0")
        end = event("done", {"citations": [], "model_name": None}, id="x.end")
        with asking(Script(streams(refused, end))) as strata:
            answer = strata.answer("plain", "When?")

        assert answer["answer"] is None
        assert answer["relevant"] is False

    def test_raises_an_error_without_a_metadata_event(self):
        with asking(Script(streams(END))) as strata:
            with pytest.raises(StrataError) as raised:
                strata.answer("plain", "When?")

        assert raised.value.code == "unexpected_answer"

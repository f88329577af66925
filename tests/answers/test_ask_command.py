"""The command ``ask``, with the API in this process. It answers in threads of their own, which see
only what is committed."""

import asyncio
import json

import pytest
from django.core.management import CommandError, call_command

from answers.answer_stream import AnswerEvent
from answers.management.commands import ask
from answers.pipelines.answer_synthesiser import EXTRACTIVE_MODEL_NAME, NO_SENTENCE_TEXT
from answers.views import ask as ask_views
from strata_types.examples import HIT as HIT_EXAMPLE
from strata_types.examples import INSTANCE, RELATIONSHIP
from tests.factories import PARAGRAPHS, give, sync
from tests.retrieval.test_api_commands import has_line


@pytest.fixture
def run(build, capsys):
    sync(build, *(give(text, title=f"Note {number}") for number, text in enumerate(PARAGRAPHS)))

    def run(*arguments: str) -> str:
        call_command(*arguments)
        return capsys.readouterr().out

    return run


def event(kind: str, **data) -> tuple[str, dict]:
    return kind, data


class TestPrintedEvents:
    """What ``ask`` prints of the events of an answer."""

    FOUND = event(
        "metadata",
        relevant=True,
        refusal=None,
        notes=["No year."],
        hits=[HIT_EXAMPLE],
        relationships=[],
    )

    def print_events(self, capsys, *events) -> list[str]:
        ask.Command()._print_events(iter(events))
        printed = capsys.readouterr()
        self.notes = printed.err.splitlines()
        return printed.out.splitlines()

    def test_are_an_answer_and_the_cited_passages(self, capsys):
        other = HIT_EXAMPLE | {"text": "Not cited."}
        found = event("metadata", **self.FOUND[1] | {"hits": [other, HIT_EXAMPLE]})
        citations = [{"number": 2, "is_supported": True}]
        end = event("done", citations=citations, notes=["Slowly."], model_name="a-model")
        pieces = event("chunk", text="At sun"), event("chunk", text="set.\x1b[2J [2]")

        lines = self.print_events(capsys, found, *pieces, end)

        assert lines[0] == "At sunset.\N{REPLACEMENT CHARACTER}[2J [2]"
        assert lines[1].startswith("2. Keeper's handbook  page 1")
        assert lines[2:] == ["   The lamp is lit at sunset.", "Written by a-model."]
        assert self.notes == ["No year.", "Slowly."]

    def test_are_relationships_with_their_quotes(self, capsys):
        edge = RELATIONSHIP | {"quotes": [{"number": 1, **INSTANCE}]}
        found = event("metadata", **self.FOUND[1] | {"relationships": [edge]})
        end = event("done", citations=[], notes=[], model_name="a-model")

        lines = self.print_events(capsys, found, event("chunk", text="Fish."), end)

        assert f"Heron -[EATS]-> Fish: “{INSTANCE['quote']}” [1]" in lines

    def test_are_all_passages_where_no_answer_was_written(self, capsys):
        lines = self.print_events(
            capsys, self.FOUND, event("done", citations=[], notes=[], model_name=None)
        )

        assert lines[0] == "No answer was written."
        assert lines[-1] == "   The lamp is lit at sunset."

    def test_are_the_reason_of_a_refusal(self, capsys):
        refusal = {"detail": "It holds nothing about bread.", "fix": "Ask about lamps."}
        found = event("metadata", relevant=False, refusal=refusal, notes=[], hits=[])

        lines = self.print_events(
            capsys, found, event("done", citations=[], notes=[], model_name=None)
        )

        assert lines == ["It holds nothing about bread. Ask about lamps."]

    def test_are_not_called_quoted_where_no_sentence_answers(self, capsys):
        no_sentence = event("chunk", text=NO_SENTENCE_TEXT)
        end = event("done", citations=[], notes=[], model_name=EXTRACTIVE_MODEL_NAME)

        lines = self.print_events(capsys, self.FOUND, no_sentence, end)

        assert lines[0] == NO_SENTENCE_TEXT
        assert "Quoted from the documents." not in lines


@pytest.mark.django_db(transaction=True)
class TestAsk:
    QUESTION = "What does the heron wait for?"
    FOUND = AnswerEvent(
        "metadata",
        {"relevant": True, "refusal": None, "notes": [], "hits": [], "relationships": []},
    )

    def test_prints_the_answer_and_the_passages_it_cites(self, run):
        out = run("ask", self.QUESTION, "--index=plain")
        whole = json.loads(run("ask", self.QUESTION, "--index=plain", "--json"))

        assert out.startswith(f"{whole['answer']}\n")
        numbers = [citation["number"] for citation in whole["citations"]]
        for number in numbers:
            title = whole["hits"][number - 1]["artifact"]["title"]
            assert has_line(out, f"{number}. {title}  page 1")
        assert numbers
        assert out.endswith("Quoted from the documents.\n")

    def test_prints_each_piece_when_it_is_written(self, run, monkeypatch, capsys):
        printed = []

        async def write_answer(question, **given):
            yield self.FOUND
            yield AnswerEvent("chunk", {"text": "It waits "})
            printed.append(capsys.readouterr().out)
            yield AnswerEvent("chunk", {"text": "for fish."})
            printed.append(capsys.readouterr().out)
            yield AnswerEvent("done", {"citations": [], "notes": [], "model_name": "a-model"})

        monkeypatch.setattr(ask_views, "stream_answer", write_answer)

        end = run("ask", self.QUESTION, "--index=plain")

        assert [*printed, end] == ["It waits ", "for fish.", "\nWritten by a-model.\n"]

    def test_names_passages_that_do_not_support_their_sentence(self, run, monkeypatch):
        async def write_answer(question, **given):
            yield self.FOUND
            yield AnswerEvent("chunk", {"text": "Cheese [2]."})
            citation = {"number": 2, "is_supported": False}
            done = {"citations": [citation], "notes": [], "model_name": "a-model"}
            yield AnswerEvent("done", done)

        monkeypatch.setattr(ask_views, "stream_answer", write_answer)

        end = run("ask", self.QUESTION, "--index=plain")

        assert end.endswith("Passage [2] does not support a sentence that cites it.\n")

    def test_stops_the_answer_if_it_is_interrupted(self, run, monkeypatch, caplog):
        stopped = []

        async def write_answer(question, **given):
            try:
                yield self.FOUND
                yield AnswerEvent("chunk", {"text": "It waits "})
            finally:
                await asyncio.sleep(0)  # as for the language model's connection to close
                stopped.append(question)

        def interrupt(text):
            raise KeyboardInterrupt

        monkeypatch.setattr(ask_views, "stream_answer", write_answer)
        monkeypatch.setattr(ask, "strip_control_characters", interrupt)

        with pytest.raises(SystemExit, match="130"):
            run("ask", self.QUESTION, "--index=plain")

        assert len(stopped) == 1
        assert caplog.messages == []

    def test_says_why_it_cannot_answer(self, run):
        with pytest.raises(CommandError, match=r"Allowed: .*plain.*\[unknown_index, field index"):
            run("ask", self.QUESTION, "--index=plian")
        with pytest.raises(CommandError, match=r"papers.*\[unknown_pipeline"):
            run("ask", self.QUESTION, "--index=plain", "--pipeline=nothing")
        with pytest.raises(CommandError, match=r"--filter is not valid JSON.*\[malformed\]"):
            run("ask", self.QUESTION, "--index=plain", "--filter={")

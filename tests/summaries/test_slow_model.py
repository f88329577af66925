"""A language model that writes few tokens a second: what it cannot finish, rules write, and the
document and the commands say so."""

import asyncio
import json
import time
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import pytest

from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.serializers import render_artifacts
from indexing.management import waiting
from indexing.services import plan_nodes, set_build_problem
from language_models import calls
from language_models.exceptions import (
    LanguageModelSilent,
    LanguageModelTooSlow,
    LanguageModelUnavailable,
)
from language_models.pace import Pace
from summaries import services
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary
from summaries.writers import LanguageModelWriter, SummaryInput
from tests.factories import give
from tests.language_models.test_llm import (
    GOOD,
    Handler,
    ask,
    delta,
    endpoint,
    fails,
    hangs,
    make_chunk,
    model,
    says,
)

__all__ = ["endpoint", "model"]  # fixtures


def writes(text: str, tokens_per_second: float) -> Callable[[Handler], None]:
    """Stream the text, a word at a time."""

    def script(handler: Handler) -> None:
        handler.send(200, "", Content_Type="text/event-stream")
        handler.send_event(delta(""))
        for word in text.replace(" ", " \0").split("\0"):
            time.sleep(1 / tokens_per_second)
            handler.send_event(make_chunk({"content": word}))
        handler.send_event(make_chunk({}, "stop"))
        handler.send_event("[DONE]")

    return script


def measured(reading: float, writing: float) -> Pace:
    """Of a model that reads and writes so many tokens a second."""
    pace = Pace()
    pace.add(100, 100 / reading, 100, 100 / writing)
    return pace


class TestACall:
    def test_goes_on_as_long_as_the_model_writes(self, endpoint, model, monkeypatch):
        # On a busy machine, pieces arrive together: each look at this clock takes 50 ms at least.
        ticks = count(step=0.05)
        ticking = SimpleNamespace(monotonic=lambda: time.monotonic() + next(ticks))
        monkeypatch.setattr(calls, "time", ticking)
        endpoint.scripts = [writes(GOOD, 100)]

        assert ask(model).value.default == "a"
        speed = model.pace.get_speed()
        assert speed is not None
        assert speed.writing < 1_000

    def test_ends_at_the_limit_and_says_what_to_set(self, endpoint, model, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 0.2
        endpoint.scripts = [writes(GOOD.replace('"a"', '"' + "a " * 100 + '"'), 50)]

        with pytest.raises(LanguageModelTooSlow, match="did not finish") as caught:
            ask(model)

        assert not caught.value.is_expected
        assert "STRATA_LLM_TIMEOUT_SECONDS" in caught.value.fix
        assert endpoint.broken.wait(30)  # the server need not write the rest
        assert len(endpoint.requests) == 1

    def test_waits_for_the_first_word_as_long_as_the_model_needs_to_read(self, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 300.0

        assert Pace().find_silence_limit(1_000, 1_000) == 300  # not measured yet
        assert measured(reading=1_000, writing=200).find_silence_limit(1_000, 1_000) == 60
        # Four calls of 45 s, since the server may answer one at a time.
        assert measured(reading=40, writing=50).find_silence_limit(1_000, 1_000) == 180
        assert measured(reading=20, writing=4).find_silence_limit(1_000, 1_000) == 300

    def test_for_which_someone_waits_is_left_out_if_it_would_take_longer(self, endpoint, model):
        model.pace = measured(reading=1_000, writing=4)

        with pytest.raises(LanguageModelTooSlow, match=r"4\.0 tokens per second"):
            ask(model, patience_seconds=8)

        assert endpoint.requests == []

    def test_is_made_with_more_patience_after_a_silence(self, endpoint, model):
        endpoint.scripts = [hangs, says(GOOD)]

        with pytest.raises(LanguageModelSilent, match=r"within 0\.1 s"):
            ask(model, patience_seconds=0.1)
        with pytest.raises(LanguageModelSilent):  # the same patience would not do either
            ask(model, patience_seconds=0.1)

        assert ask(model, patience_seconds=30).value.default == "a"
        assert len(endpoint.requests) == 2

    def test_names_the_seconds_that_a_reader_waited(self, endpoint, model, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 400.0
        endpoint.scripts = [hangs]

        async def read() -> None:
            async for _ in model.astream("", "", patience_seconds=0.2):
                pass

        with pytest.raises(LanguageModelUnavailable, match=r"within 0\.2 s"):
            asyncio.run(read())

    def test_does_without_the_count_of_tokens_where_the_endpoint_refuses_it(self, endpoint, model):
        endpoint.scripts = [fails(400, "unknown field stream_options"), says(GOOD)]

        assert ask(model).value.default == "a"
        assert "stream_options" in endpoint.requests[0].body
        assert "stream_options" not in endpoint.requests[1].body


@pytest.mark.django_db
class TestADocument:
    def write(self, build) -> None:
        artifact = give(index="wide")
        plan_nodes(artifact.pk, build)

    def write_batch(self, build) -> str:
        """Return the problem of the build."""
        try:
            services.write_due_texts(build, services.WriteBatchResult())
        except LanguageModelUnavailable as error:
            set_build_problem(build, error, field="writing_problem")
        return build.writing_problem

    def test_is_written_by_rules_if_the_model_cannot_finish(self, wide, endpoint, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 1.0
        endpoint.scripts = [writes(json.dumps({"summary": "tide " * 500}), 50)]
        self.write(wide)

        assert self.write_batch(wide) == ""

        page = Summary.objects.of_pages().get()
        assert (page.state, page.model_name) == ("written", EXTRACTIVE_MODEL_NAME)
        [shown] = render_artifacts(get_catalog().with_status(Artifact.objects.all()))
        [warning] = shown["warnings"]
        assert warning["code"] == "texts_by_rules"
        assert "did not finish within 1 s" in warning["detail"]
        assert "Set STRATA_LLM_TIMEOUT_SECONDS" in warning["detail"]

    def test_is_written_by_rules_if_the_model_stays_silent_at_two_attempts(
        self, wide, endpoint, settings
    ):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 0.1
        endpoint.scripts = [hangs]
        self.write(wide)

        assert "Set STRATA_LLM_TIMEOUT_SECONDS" in self.write_batch(wide)
        page = Summary.objects.of_pages().get()
        assert (page.state, page.attempts) == ("due", 1)
        assert "wrote nothing within 0.1 s" in page.last_error

        self.write_batch(wide)
        page.refresh_from_db()
        assert (page.state, page.model_name) == ("written", EXTRACTIVE_MODEL_NAME)

    def test_is_written_one_text_at_a_time(self, wide, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 4
        model.pace = measured(reading=100, writing=4)
        endpoint.scripts = [writes(json.dumps({"summary": "The tide comes in."}), 500)]
        texts = {n: SummaryInput([f"The tide comes in at {n}."], True) for n in range(4)}

        outcomes = list(LanguageModelWriter().summarise(texts, wide.spec))

        assert {outcome.value.model_name for outcome in outcomes} == {"a-model"}

    def test_is_waited_for_with_a_line_about_what_is_written(
        self, wide, monkeypatch, settings, capsys
    ):
        settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = "http://127.0.0.1:9/v1", "m"
        monkeypatch.setattr(waiting, "REPORT_SECONDS", 0.0)
        self.write(wide)
        left = iter([1, 1, 0])

        waiting._wait_until_none_left("wide", "Regenerating wide", lambda: next(left))

        assert "Regenerating wide: 1 left. 3 texts wait for the language model." in (
            capsys.readouterr().err
        )

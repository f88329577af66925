"""Tests of the asynchronous client only: cancelled tasks and a blocked event loop."""

import asyncio
import os
import threading

import pytest

from strata_client import AsyncStrata, Metadata
from tests.client.scripted import URL, Pieces, Script, answers, event, streams_from

pytestmark = pytest.mark.anyio

FOUND = event("metadata", {"hits": []}, id="x.0")
PATIENCE_SECONDS = 0.05
RESCUE_SECONDS = 20


class Unending(Pieces):
    """Sends one piece, and then nothing."""

    async def __aiter__(self):
        for piece in self:
            yield piece
        await asyncio.Event().wait()


class TestACancelledTask:
    @pytest.mark.parametrize("in_a_block", [True, False])
    async def test_closes_its_stream(self, in_a_block):
        body = Unending(FOUND)
        seen = []
        async with AsyncStrata(URL, transport=Script(streams_from(body))) as strata:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await listen(strata, seen, in_a_block)
            await asyncio.sleep(0)

            assert [type(event) for event in seen] == [Metadata]
            assert body.is_closed


async def listen(strata, seen, in_a_block) -> None:
    if in_a_block:
        async with strata.ask("plain", "When?") as events:
            async for event in events:
                seen.append(event)
    else:
        async for event in strata.ask("plain", "When?"):
            seen.append(event)


class TestEventLoop:
    async def test_is_not_blocked_while_a_file_is_read(self, tmp_path):
        slow = tmp_path / "slow.txt"
        os.mkfifo(slow)  # reading blocks until something is written
        script = Script(answers(202, {"id": "a1"}))
        async with AsyncStrata(URL, transport=script) as strata:
            adding = asyncio.create_task(strata.add("plain", file=slow))
            # Ends the reading if it blocks the loop.
            rescue = threading.Timer(RESCUE_SECONDS, slow.write_bytes, [b"Too late."])
            rescue.start()
            for _ in range(5):
                await asyncio.sleep(0.001)
            assert not adding.done()
            rescue.cancel()
            await asyncio.to_thread(slow.write_bytes, b"Tides turn.")
            await adding

        assert b"Tides turn." in script.requests[0].content

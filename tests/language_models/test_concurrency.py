"""Which call of the language model gets the next slot."""

import asyncio
from threading import Thread

import pytest

from language_models.concurrency import FairSemaphore
from language_models.exceptions import LanguageModelUnavailable


@pytest.fixture
def semaphore(settings):
    settings.STRATA_LLM_CONCURRENCY = 1
    return FairSemaphore()


class TestSlots:
    def test_go_to_questions_before_earlier_background_calls(self, semaphore):
        order = []

        def call(name: str, goes_first: bool) -> None:
            with semaphore.hold_slot(goes_first=goes_first):
                order.append(name)

        calls = [
            Thread(target=call, args=each)
            for each in (("summary", False), ("extraction", False), ("question", True))
        ]
        with semaphore.hold_slot(goes_first=False):
            for count, each in enumerate(calls, start=1):
                each.start()
                while len(semaphore._waiting) + len(semaphore._waiting_first) < count:
                    pass
        for each in calls:
            each.join()

        assert order == ["question", "summary", "extraction"]

    def test_are_waited_for_only_as_long_as_the_caller_has_patience(self, semaphore):
        with (
            semaphore.hold_slot(goes_first=False),
            pytest.raises(LanguageModelUnavailable, match="busy with other calls"),
            semaphore.hold_slot(goes_first=True, max_seconds=0.01),
        ):
            pass

        with semaphore.hold_slot(goes_first=True, max_seconds=0.01):
            pass  # the caller that gave up left no slot taken

    @pytest.mark.parametrize("turns", range(6))
    def test_are_free_again_if_the_caller_leaves_as_it_gets_one(self, semaphore, turns):
        """``turns``: of the event loop between the slot that becomes free and the cancellation."""

        async def hold_for_ever() -> None:
            async with semaphore.ahold_slot(max_seconds=30):
                await asyncio.Event().wait()

        async def leave() -> None:
            with semaphore.hold_slot(goes_first=False):
                call = asyncio.create_task(hold_for_ever())
                await asyncio.sleep(0.01)
            for _ in range(turns):
                await asyncio.sleep(0)
            call.cancel()
            done, _ = await asyncio.wait([call], timeout=5)
            assert done == {call}
            assert call.cancelled()

        asyncio.run(leave())

        with semaphore.hold_slot(goes_first=True, max_seconds=0.01):
            pass

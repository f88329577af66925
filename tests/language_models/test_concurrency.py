"""Which call of the language model gets the next slot."""

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

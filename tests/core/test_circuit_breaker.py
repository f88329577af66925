import pytest

from core import circuit_breaker
from core.circuit_breaker import CircuitBreaker
from core.exceptions import StrataError


class Outage(StrataError):
    """It did not answer."""


class Busy(Outage):
    """All slots are taken."""


@pytest.fixture
def breaker() -> CircuitBreaker:
    return CircuitBreaker(Outage, except_for=(Busy,))


def fail(breaker: CircuitBreaker, error: Exception) -> None:
    with pytest.raises(type(error)), breaker.guarding():
        raise error


def test_fails_at_once_after_an_outage(breaker):
    fail(breaker, Outage())

    with pytest.raises(Outage, match="It did not answer"), breaker.guarding():
        pytest.fail("It was called.")


@pytest.mark.parametrize("error", [Busy(), ValueError("a defect")])
def test_is_not_opened_by_other_errors(breaker, error):
    fail(breaker, error)

    with breaker.guarding():
        pass


def test_tries_again_after_the_pause(breaker, monkeypatch):
    fail(breaker, Outage())
    now = circuit_breaker.time.monotonic() + circuit_breaker.PAUSE_SECONDS
    monkeypatch.setattr(circuit_breaker.time, "monotonic", lambda: now)

    with breaker.guarding():
        pass

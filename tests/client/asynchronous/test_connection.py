"""Errors and retries."""

import httpx
import pytest

from strata_client import (
    AccessDenied,
    AsyncStrata,
    Conflict,
    InvalidRequest,
    NotFound,
    StrataError,
    TooManyRequests,
    Unavailable,
)
from strata_client._async import connection
from tests.client.scripted import URL, Script, answers, refuses

pytestmark = pytest.mark.anyio

REFUSED = httpx.ConnectError("refused")
CUT = httpx.ReadError("cut")
INDEX = answers(200, {"name": "plain"})
VERDICTS = answers(200, {"verdicts": []})
ITEM = {"url": "https://a.example", "content": "Tides turn."}


def asking(script: Script, **options) -> AsyncStrata:
    return AsyncStrata(URL, "a-key", transport=script, **options)


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """Record the seconds of sleep instead of sleeping."""
    slept: list[float] = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(connection, "sleep", sleep)
    return slept


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "error_class"),
        [
            (400, InvalidRequest), (413, InvalidRequest), (422, InvalidRequest),
            (401, AccessDenied), (403, AccessDenied), (404, NotFound), (409, Conflict),
            (429, TooManyRequests), (503, Unavailable), (507, Unavailable), (500, StrataError),
        ],
    )  # fmt: skip
    async def test_have_a_class_for_each_status(self, status, error_class):
        async with asking(Script(refuses(status)), retries=0) as strata:
            with pytest.raises(StrataError) as raised:
                await strata.indexes()

        assert type(raised.value) is error_class
        assert raised.value.status == status

    async def test_have_the_fields_of_the_response(self):
        said = {"field": "mode", "allowed": ["dense", "sparse"], "fix": "Take one of them."}
        async with asking(Script(refuses(400, "invalid", **said))) as strata:
            with pytest.raises(InvalidRequest) as raised:
                await strata.search("plain", "tides")

        error = raised.value
        assert (error.code, error.field, error.allowed) == ("invalid", "mode", ["dense", "sparse"])
        assert str(error) == (
            "It cannot be done. Allowed: dense, sparse. Take one of them. (invalid, field mode)"
        )

    async def test_have_the_time_until_a_retry(self):
        async with asking(Script(refuses(429, retry_after="7")), retries=0) as strata:
            with pytest.raises(TooManyRequests) as raised:
                await strata.indexes()

        assert raised.value.retry_after == 7
        assert raised.value.is_retryable

    async def test_are_raised_for_responses_of_a_proxy(self):
        page = httpx.Response(502, html="<h1>Bad gateway</h1>")
        async with asking(Script(page), retries=0) as strata:
            with pytest.raises(Unavailable, match="502 Bad Gateway is not from Strata") as raised:
                await strata.indexes()

        assert raised.value.code == "http_error"

    async def test_are_raised_for_responses_that_are_not_json(self):
        async with asking(Script(httpx.Response(200, html="<h1>Hello</h1>"))) as strata:
            with pytest.raises(StrataError) as raised:
                await strata.indexes()

        assert raised.value.code == "unexpected_answer"

    @pytest.mark.parametrize(
        ("cause", "code"),
        [(REFUSED, "unreachable"), (CUT, "cut"), (httpx.ReadTimeout("slow"), "timeout")],
    )
    async def test_name_the_cause_of_a_missing_response(self, cause, code):
        async with asking(Script(cause), retries=0) as strata:
            with pytest.raises(Unavailable) as raised:
                await strata.indexes()

        assert raised.value.code == code
        assert raised.value.status is None
        assert raised.value.__cause__ is cause


class TestBaseUrl:
    async def test_is_requested_with_the_key(self):
        script = Script(INDEX)
        async with asking(script) as strata:
            await strata.index("plain")

        [request] = script.requests
        assert str(request.url) == "http://strata.test/api/v1/indexes/plain/"
        assert request.headers["Authorization"] == "Bearer a-key"

    async def test_is_read_from_the_environment(self, monkeypatch):
        monkeypatch.setenv("STRATA_URL", "https://strata.test/below/")
        monkeypatch.setenv("STRATA_KEY", "theirs")
        script = Script(INDEX)
        async with AsyncStrata(transport=script) as strata:
            await strata.index("plain")

        [request] = script.requests
        assert str(request.url) == "https://strata.test/below/api/v1/indexes/plain/"
        assert request.headers["Authorization"] == "Bearer theirs"

    @pytest.mark.parametrize(
        "url", ["strata.test", "ftp://strata.test", "http://", "http://strata:port"]
    )
    def test_that_is_not_a_url_is_refused_at_once(self, url):
        with pytest.raises(InvalidRequest) as raised:
            AsyncStrata(url)

        assert raised.value.field == "base_url"

    @pytest.mark.parametrize("key", ["schlüssel", "a\nkey"])
    def test_is_refused_with_a_key_that_a_header_cannot_hold(self, key):
        with pytest.raises(InvalidRequest) as raised:
            AsyncStrata(URL, key)

        assert raised.value.field == "key"
        assert key not in str(raised.value)

    async def test_is_shown_without_the_key(self):
        async with AsyncStrata(URL, "secret") as strata:
            assert repr(strata) == f"{type(strata).__name__}('http://strata.test')"

    async def test_is_followed_by_escaped_names(self):
        script = Script(INDEX)
        async with asking(script) as strata:
            await strata.index("../verify?x")

        assert script.asked == ["GET indexes/..%2Fverify%3Fx/"]


class TestARequest:
    @pytest.mark.parametrize("fault", [CUT, REFUSED, refuses(503), refuses(502), refuses(504)])
    async def test_that_reads_is_retried(self, fault, waits):
        script = Script(fault, INDEX)
        async with asking(script) as strata:
            assert (await strata.index("plain"))["name"] == "plain"

        assert len(script.requests) == 2
        assert 0 <= waits[0] <= 0.5

    async def test_that_adds_is_retried_with_the_same_body(self):
        script = Script(CUT, answers(202, {"id": "a1"}))
        async with asking(script) as strata:
            await strata.add("plain", text="Tides turn.", external_id="tides")

        first, second = script.requests
        assert first.content == second.content

    async def test_that_adds_a_file_is_retried_with_the_whole_file(self):
        script = Script(CUT, answers(202, {"id": "a1"}))
        async with asking(script) as strata:
            await strata.add("plain", file=("tides.txt", b"Tides turn."))

        assert [b"Tides turn." in request.content for request in script.requests] == [True, True]

    @pytest.mark.parametrize("fault", [CUT, refuses(503), refuses(502)])
    async def test_that_is_not_idempotent_is_not_retried(self, fault):
        script = Script(fault, VERDICTS)
        async with asking(script) as strata:
            with pytest.raises(Unavailable):
                await strata.evidence.add("evidence", ITEM)

        assert len(script.requests) == 1

    @pytest.mark.parametrize(
        "fault", [REFUSED, refuses(503, retry_after="3"), refuses(429, retry_after="3")]
    )
    async def test_that_the_server_did_not_accept_is_always_retried(self, fault):
        script = Script(fault, VERDICTS)
        async with asking(script) as strata:
            await strata.evidence.add("evidence", ITEM)

        assert len(script.requests) == 2

    async def test_is_retried_after_the_time_that_the_server_names(self, waits):
        async with asking(Script(refuses(503, retry_after="3"), INDEX)) as strata:
            await strata.index("plain")

        [wait] = waits
        assert 3 <= wait <= 3.5

    async def test_is_not_retried_after_a_long_retry_after(self, waits):
        async with asking(Script(refuses(503, retry_after="3600"), INDEX)) as strata:
            with pytest.raises(Unavailable) as raised:
                await strata.index("plain")

        assert raised.value.retry_after == 3600
        assert waits == []

    @pytest.mark.parametrize(
        "fault",
        [httpx.ReadTimeout("slow"), refuses(400), refuses(404), refuses(500, "server_error")],
    )
    async def test_is_not_retried_after_errors_that_remain(self, fault):
        script = Script(fault, INDEX)
        async with asking(script) as strata:
            with pytest.raises(StrataError):
                await strata.index("plain")

        assert len(script.requests) == 1

    async def test_is_given_up_after_the_allowed_retries(self, waits):
        script = Script(refuses(503))
        async with asking(script, retries=4) as strata:
            with pytest.raises(Unavailable):
                await strata.index("plain")

        assert len(script.requests) == 5
        assert len(waits) == 4

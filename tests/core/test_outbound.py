import asyncio
import re
import socket
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from core.connections import PrivateAddressRefused
from core.outbound import AnswerEncoded, AnswerTooLong, make_async_client, make_client, read_json
from tests.hostile import SlowNames, hostile_host
from tests.serving import ROOT


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:9/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = f"{self.headers['Host']} {body.decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def receiving():
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def resolve(monkeypatch):
    """Lets every name resolve to these addresses, in turn for each look-up."""
    original = socket.getaddrinfo

    def set_addresses(*turns: list[str]) -> None:
        left = list(turns)

        def getaddrinfo(host, port, *args, **options):
            if host != "hook.example":
                return original(host, port, *args, **options)
            addresses = left.pop(0) if len(left) > 1 else left[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in addresses]

        monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)

    return set_addresses


@pytest.fixture(autouse=True)
def environ(monkeypatch):
    """Sets the variables of proxies; none is set before."""
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)

    def set_variables(variables: dict[str, str]) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_variables


def post(url: str) -> str:
    with make_client(max_bytes=10_000, timeout=5) as client:
        return client.post(url, content=b"event").text


async def apost(url: str) -> str:
    async with make_async_client(max_bytes=10_000, timeout=5) as client:
        return (await client.post(url, content=b"event")).text


@pytest.fixture(params=["sync", "async"])
def send(request):
    return post if request.param == "sync" else lambda url: asyncio.run(apost(url))


@pytest.fixture
def host():
    with hostile_host() as host:
        yield host


@pytest.fixture
def slow_names(monkeypatch):
    names = SlowNames()
    monkeypatch.setattr("socket.getaddrinfo", names)
    yield names
    names.is_over.set()


@pytest.fixture(params=["sync", "async"])
def get(request):
    """Asks a host for at most 1,000 bytes, for at most 0.3 seconds."""
    bounds = {"max_bytes": 1_000, "timeout": 0.3}

    def get_now(url: str) -> httpx.Response:
        with make_client(**bounds) as client:
            return client.get(url)

    async def get_on_loop(url: str) -> httpx.Response:
        async with make_async_client(**bounds) as client:
            return await client.get(url)

    return get_now if request.param == "sync" else lambda url: asyncio.run(get_on_loop(url))


class TestAnswers:
    def test_are_refused_if_they_are_encoded(self, host, get):
        host.attack = "bomb"

        with pytest.raises(AnswerEncoded, match="encoded, as 'gzip, gzip'"):
            get(host.url)

        assert host.encodings == ["identity"]

    def test_are_refused_once_they_are_too_long(self, host, get):
        host.attack = "long"

        with pytest.raises(AnswerTooLong, match="longer than 1,000 bytes"):
            get(host.url)

    @pytest.mark.parametrize("attack", ["slow header", "slow body"])
    def test_must_end_in_the_time_of_the_whole_request(self, host, get, attack):
        host.attack = attack

        with pytest.raises(httpx.ReadTimeout):
            get(host.url)

        assert not host.has_ended.is_set()

    def test_may_take_longer_than_a_step_if_the_request_may(self, host):
        host.attack = "slow body"

        with make_client(max_bytes=1_000, timeout=0.3, seconds=60) as client:
            assert client.get(host.url).json() == {}

    def test_of_names_are_waited_for_only_in_the_time_of_the_request(self, slow_names, get):
        with pytest.raises(httpx.TimeoutException):
            get("http://slow.example/")

        assert not slow_names.has_answered.is_set()

    def test_with_deep_json_are_not_valid(self, host):
        host.attack = "nested"

        with (
            make_client(max_bytes=10**6, timeout=60) as client,
            pytest.raises(ValueError, match="too deeply"),
        ):
            read_json(client.get(host.url))


class TestClients:
    @pytest.mark.parametrize(
        "address",
        ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "::1", "::ffff:10.0.0.1",
         "0.0.0.0", "100.64.0.1", "224.0.0.1", "fe80::1"],
    )  # fmt: skip
    def test_refuse_a_name_with_a_private_address(self, settings, resolve, send, address):
        settings.STRATA_PRIVATE_HOSTS = ["localhost"]
        resolve(["93.184.215.14", address])

        with pytest.raises(
            PrivateAddressRefused, match=r"Add hook\.example to STRATA_PRIVATE_HOSTS"
        ):
            send("http://hook.example/")

    def test_refuse_a_private_address_itself(self, settings, send):
        settings.STRATA_PRIVATE_HOSTS = []

        with pytest.raises(PrivateAddressRefused, match=r"127\.0\.0\.1 has the private address"):
            send("http://127.0.0.1:9/")

    @pytest.mark.parametrize(
        "variables",
        [
            {"NO_PROXY": "elsewhere.example"},
            {"HTTPS_PROXY": "http://127.0.0.1:9"},
            {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "hook.example"},
            {"ALL_PROXY": "127.0.0.1:9", "NO_PROXY": ".example"},
        ],
    )
    def test_refuse_a_private_address_to_which_no_proxy_leads(
        self, settings, resolve, environ, send, variables
    ):
        settings.STRATA_PRIVATE_HOSTS = []
        resolve(["10.1.2.3"])
        environ(variables)

        with pytest.raises(PrivateAddressRefused):
            send("http://hook.example/")

    def test_for_strangers_refuse_a_private_host_also_behind_a_proxy(
        self, settings, resolve, environ
    ):
        settings.STRATA_PRIVATE_HOSTS = ["hook.example"]
        resolve(["10.1.2.3"])

        with receiving() as port:
            for variables in ({}, {"HTTP_PROXY": f"127.0.0.1:{port}"}):
                environ(variables)
                with (
                    make_client(max_bytes=1_000, timeout=5, may_be_private=False) as client,
                    pytest.raises(PrivateAddressRefused),
                ):
                    client.get("http://hook.example/")

    def test_let_a_proxy_of_the_environment_decide(self, settings, resolve, environ, send):
        settings.STRATA_PRIVATE_HOSTS = []
        resolve(["10.1.2.3"])

        with receiving() as port:
            environ({"HTTP_PROXY": f"127.0.0.1:{port}"})

            assert send("http://hook.example/") == "hook.example event"

    def test_refuse_a_redirect_from_a_proxied_url_to_a_private_address(self, settings, environ):
        settings.STRATA_PRIVATE_HOSTS = []

        with receiving() as port:
            environ({"HTTP_PROXY": f"http://127.0.0.1:{port}", "NO_PROXY": "127.0.0.1"})

            with (
                make_client(max_bytes=10_000, timeout=5, follow_redirects=True) as client,
                pytest.raises(PrivateAddressRefused),
            ):
                client.get("http://hook.example/")

    def test_reach_an_allowed_private_host_with_its_own_host_header(self, settings, resolve, send):
        settings.STRATA_PRIVATE_HOSTS = ["hook.example"]
        resolve(["127.0.0.1"])

        with receiving() as port:
            assert send(f"http://hook.example:{port}/") == f"hook.example:{port} event"

    def test_connect_to_the_address_that_was_checked(self, settings, resolve, send):
        """A second look-up would give an address where nothing listens."""
        settings.STRATA_PRIVATE_HOSTS = ["hook.example"]
        resolve(["127.0.0.1"], ["127.0.0.2"])

        with receiving() as port:
            assert send(f"http://hook.example:{port}/") == f"hook.example:{port} event"

    def test_try_the_next_address_if_one_refuses(self, settings, resolve, send):
        settings.STRATA_PRIVATE_HOSTS = ["hook.example"]
        resolve(["127.0.0.2", "127.0.0.1"])

        with receiving() as port:
            assert send(f"http://hook.example:{port}/") == f"hook.example:{port} event"

    def test_report_that_a_name_does_not_resolve(self, monkeypatch, send):
        def fail(*args, **options):
            raise socket.gaierror("Name or service not known")

        monkeypatch.setattr("socket.getaddrinfo", fail)

        with pytest.raises(httpx.ConnectError, match=r"hook\.example cannot be resolved"):
            send("http://hook.example/")


# Modules that ask this service, or the vector store that it shares its data with.
OF_THIS_SERVICE = {
    "config/management/commands/doctor.py",
    "core/api_client.py",
    "mcp_server/endpoint.py",
    "core/outbound.py",
    "core/running_server.py",
    "mcp_server/management/commands/mcp.py",
    "mcp_server/server.py",
}
SENDING = re.compile(
    r"httpx\.(Async)?Client\(|httpx\.(get|post|put|stream|request)\("
    r"|urlopen|HTTPS?Connection\("
)


def test_no_other_module_makes_clients():
    """Each reader of what another host answers is bounded, because the client is."""
    tracked = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    apart = ("benchmarks/", "client/", "demo/", "tests/", "weights/")
    product = [ROOT / name for name in tracked if not name.startswith(apart)]

    found = {
        str(path.relative_to(ROOT))
        for path in product
        if path.exists() and SENDING.search(path.read_text("utf-8"))
    }

    assert found == OF_THIS_SERVICE

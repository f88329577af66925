import asyncio
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from core.outbound import PrivateAddressRefused, make_async_client, make_client


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

        monkeypatch.setattr("core.outbound.socket.getaddrinfo", getaddrinfo)

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
    with make_client(timeout=5) as client:
        return client.post(url, content=b"event").text


async def apost(url: str) -> str:
    async with make_async_client(timeout=5) as client:
        return (await client.post(url, content=b"event")).text


@pytest.fixture(params=["sync", "async"])
def send(request):
    return post if request.param == "sync" else lambda url: asyncio.run(apost(url))


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
                make_client(timeout=5, follow_redirects=True) as client,
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

        monkeypatch.setattr("core.outbound.socket.getaddrinfo", fail)

        with pytest.raises(httpx.ConnectError, match=r"hook\.example cannot be resolved"):
            send("http://hook.example/")

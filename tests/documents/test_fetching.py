"""Documents that are fetched by their address, from a server on loopback."""

import gzip
import http.server
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from documents import fetching
from documents.exceptions import AddressUnavailable
from documents.fetching import fetch_file
from documents.models import Artifact
from documents.parsing import add_missing_suffix
from tests.clients import client_with_key
from tests.hostile import SlowNames, hostile_host

pytestmark = pytest.mark.django_db

ARTIFACTS = "/api/v1/indexes/plain/artifacts/"


class Site:
    """Answers a path with its status, headers and body; each has its own ``Content-Length``."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self.is_over = threading.Event()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                if self.path == "/drip":
                    return site.drip(self)
                status, headers, body = site.pages.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                return None

            def log_message(self, *args: object) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def drip(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        """Send one byte of a header after the other, for longer than the test waits."""
        while not self.is_over.wait(0.05):
            try:
                handler.wfile.write(b"H")
            except OSError:
                return

    def close(self) -> None:
        self.is_over.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site(settings, tmp_path) -> Iterator[Site]:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    site = Site()
    settings.STRATA_FETCH_HOSTS = [site.url.removeprefix("http://")]
    site.pages["/herons.md"] = (200, {"Content-Type": "text/markdown"}, b"# Herons\n\nThey wait.")
    yield site
    site.close()


def give(**body: Any):
    return client_with_key().post(ARTIFACTS, body, format="json")


def fail(url: str) -> tuple[str, str, str]:
    with pytest.raises(AddressUnavailable) as refused:
        fetch_file(url)
    return refused.value.code, refused.value.detail, str(refused.value.fix)


def list_incoming(settings) -> list[str]:
    return [path.name for path in settings.STRATA_FILES_DIR.glob("incoming-*")]


class TestAddByAddress:
    def test_adds_the_file_with_its_address_as_the_external_id(self, build, site):
        answer = give(url=f"{site.url}/herons.md", metadata={"kind": "bird"})

        assert answer.status_code == 202
        document = Artifact.objects.get()
        assert (document.file_name, document.url) == ("herons.md", f"{site.url}/herons.md")
        assert document.external_id == document.url
        assert document.metadata == {"kind": "bird"}

    def test_replaces_the_document_when_its_page_has_changed(self, build, site):
        address = f"{site.url}/herons.md"
        first = give(url=address).json()
        again = give(url=address)
        site.pages["/herons.md"] = (200, {}, b"# Herons\n\nThey fly.")

        changed = give(url=address)

        assert (again.status_code, changed.status_code) == (200, 202)
        assert again.json()["id"] == changed.json()["id"] == first["id"]
        assert changed.json()["sha256"] != first["sha256"]

    def test_does_not_fetch_where_a_text_is_given(self, build, site):
        answer = give(url=f"{site.url}/herons.md", text="Herons wait.")

        assert (answer.status_code, site.asked) == (202, [])

    def test_is_refused_with_the_allowed_hosts_and_a_fix(self, build, site, settings):
        settings.STRATA_FETCH_HOSTS = ["docs.example", "*.wiki.example"]

        answer = give(url=f"{site.url}/herons.md")

        error = answer.json()
        assert (answer.status_code, error["code"], error["field"]) == (400, "invalid", "url")
        assert error["allowed"] == ["*.wiki.example", "docs.example"]
        assert "STRATA_FETCH_HOSTS" in error["fix"]
        assert not site.asked

    def test_is_off_unless_a_host_is_named(self, build, site, settings):
        settings.STRATA_FETCH_HOSTS = []

        assert give(url=f"{site.url}/herons.md").status_code == 400
        assert not site.asked

    def test_checks_metadata_before_it_fetches(self, build, site):
        answer = give(url=f"{site.url}/herons.md", metadata=["bird"])

        assert (answer.status_code, site.asked) == (400, [])

    def test_without_an_answer_now_is_503(self, build, site):
        site.pages["/late"] = (503, {}, b"")

        answer = give(url=f"{site.url}/late")

        assert (answer.status_code, answer.json()["code"]) == (503, "address_unavailable")
        assert "Retry-After" in answer.headers


class TestFetchFile:
    @pytest.mark.parametrize(
        ("url", "said"),
        [
            ("ftp://127.0.0.1/herons", "http or https"),
            ("http://user:secret@127.0.0.1/", "without a password"),
            ("http://127.0.0.1:port/", "not valid: Invalid port"),
            ("http://127.0.0.1/", "not fetched from '127.0.0.1'"),
            ("http://127.0.0.1:22/", "not fetched from '127.0.0.1:22'"),
            ("http://other.example/", "not fetched from 'other.example'"),
            ("http:///herons", "not fetched from ''"),
        ],
    )
    def test_refuses_an_address(self, site, url, said):
        with pytest.raises(Exception, match=said) as refused:
            fetch_file(url)

        assert refused.value.code == "invalid"

    @pytest.mark.parametrize("location", ["http://other.example/", "file:///etc/passwd", "//x/"])
    def test_checks_where_a_redirect_leads(self, site, location):
        site.pages["/away"] = (302, {"Location": location}, b"")

        with pytest.raises(Exception, match=r"http or https|not fetched from") as refused:
            fetch_file(f"{site.url}/away")

        assert refused.value.code == "invalid"

    def test_follows_redirects_and_is_named_after_the_last(self, site):
        site.pages["/old"] = (301, {"Location": "/herons.md"}, b"")

        content = fetch_file(f"{site.url}/old")

        assert content.file_name == "herons.md"
        assert content.path.read_bytes() == b"# Herons\n\nThey wait."

    def test_gives_up_a_loop(self, site):
        site.pages["/loop"] = (302, {"Location": "/loop"}, b"")

        with pytest.raises(Exception, match="redirects more than 5 times"):
            fetch_file(f"{site.url}/loop")

        assert len(site.asked) == 6

    @pytest.mark.parametrize(
        ("entry", "url"),
        [
            ("docs.example", "http://docs.example/"),
            ("docs.example", "https://docs.example/"),
            ("docs.example", "https://docs.example:443/"),
            ("docs.example", "https://DOCS.example/"),
            ("docs.example:8443", "https://docs.example:8443/"),
            ("docs.example:443", "https://docs.example/"),
            ("*.wiki.example", "http://a.wiki.example/"),
            ("*.wiki.example:8080", "http://a.wiki.example:8080/"),
            ("*", "https://docs.example/"),
            ("*:8080", "http://docs.example:8080/"),
            ("[2001:db8::1]", "http://[2001:db8::1]/"),
            ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080/"),
        ],
    )
    def test_allows_an_address_of_the_setting(self, settings, entry, url):
        settings.STRATA_FETCH_HOSTS = [entry]

        assert fetching._check(url)

    @pytest.mark.parametrize(
        ("entry", "url"),
        [
            ("docs.example", "http://docs.example:8080/"),
            ("docs.example", "http://docs.example:443/"),
            ("docs.example", "https://docs.example:80/"),
            ("docs.example:8443", "https://docs.example/"),
            ("docs.example:8443", "https://docs.example:8444/"),
            ("*.wiki.example", "http://a.wiki.example:8080/"),
            ("*", "http://docs.example:22/"),
            ("[2001:db8::1]", "http://[2001:db8::1]:22/"),
        ],
    )
    def test_refuses_other_ports(self, settings, entry, url):
        settings.STRATA_FETCH_HOSTS = [entry]

        with pytest.raises(Exception, match="not fetched from") as refused:
            fetching._check(url)

        assert refused.value.code == "invalid"

    def test_says_the_same_of_ports_that_are_closed_and_those_that_do_not_answer(
        self, settings, monkeypatch
    ):
        monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.3)
        with socket.create_server(("127.0.0.1", 0)) as once_open:
            closed = f"127.0.0.1:{once_open.getsockname()[1]}"
        with socket.create_server(("127.0.0.1", 0)) as silent, hostile_host() as slow:
            places = [
                closed,
                f"127.0.0.1:{silent.getsockname()[1]}",
                slow.url.removeprefix("http://"),
                "no-such-host.invalid",
            ]
            settings.STRATA_FETCH_HOSTS = places

            answers = [fail(f"http://{place}/a.md") for place in places]

        assert len(set(answers)) == 1, answers

    def test_refuses_a_private_address_of_an_allowed_host(self, site, settings):
        settings.STRATA_PRIVATE_HOSTS = []

        with pytest.raises(Exception, match="in a private network") as refused:
            fetch_file(f"{site.url}/herons.md")

        assert refused.value.code == "invalid"
        assert not site.asked

    def test_refuses_an_encoded_file(self, site, settings):
        site.pages["/herons.md"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"# Herons"))

        with pytest.raises(Exception, match="encoded, as 'gzip'") as refused:
            fetch_file(f"{site.url}/herons.md")

        assert refused.value.code == "invalid"
        assert list_incoming(settings) == []

    def test_does_not_wait_for_a_name_longer_than_for_a_file(self, settings, monkeypatch):
        settings.STRATA_FETCH_HOSTS = ["slow.example"]
        names = SlowNames()
        monkeypatch.setattr("socket.getaddrinfo", names)
        monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.3)

        fail("http://slow.example/")

        assert not names.has_answered.is_set()
        names.is_over.set()

    def test_does_not_take_any_host_for_one_with_a_private_address(self, site, settings):
        settings.STRATA_PRIVATE_HOSTS = ["127.0.0.1"]
        settings.STRATA_FETCH_HOSTS = ["*"]

        with pytest.raises(Exception, match="not fetched from"):
            fetch_file(f"{site.url}/herons.md")

        assert not site.asked

    def test_stops_at_the_largest_upload(self, site, settings):
        settings.STRATA_MAX_UPLOAD_BYTES = 1_000
        site.pages["/long.txt"] = (200, {}, b"x" * 2_000)

        with pytest.raises(Exception, match="larger") as refused:
            fetch_file(f"{site.url}/long.txt")

        assert (refused.value.code, refused.value.field) == ("too_large", "url")
        assert list_incoming(settings) == []

    def test_stops_when_the_time_is_over(self, site, monkeypatch):
        monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.3)

        with pytest.raises(AddressUnavailable, match="did not send the document"):
            fetch_file(f"{site.url}/drip")

    def test_leaves_no_file_of_a_broken_connection(self, site, settings):
        site.pages["/torn.txt"] = (200, {"Content-Length": "100"}, b"half")

        with pytest.raises(AddressUnavailable):
            fetch_file(f"{site.url}/torn.txt")

        assert list_incoming(settings) == []

    def test_says_that_the_page_is_missing(self, site):
        with pytest.raises(Exception, match="status 404") as refused:
            fetch_file(f"{site.url}/nothing")

        assert refused.value.code == "invalid"

    def test_fetches_few_at_a_time(self, site, monkeypatch):
        monkeypatch.setattr(fetching, "_slots", threading.BoundedSemaphore(1))
        with fetching._slots, pytest.raises(AddressUnavailable, match="being fetched"):
            fetch_file(f"{site.url}/herons.md")

        assert fetch_file(f"{site.url}/herons.md").byte_count > 0


class TestAddMissingSuffix:
    @pytest.mark.parametrize(
        ("name", "media_type", "expected"),
        [
            ("2401.12345", "application/pdf", "2401.12345.pdf"),
            ("report.pdf", "application/pdf", "report.pdf"),
            ("index.php", "text/html", "index.php.html"),
            ("example.org", "text/html", "example.org.html"),
            ("page.htm", "text/html", "page.htm"),
            ("README.md", "text/plain", "README.md"),
            ("notes.ipynb", "application/json", "notes.ipynb"),
            ("data", "application/octet-stream", "data"),
            ("LICENSE", "text/plain", "LICENSE"),
        ],
    )
    def test_names_a_file_as_it_is_read(self, name, media_type, expected):
        assert add_missing_suffix(name, media_type) == expected

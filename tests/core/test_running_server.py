"""These tests use real processes, because the registration must survive or end with them."""

import http.server
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import running_server

ANNOUNCER = """
import sys, time
from pathlib import Path
from django.conf import settings
settings.configure(STRATA_DATA_DIR=Path(sys.argv[1]))
from core import running_server
with running_server.registered_server(sys.argv[2]):
    print("announced", flush=True)
    time.sleep(60)
"""


class Live(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        body = json.dumps({"status": "live"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Live) as web:
        web.asked = []
        thread = threading.Thread(target=web.serve_forever, args=[0.02])
        thread.start()
        yield web
        web.shutdown()
        thread.join()


@pytest.fixture
def url(web) -> str:
    return f"http://127.0.0.1:{web.server_port}"


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path, monkeypatch) -> Path:
    settings.STRATA_DATA_DIR = tmp_path
    monkeypatch.setattr(running_server, "FIND_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(running_server, "LOCK_TIMEOUT_SECONDS", 0.2)
    return tmp_path


@pytest.fixture
def announcer(data_dir, url) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-c", ANNOUNCER, str(data_dir), url], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


class TestFindServer:
    def test_finds_none_if_none_was_registered(self):
        assert running_server.find_server() is None

    def test_finds_the_server_of_another_process(self, announcer, url):
        found = running_server.find_server()

        assert (found.url, found.pid) == (url, announcer.pid)

    def test_finds_none_after_a_kill(self, announcer, data_dir):
        announcer.kill()
        announcer.wait()

        assert (data_dir / "server.json").exists()
        assert running_server.find_server() is None

    def test_finds_none_if_another_process_uses_a_killed_servers_address(self, data_dir, url):
        said = {"url": url, "key": "k", "pid": os.getpid()}
        (data_dir / "server.json").write_text(json.dumps(said))
        (data_dir / "server.lock").touch()

        assert running_server.find_server() is None

    def test_finds_none_if_nothing_answers(self):
        with running_server.registered_server("http://127.0.0.1:1"):
            assert running_server.find_server() is None

    def test_waits_for_one_that_has_just_started(self, monkeypatch, web, url):
        monkeypatch.setattr(running_server, "FIND_TIMEOUT_SECONDS", 5.0)
        answers = iter([False, False, True])
        monkeypatch.setattr(running_server, "_is_answering", lambda *args: next(answers))

        with running_server.registered_server(url):
            assert running_server.find_server().url == url

    def test_finds_none_in_a_malformed_file(self, data_dir, url):
        with running_server.registered_server(url):
            (data_dir / "server.json").write_text("[]")

            assert running_server.find_server() is None


class TestRegisteredServer:
    def test_writes_a_file_that_only_its_owner_can_read(self, data_dir, url):
        with running_server.registered_server(url):
            assert (data_dir / "server.json").stat().st_mode & 0o777 == 0o600

    def test_refuses_a_second_server(self, announcer, url):
        with pytest.raises(BlockingIOError), running_server.registered_server(url):
            pass

        assert running_server.find_server().pid == announcer.pid

    def test_replaces_a_killed_server(self, announcer, url):
        announcer.kill()
        announcer.wait()

        with running_server.registered_server(url):
            assert running_server.find_server().pid == os.getpid()

    def test_removes_its_file_once_the_block_ends(self, data_dir, url):
        with running_server.registered_server(url) as key:
            assert running_server.is_key_of_this_process(key)

        assert not running_server.is_key_of_this_process(key)
        assert not (data_dir / "server.json").exists()


class TestOwnKey:
    def test_is_a_key_of_this_process_until_the_block_ends(self):
        with running_server.own_key() as key:
            assert running_server.is_key_of_this_process(key)

        assert not running_server.is_key_of_this_process(key)

    def test_is_the_key_of_the_registered_server(self, url):
        with running_server.registered_server(url) as registered:
            with running_server.own_key() as key:
                assert key == registered

            assert running_server.is_key_of_this_process(registered)


class TestRequest:
    def test_sends_the_key(self, web, url):
        with running_server.registered_server(url) as key:
            running_server.find_server().request("GET", "/anything")

        assert web.asked[-1] == ("/anything", f"Bearer {key}")

    def test_ignores_proxies(self, web, url, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

        answer = running_server.RunningServer(url, "k", 1).request("GET", "/anything")

        assert answer.json() == {"status": "live"}

    def test_raises_an_error_if_the_server_is_gone(self):
        with pytest.raises(running_server.ServerUnreachable):
            running_server.RunningServer("http://127.0.0.1:1", "k", 1).request("GET", "/")

    def test_raises_an_error_if_the_server_is_too_slow(self, web, url, monkeypatch):
        monkeypatch.setattr(Live, "do_GET", lambda self: time.sleep(0.5))

        with pytest.raises(running_server.ServerUnreachable, match=r"0\.1 s"):
            running_server.RunningServer(url, "k", 1).request("GET", "/", timeout=0.1)

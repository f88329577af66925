"""The commands as people run them: with a server running, and without."""

import http.server
import json
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from config.management.commands import serve
from core.running_server import read_environment, registered_server
from documents.models import Artifact
from tests.forked import ForkedService
from tests.serving import ROOT, Service, serving

NOTES = {
    "tides.md": "# Tides\n\nSpring tides follow the new moon by two days.",
    "herons.txt": "The heron waits in the shallows for fish.",
    "more.jsonl": "\n".join(
        json.dumps({"external_id": f"n{n}", "title": f"Note {n}", "text": f"Lantern number {n}."})
        for n in range(3)
    ),
    "broken.pdf": "this is no PDF",
}


MODELS_AND_PIPELINES = ["llama_index.core", "haystack", "fastembed", "onnxruntime", "mcp"]
# Commands that ask the server, and the paths that they ask for.
ASKING = [
    ["search", "x", "--index=plain", "--kind=sources"],
    ["ask", "x", "--index=plain"],
    ["tools", "physio"],
    ["concepts", "list", "--index=knowledge"],
    ["evidence", "similar", "x", "--index=evidence"],
    ["api", "GET", "pipelines/"],
]
ASKED = [
    "search/sources", "ask", "indexes/physio/tools/", "indexes/knowledge/concepts/",
    "indexes/evidence/evidence/similar", "pipelines/",
]  # fmt: skip
ASKER = f"""
import json, sys
import django
django.setup()
from django.core.management import call_command
for arguments in json.loads(sys.argv[1]):
    call_command(*arguments)
print(json.dumps([name for name in {MODELS_AND_PIPELINES} if name in sys.modules]))
"""
NO_ANSWER = (
    b'event: metadata\ndata: {"relevant": true, "refusal": null, "notes": [], "hits": [],'
    b' "relationships": []}\n\n'
    b'event: done\ndata: {"citations": [], "notes": [], "model_name": null}\n\n'
)


class AnsweringNothing(http.server.BaseHTTPRequestHandler):
    """A server whose answers are empty."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        content, media_type = b'{"results": [], "hits": []}', "application/json"
        if path == "/api/v1/ask":
            content, media_type = NO_ANSWER, "text/event-stream"
        if path != "/health/live":
            self.server.paths.append(path.removeprefix("/api/v1/"))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), AnsweringNothing) as server:
        server.paths = []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def migrated(tmp_path_factory) -> Service:
    """A data folder without a running server, for commands that change nothing."""
    service = Service(tmp_path_factory.mktemp("migrated"))
    service.manage("status")  # migrates
    return service


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Service]:
    """One server for the tests that bear what the others did to it."""
    with serving(tmp_path_factory.mktemp("served")) as service:
        yield service


def check_commands(service: Service, notes: Path) -> None:
    added = service.manage("add", str(notes), "--index", "plain", "--wait")
    assert added.returncode == 1, added.stderr  # because one of them failed
    assert "6 added" in added.stdout
    assert "5 ready, 1 failed" in added.stdout
    assert "broken.pdf" in added.stderr
    assert "[wrong_format]" in added.stderr

    again = service.manage("add", str(notes), "--index", "plain", "--wait")
    assert "6 unchanged" in again.stdout

    found = service.manage("search", "bird that fishes", "--index", "plain", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["hits"][0]["text"] == NOTES["herons.txt"]

    status = service.manage("status", "--index", "plain")
    assert status.stdout.splitlines()[1].split()[:4] == ["plain", "6", "0", "1"]

    assert "plain #1: 6 artifacts, 5 nodes (0 failed), 5 points" in service.verify()

    examined = service.manage("doctor", "--port", "0")
    assert examined.returncode == 0, examined.stdout
    assert "fail" not in examined.stdout


class TestCommands:
    def test_work_without_a_running_server(self, tmp_path, notes):
        check_commands(ForkedService(tmp_path), notes)

    def test_work_beside_a_running_server(self, shared, notes):
        check_commands(shared, notes)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["add", "nowhere", "--index", "plain"], "nowhere does not exist."),
            (["search", "x", "--index", "nil"], "nil"),
            (["status", "--index", "nil"], "There is no index named 'nil'; allowed:"),
            (["verify", "--index", "nil"], "There is no index named 'nil'. Allowed:"),
        ],
    )
    def test_report_wrong_arguments(self, build, arguments, said):
        with pytest.raises(CommandError, match=re.escape(said)):
            call_command(*arguments)

    @pytest.mark.parametrize("arguments", [["status"], ["add", "manage.py"]])
    def test_exit_with_an_error_message_and_no_traceback(self, migrated, arguments):
        ended = migrated.manage(*arguments, "--index", "nil")

        assert ended.returncode == 1
        assert "There is no index named 'nil'; allowed:" in ended.stderr
        assert "Traceback" not in ended.stderr


class TestImports:
    @pytest.mark.parametrize(
        "arguments", [["help"], ["status"], ["key", "list"], ["search", "--help"]]
    )
    def test_do_not_load_libraries_of_models_or_pipelines(self, migrated, monkeypatch, arguments):
        """They would take seconds."""
        monkeypatch.setitem(migrated.environment, "PYTHONPROFILEIMPORTTIME", "1")

        imported = migrated.manage(*arguments).stderr

        modules = {line.rpartition("|")[2].strip() for line in imported.splitlines()}
        assert "django" in modules
        assert not modules & set(MODELS_AND_PIPELINES)

    def test_do_not_load_libraries_beside_a_running_server(self, migrated, settings, answering):
        """Only the server needs them."""
        settings.STRATA_DATA_DIR = migrated.data_dir
        with registered_server(answering.url):
            done = subprocess.run(
                [sys.executable, "-c", ASKER, json.dumps(ASKING)],
                cwd=ROOT, env=migrated.environment, capture_output=True, text=True, check=False,
            )  # fmt: skip

        assert done.returncode == 0, done.stderr
        *_, loaded = done.stdout.splitlines()
        assert json.loads(loaded) == []
        assert answering.paths == ASKED


class TestNewDataFolder:
    def test_is_made_by_commands_that_start_at_once(self, tmp_path):
        environment = {**Service(tmp_path).environment}
        commands = [
            subprocess.Popen(
                [sys.executable, "manage.py", "status"], cwd=ROOT, env=environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for _ in range(3)
        ]  # fmt: skip

        said = [command.communicate(timeout=120)[1] for command in commands]

        assert [command.returncode for command in commands] == [0, 0, 0], said


class TestVersion:
    @pytest.mark.parametrize("argument", ["--version", "version"])
    def test_is_that_of_the_distributions(self, argument):
        said = subprocess.run(
            [sys.executable, "manage.py", argument], cwd=ROOT, capture_output=True, text=True,
            check=True,
        )  # fmt: skip

        for folder in (ROOT / "client", *(ROOT / "client" / "retrievers").iterdir()):
            project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
            assert project["version"] == said.stdout.strip()


class TestServe:
    def test_requires_allowed_hosts_to_listen_to_other_machines(self, idle):
        ended = idle.manage("serve", "--host", "0.0.0.0", "--port", str(idle.port))

        assert ended.returncode == 1
        assert "Set ALLOWED_HOSTS" in ended.stderr

    def test_refuses_a_second_server_on_the_same_folder(self, shared):
        second = Service(shared.data_dir)

        ended = second.manage("serve", "--port", str(second.port))

        assert ended.returncode == 1
        assert "Another process owns the embedded vector store." in ended.stderr

    def test_is_registered_before_it_answers(self, db, monkeypatch, settings, tmp_path):
        """Otherwise a command that starts in between would take the store."""
        settings.STRATA_VECTOR_STORE = "embedded"
        settings.STRATA_DATA_DIR = tmp_path
        monkeypatch.setattr(serve, "exclusive_store_access", nullcontext)
        monkeypatch.setattr(serve, "_make_stop_event", threading.Event)
        registered = []

        def listen(host, port):
            registered.append(read_environment(tmp_path) is not None)
            raise OSError("Address already in use")

        monkeypatch.setattr(serve.web_server, "run_web_server", listen)
        with pytest.raises(CommandError, match="Choose another --port"):
            call_command("serve")

        assert registered == [True]
        assert read_environment(tmp_path) is None

    def test_shows_its_key_and_login_once(self, shared):
        shared.stop()
        shared.log.write_text("")

        shared.start()

        # The web server may answer before the last line is printed.
        deadline = time.monotonic() + 30
        while "strata key create NAME" not in shared.log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "API key" not in shared.log.read_text()


class TestWelcome:
    @pytest.mark.django_db
    @pytest.mark.parametrize("has_demo", [True, False])
    def test_suggests_a_demo_query_only_with_the_demo(self, has_demo):
        said = StringIO()

        serve.Command(stdout=said)._print_welcome("http://127.0.0.1:8000", True, has_demo)

        assert ("python-reference" in said.getvalue()) is has_demo
        assert "curl" in said.getvalue()


class TestDemo:
    def test_adds_no_document_twice(self, build):
        call_command("demo")
        count = count_artifacts()

        call_command("demo")

        assert count["library"] == 6
        assert count["python-reference"] > 50
        assert count_artifacts() == count


def count_artifacts() -> Counter[str]:
    """By index."""
    return Counter(Artifact.objects.values_list("index", flat=True))


def test_a_closed_output_ends_a_command_without_a_traceback():
    command = subprocess.Popen(
        [sys.executable, "manage.py", "help"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert command.stdout is not None
    command.stdout.close()

    assert command.communicate()[1] == b""
    assert command.returncode == 1

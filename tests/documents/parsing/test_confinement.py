"""What the process that reads files cannot do. Its own program is run, with other code in it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from documents.parsing import parse_file, process_pool, read_confinement
from documents.parsing.confinement import NO_NETWORK, NO_OTHER_CALLS, NO_OTHER_FILES
from tests.documents.parsing.conftest import LIMITS
from tests.servers.production import missing

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def in_force() -> list[str]:
    return read_confinement()


@pytest.fixture
def confined(tmp_path):
    """Run a program in a confined process that may read ``tmp_path/documents``; return its output
    lines, the error's name where it fails."""
    (tmp_path / "documents").mkdir()

    def run(program: str, *arguments: object) -> list[str]:
        done = subprocess.run(
            [
                sys.executable, "-c",
                "import sys\n"
                "from documents.parsing.confinement import confine\n"
                "confine(sys.argv[1:2])\n"
                "try:\n"
                f"    {program}\n"
                "except OSError as error:\n"
                "    print(type(error).__name__)\n",
                tmp_path / "documents", *map(str, arguments),
            ],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.splitlines()

    return run


def require(measure: str, in_force: list[str]) -> None:
    if measure not in in_force:
        missing(f"This kernel or container does not offer: {measure}.")


class TestConfine:
    def test_lets_the_reader_read_documents(self, confined, tmp_path):
        (tmp_path / "documents" / "a.txt").write_text("words")

        assert confined("print(open(sys.argv[2]).read())", tmp_path / "documents/a.txt") == [
            "words"
        ]

    def test_hides_all_other_files(self, in_force, confined, tmp_path):
        require(NO_OTHER_FILES, in_force)
        (tmp_path / "secret.txt").write_text("secret")
        read = "print(open(sys.argv[2]).read())"

        for path in (tmp_path / "secret.txt", "/etc/passwd", ROOT / "pyproject.toml"):
            assert confined(read, path) == ["PermissionError"]

    def test_hides_the_environment_of_the_service(self, in_force, confined):
        require(NO_OTHER_FILES, in_force)

        shown = confined("print(open(f'/proc/{sys.argv[2]}/environ', 'rb').read())", os.getpid())

        assert shown == ["PermissionError"]

    def test_prevents_writing(self, in_force, confined, tmp_path):
        require(NO_OTHER_FILES, in_force)

        shown = confined("open(sys.argv[2], 'w')", tmp_path / "documents" / "new.txt")

        assert shown == ["PermissionError"]
        assert not (tmp_path / "documents" / "new.txt").exists()

    def test_prevents_signals_to_other_processes(self, in_force, confined):
        require(NO_OTHER_FILES, in_force)

        assert confined("import os; os.kill(int(sys.argv[2]), 0)", os.getpid()) == [
            "PermissionError"
        ]

    def test_prevents_network_access(self, in_force, confined):
        require(NO_NETWORK, in_force)
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()

            shown = confined(f"import socket; socket.create_connection({address!r}, 5)")
            with socket.create_connection(address, 5):
                pass  # the server listens

        assert shown in (["OSError"], ["PermissionError"], ["ConnectionRefusedError"])


CALLS = "import ctypes, os, resource, socket, subprocess, threading; path = sys.argv[2]; "


class TestSystemCalls:
    @pytest.mark.parametrize(
        "call",
        [
            "socket.socket(socket.AF_UNIX)",
            "socket.socket()",
            "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
            "socket.socketpair()[0].connect(path)",
            "os.chmod(path, 0o777)",
            "os.fchmod(os.open(path, os.O_RDONLY), 0o777)",
            "os.chown(path, 1, 1)",
            "os.utime(path)",
            "os.setxattr(path, 'user.a', b'a')",
            "os.removexattr(path, 'user.a')",
            "os.truncate(path, 0)",
            "os.fork()",
            "subprocess.run([sys.executable, '-c', ''])",
            "os.execv(sys.executable, [sys.executable, '-c', ''])",
            "os.kill(os.getppid(), 0)",
            "resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))",
            "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        ],
    )
    def test_that_reach_other_programs_or_change_files_are_refused(
        self, in_force, confined, tmp_path, call
    ):
        require(NO_OTHER_CALLS, in_force)
        path = tmp_path / "documents" / "a.txt"
        path.write_text("words")
        before = path.stat()

        assert confined(CALLS + call, path) == ["PermissionError"]
        assert path.stat() == before

    def test_that_make_calls_past_the_filter_are_refused(self, in_force, confined):
        require(NO_OTHER_CALLS, in_force)
        io_uring_setup = "libc = ctypes.CDLL(None, use_errno=True); print(libc.syscall(425, 1, 0))"

        assert confined(f"{CALLS}{io_uring_setup}; print(ctypes.get_errno())", "") == ["-1", "1"]

    def test_that_a_reader_needs_are_not(self, in_force, confined):
        require(NO_OTHER_CALLS, in_force)
        threads = "t = threading.Thread(target=print, args=['thread']); t.start(); t.join(); "
        own = "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); a, b = socket.socketpair(); "

        assert confined(f"{CALLS}{threads}{own}a.send(b'sent'); print(b.recv(9))", "") == [
            "thread",
            "b'sent'",
        ]

    def test_of_a_process_that_aborts_end_it_by_its_signal(self, tmp_path):
        program = "import os; from documents.parsing.confinement import confine; confine([]); "

        ended = subprocess.run([sys.executable, "-c", f"{program}os.abort()"], cwd=ROOT)

        assert ended.returncode == -signal.SIGABRT


def raise_permission_error(*paths):
    raise PermissionError


class TestParseFile:
    @pytest.fixture
    def seen(self, monkeypatch):
        """Where a process reads from, and what is there meanwhile."""
        process_pool.close_child_processes()
        seen = []

        class Child(process_pool.ReaderProcess):
            def send_request(self, request, limits):
                seen.append((self._process.args[-1], list(self.folder.iterdir())))
                return super().send_request(request, limits)

        monkeypatch.setattr(process_pool, "ReaderProcess", Child)
        yield seen
        process_pool.close_child_processes()

    @pytest.mark.parametrize("has_links", [True, False])
    def test_shows_a_process_only_the_file_that_it_reads(
        self, settings, tmp_path, monkeypatch, seen, has_links
    ):
        settings.STRATA_FILES_DIR = tmp_path
        if not has_links:
            monkeypatch.setattr(os, "link", raise_permission_error)
        for name in ("a", "b"):
            (tmp_path / name).write_text(f"words of {name}")

        texts = [
            parse_file(tmp_path / name, file_name="a.txt", limits=LIMITS).pages[0].text
            for name in ("a", "b")
        ]

        assert texts == ["words of a", "words of b"]
        [child] = process_pool._idle
        assert child.folder.parent == tmp_path
        assert seen == [(str(child.folder), [child.folder / "path"])] * 2
        assert not list(child.folder.iterdir())
        process_pool.close_child_processes()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]

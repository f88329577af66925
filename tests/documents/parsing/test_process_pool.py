"""Limits, crashes, and the lifetime of the processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from documents.exceptions import Unparsable
from documents.parsing import FORMATS, Limits, close_child_processes, parse_file, process_pool
from documents.parsing.child_process import MAX_PEAK_BYTES
from tests.documents.parsing.conftest import LIMITS, MIB
from tests.documents.parsing.makers import make_docx, make_pdf, make_xlsx, make_zip, replace_member

ROOT = Path(__file__).resolve().parents[3]
GIB = 1024 * MIB


@pytest.fixture
def fresh():
    close_child_processes()
    yield
    close_child_processes()


@pytest.fixture
def readers():
    """Count the readers anew, by the settings of the test."""
    process_pool.get_reader_slots.cache_clear()
    yield
    process_pool.get_reader_slots.cache_clear()


@pytest.fixture
def endless(tmp_path, settings):
    """A path whose reading never ends: a pipe without a writer."""
    settings.STRATA_FILES_DIR = tmp_path  # a pipe is linked into a reader's folder, never copied
    path = tmp_path / "endless"
    os.mkfifo(path)
    return path


def _is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class TestLimits:
    def test_come_from_the_settings(self, settings):
        settings.STRATA_PARSE_SECONDS = 7

        assert Limits.from_settings().seconds == 7

    def test_stop_a_file_with_too_many_pages(self, refusal, limits):
        content = make_pdf("one", "two", "three")

        assert refusal(content, "a.pdf", limits=limits(max_pages=2)) == "too_many_pages"

    def test_stop_a_file_with_too_much_text(self, refusal, limits):
        assert refusal("x" * 101, "a.txt", limits=limits(max_text_chars=100)) == "too_large"

    def test_stop_an_archive_that_expands_too_far(self, refusal, limits):
        content = replace_member(
            make_docx(), "word/document.xml", (b"<w:body>", b"<w:body>" + b" " * 5 * MIB)
        )

        assert len(content) < MIB
        assert refusal(content, "a.docx", limits=limits(max_expanded_bytes=4 * MIB)) == "too_large"

    def test_apply_to_an_archive_that_declares_a_wrong_size(self, refusal, limits):
        content = make_zip(
            {"mimetype": "application/epub+zip", "META-INF/container.xml": " " * 9_999}
        )
        lie = content.replace((9_999).to_bytes(4, "little"), (99).to_bytes(4, "little"))

        assert lie != content
        assert refusal(lie, "a.epub", limits=limits(max_expanded_bytes=9_000)) == "damaged_file"

    def test_stop_a_file_that_takes_too_long(self, fresh, endless, limits):
        with pytest.raises(Unparsable) as refused:
            parse_file(endless, file_name="a.txt", limits=limits(seconds=0.7))

        assert refused.value.code == "parse_timeout"
        assert not process_pool._idle

    def test_stop_a_file_that_takes_too_much_memory(self, refusal, limits):
        content = json.dumps([[]] * 3_000_000)

        assert refusal(content, "a.json", limits=limits(memory_bytes=160 * MIB)) == "parse_memory"

    def test_do_not_affect_the_next_file(self, parse, refusal, limits):
        content = json.dumps([[]] * 3_000_000)
        refusal(content, "a.json", limits=limits(memory_bytes=160 * MIB))

        assert parse(make_pdf("fine"), "a.pdf").pages


class TestChildren:
    def test_are_reused(self, fresh, parse):
        parse("one", "a.txt")
        [child] = process_pool._idle

        parse("two", "a.txt")

        assert list(process_pool._idle) == [child]

    def test_are_reused_by_a_parent_that_uses_much_memory(self, fresh, parse):
        held = b"x" * MAX_PEAK_BYTES

        parse("one", "a.txt")

        assert held
        assert len(process_pool._idle) == 1

    def test_are_kept_after_a_plain_refusal(self, fresh, refusal):
        refusal(b"", "a.pdf")

        assert len(process_pool._idle) == 1

    def test_are_replaced_when_they_died_idle(self, fresh, parse):
        parse("one", "a.txt")
        os.kill(process_pool._idle[0]._process.pid, signal.SIGKILL)
        process_pool._idle[0]._process.wait()

        assert parse("two", "a.txt").pages[0].text == "two"

    @pytest.mark.parametrize(
        ("signal_number", "code"),
        [(signal.SIGSEGV, "parser_crashed"), (signal.SIGXCPU, "parse_timeout")],
    )
    def test_that_crash_are_reported_and_discarded(
        self, fresh, endless, limits, signal_number, code
    ):
        killer = threading.Timer(0.5, _kill_readers, [signal_number])
        killer.start()

        with pytest.raises(Unparsable) as refused:
            parse_file(endless, file_name="a.txt", limits=limits(seconds=20))

        killer.join()
        assert refused.value.code == code
        assert not process_pool._idle

    def test_serve_several_threads_at_once(self, fresh, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("words")

        def read(number):
            return parse_file(path, file_name=f"{number}.txt", limits=LIMITS).pages[0].text

        with ThreadPoolExecutor(4) as threads:
            assert set(threads.map(read, range(200))) == {"words"}
        assert 1 <= len(process_pool._idle) <= process_pool.MAX_IDLE_CHILDREN

    def test_read_no_more_files_at_once_than_are_allowed(
        self, fresh, tmp_path, settings, monkeypatch, readers
    ):
        settings.STRATA_PARSE_PROCESSES = 2
        path = tmp_path / "a.txt"
        path.write_text("words")
        counts = []
        reading = set()

        class Child(process_pool.ReaderProcess):
            def send_request(self, request, limits):
                reading.add(self)
                counts.append(len(reading))
                try:
                    return super().send_request(request, limits)
                finally:
                    reading.discard(self)

        monkeypatch.setattr(process_pool, "ReaderProcess", Child)

        def read(number):
            return parse_file(path, file_name=f"{number}.txt", limits=LIMITS).pages[0].text

        with ThreadPoolExecutor(7) as threads:
            assert set(threads.map(read, range(100))) == {"words"}
        assert max(counts) == 2

    @pytest.mark.parametrize(
        ("memory", "cores", "count"),
        [(64 * GIB, 4, 4), (64 * GIB, 64, 16), (8 * GIB, 4, 2), (4 * GIB, 4, 1), (GIB, 4, 1)],
    )
    def test_have_room_in_half_of_the_memory(self, settings, monkeypatch, memory, cores, count):
        settings.STRATA_PARSE_MEMORY_BYTES = 2 * GIB
        monkeypatch.setattr(process_pool, "read_memory_limit", lambda: memory)
        monkeypatch.setattr(os, "cpu_count", lambda: cores)

        assert process_pool.count_readers() == count

    def test_return_megabytes_without_a_deadlock(self, parse):
        text = 'é"\\' * 2_000_000

        assert parse(text, "a.txt").pages[0].text == text

    def test_end_with_their_parent(self, endless):
        program = (
            "import sys\n"
            "from pathlib import Path\n"
            "from documents.parsing import FORMATS, Limits, parse_file, process_pool\n"
            "class Child(process_pool.ReaderProcess):\n"
            "    def __init__(self, place):\n"
            "        super().__init__(place)\n"
            "        print(self._process.pid, flush=True)\n"
            "process_pool.ReaderProcess = Child\n"
            f"parse_file(Path(sys.argv[1]), file_name='a.txt', limits={LIMITS!r})\n"
        )
        data = endless.with_name("data")
        (data / "files").mkdir(parents=True)
        parent = subprocess.Popen(
            [sys.executable, "-c", program, endless], cwd=ROOT, stdout=subprocess.PIPE, text=True,
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
                "STRATA_DATA_DIR": str(data),
            },
        )  # fmt: skip
        pid = int(parent.stdout.readline())
        time.sleep(1)
        assert _is_running(pid)

        parent.kill()
        parent.wait()
        parent.stdout.close()

        deadline = time.monotonic() + 5
        while _is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _is_running(pid)

    def test_load_no_numpy_and_see_no_secrets(self, fresh, parse, monkeypatch):
        monkeypatch.setenv("STRATA_ADMIN_KEY", "secret")
        parse(make_docx(), "a.docx")
        parse(make_xlsx(), "a.xlsx")
        pid = process_pool._idle[0]._process.pid

        environment = Path(f"/proc/{pid}/environ").read_bytes()
        libraries = Path(f"/proc/{pid}/maps").read_text()

        assert b"secret" not in environment
        assert "lxml" in libraries
        assert "numpy" not in libraries

    def test_do_not_import_django(self):
        modules = sorted(
            {f"documents.parsing.{format_.reader.partition(':')[0]}" for format_ in FORMATS}
        )
        program = (
            f"import sys, importlib\nfor name in ['documents.parsing.child_process', *{modules}]:\n"
            "    importlib.import_module(name)\n"
            "sys.exit('django' in sys.modules or 'llama_index' in sys.modules)"
        )

        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)

    def test_raise_file_not_found_for_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            parse_file(tmp_path / "gone.txt", file_name="gone.txt", limits=LIMITS)


def _kill_readers(signal_number):
    own = os.getpid()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(status.parent.name)
        is_reader = int(fields[1]) == own and (
            b"documents.parsing.child_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        if is_reader:
            os.kill(pid, signal_number)

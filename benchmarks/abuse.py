"""Attack the service with abusive clients, one kind after the other, and measure the latency of
other clients, the memory of the service, and the bytes it writes."""

import itertools
import select
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from benchmarks.service import Connection, production_service
from tests.language_models.test_llm import Endpoint, Handler, delta, streams
from tests.serving import KEY, Service, serving

if TYPE_CHECKING:
    from tests.servers.production import Production

TICK_SECONDS = 0.25
LIVE_SECONDS = 1.0  # time limit for /health/live
REQUESTS_PER_MINUTE = 120  # of each key
SEARCH_SECONDS = 1.0  # between two searches of the other key
EXCESS = 100  # times the limit
SENDERS = 40  # connections of the abusive key
LOGINS = 20
UPLOAD_BYTES = 300 * 2**20
PIECE = "word " * 1_600  # one piece of an answer
QUESTION = b'{"index": "plain", "query": "When do boats leave the harbour?"}'
TIDE = "The tide turns at noon. Boats leave the harbour before dawn."
SEARCH = "/api/v1/search/pages?index=plain&q=When+do+boats+leave"
PROXY = {"X-Forwarded-Proto": "https"}
HEAD = "Host: localhost\r\nX-Forwarded-Proto: https\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class Target:
    port: int
    key: str
    greedy_key: str
    pids: list[int]
    data_dir: Path

    def resident_mib(self) -> float:
        status = [Path(f"/proc/{pid}/status").read_text() for pid in self.pids]
        return sum(int(each.partition("VmRSS:")[2].split()[0]) for each in status) / 2**10

    def written_bytes(self) -> int:
        """Bytes in the upload folder, and in deleted files that the processes still hold open."""
        count = sum(file.stat().st_size for file in (self.data_dir / "uploads").glob("*"))
        for pid in self.pids:
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                try:
                    if str(descriptor.readlink()).endswith(" (deleted)"):
                        count += descriptor.stat().st_size
                except FileNotFoundError:
                    continue
        return count


@dataclass(frozen=True)
class Attack:
    """``opening`` is sent at once, ``drip`` each second; a connection that ends is replaced."""

    name: str
    count: int
    opening: bytes = b""
    drip: bytes = b""
    is_reading: bool = True


def measure_abuse(seconds: float, *, is_production: bool) -> None:
    endpoint = Endpoint()
    endpoint.scripts = [streams("Before dawn [1]."), _write_for_a_minute]
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    environment = {
        "STRATA_LLM_BASE_URL": endpoint.url,
        "STRATA_LLM_MODEL": "a-model",
        "STRATA_LLM_CONCURRENCY": "40",
        "STRATA_KEY_REQUESTS_PER_MINUTE": str(REQUESTS_PER_MINUTE),
        "STRATA_KEY_STREAMS": "40",
        "STRATA_KEY_MODEL_CALLS_PER_DAY": "0",
        "STRATA_KEY_MODEL_TOKENS_PER_DAY": "0",
    }
    form = _production if is_production else _embedded
    with (
        tempfile.TemporaryDirectory(prefix="strata-bench-") as folder,
        form(Path(folder), environment) as target,
    ):
        _ask_once(target)  # warm up: the first question imports modules and loads the model
        print(f"{form.__name__[1:]} form, each attack for {seconds:g} s:")
        for attack in _list_attacks(target.key):
            _measure(target, attack.name, seconds, partial(_hold, target, attack))
        _measure(target, "300 MB without a key", seconds, partial(_send_large, target))
        with _searching(target) as took:
            logins = partial(_run_apart, _sign_in, target.port, seconds)
            _measure(target, "20 logins at once", seconds, logins)
        print(f"    searches of another key: {_describe(took)}")
        with _searching(target) as took:
            requests = partial(_run_apart, _send_too_much, target.port, target.greedy_key, seconds)
            _measure(target, "a key at 100 × its limit", seconds, requests)
        print(f"    searches of another key: {_describe(took)}")
    endpoint.shutdown()


def _ask_once(target: Target) -> None:
    asking = _list_attacks(target.key)[-1]
    with closing(socket.create_connection(("127.0.0.1", target.port), 60)) as client:
        client.sendall(asking.opening)
        while b"event: done" not in client.recv(65_536):
            pass


def _list_attacks(key: str) -> list[Attack]:
    bearer = f"Authorization: Bearer {key}\r\n"
    body = f"POST /api/v1/search/pages HTTP/1.1\r\n{HEAD}Content-Length: 60000\r\n"
    upload = f"POST /api/v1/indexes/plain/artifacts/batch HTTP/1.1\r\n{HEAD}{bearer}"
    upload += "Content-Length: 9000000\r\n\r\n"
    asking = f"POST /api/v1/ask HTTP/1.1\r\n{HEAD}{bearer}Content-Length: {len(QUESTION)}\r\n\r\n"
    return [
        Attack("no attack", 0),
        Attack("400 silent sockets", 400),
        Attack("400 half-sent headers", 400, b"GET / HTTP/1.1\r\nX: ", b"x"),
        Attack("50 slow bodies without a key", 50, f"{body}\r\n".encode(), b" "),
        Attack("50 slow uploads with a key", 50, upload.encode(),
               b" "),
        Attack("40 streams that nobody reads", 40, asking.encode() + QUESTION, is_reading=False),
    ]  # fmt: skip


def _measure(
    target: Target, name: str, seconds: float, attack: Callable[[threading.Event], int]
) -> None:
    stop, made = threading.Event(), [0]
    attacker = threading.Thread(target=lambda: made.append(attack(stop)))
    time.sleep(2)
    before = target.resident_mib()
    attacker.start()
    took: list[float] = []
    memory: list[float] = []
    written = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        took.append(_time_live(target.port))
        memory.append(target.resident_mib())
        written = max(written, target.written_bytes())
        time.sleep(TICK_SECONDS)
    stop.set()
    attacker.join()
    late = sum(each > LIVE_SECONDS for each in took)
    half = len(memory) // 2
    print(
        f"  {name:30} {made[-1]:6} connections; live: p50 {statistics.median(took) * 1e3:.0f} ms, "
        f"worst {max(took) * 1e3:.0f} ms, {late} of {len(took)} late; resident {before:.0f} MiB, "
        f"at most {max(memory[:half]):.0f} in the first half and {max(memory[half:]):.0f} in the "
        f"second; {written:,} bytes written",
        flush=True,
    )


def _time_live(port: int) -> float:
    """Return the seconds of the request; infinity if it fails or takes ten times the limit."""
    started = time.perf_counter()
    try:
        with closing(socket.create_connection(("127.0.0.1", port), 10 * LIVE_SECONDS)) as client:
            client.sendall(f"GET /health/live HTTP/1.1\r\n{HEAD}\r\n".encode())
            if not client.recv(4_096).startswith(b"HTTP/1.1 200 "):
                return float("inf")
    except OSError:
        return float("inf")
    return time.perf_counter() - started


# --- Attacks ---------------------------------------------------------------------------------


def _hold(target: Target, attack: Attack, stop: threading.Event) -> int:
    """Keep ``attack.count`` connections open; return how many were opened in total."""
    clients: dict[int, socket.socket] = {}
    poll, made, dripped_at = select.poll(), 0, time.monotonic()
    while not stop.wait(TICK_SECONDS):
        while len(clients) < attack.count:
            client = _connect(target.port, attack)
            clients[client.fileno()] = client
            poll.register(client, select.POLLIN if attack.is_reading else 0)
            made += 1
        lost = {number for number, _ in poll.poll(0) if not _is_open(clients[number], attack)}
        if attack.drip and time.monotonic() - dripped_at > 1:
            dripped_at = time.monotonic()
            lost |= {number for number, client in clients.items() if not _send(client, attack.drip)}
        for number in lost:
            poll.unregister(number)
            clients.pop(number).close()
    for client in clients.values():
        client.close()
    return made


def _connect(port: int, attack: Attack) -> socket.socket:
    client = socket.socket()
    if not attack.is_reading:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", port))
    client.setblocking(False)
    _send(client, attack.opening)
    return client


def _is_open(client: socket.socket, attack: Attack) -> bool:
    try:
        return attack.is_reading and bool(client.recv(65_536))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _send(client: socket.socket, data: bytes) -> bool:
    try:
        client.send(data)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def _send_large(target: Target, stop: threading.Event) -> int:
    """Send one upload after the other, each completely, whatever the response."""
    made, block = 0, b"x" * 2**16
    paths = itertools.cycle(["indexes/plain/artifacts/batch", "ask", "indexes/plain/artifacts/"])
    for path, is_chunked in zip(paths, itertools.cycle([True, False]), strict=False):
        if stop.is_set():
            return made
        length = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {UPLOAD_BYTES}"
        with closing(socket.create_connection(("127.0.0.1", target.port), 10)) as client:
            made += 1
            client.sendall(f"POST /api/v1/{path} HTTP/1.1\r\n{HEAD}{length}\r\n\r\n".encode())
            try:
                for _ in range(UPLOAD_BYTES // len(block)):
                    client.sendall(b"%x\r\n%b\r\n" % (len(block), block) if is_chunked else block)
            except OSError:
                continue
    return made


def _run_apart(attack: Callable[..., int], *given: object) -> int:
    """Attack from another process, whose many threads do not delay the measurement."""
    *arguments, _ = given  # the last is the event that stops other attacks
    with ProcessPoolExecutor(1, get_context("spawn")) as attackers:
        return attackers.submit(attack, *arguments).result()


def _sign_in(port: int, seconds: float) -> int:
    """Send logins over ``LOGINS`` connections at once; return how many were sent."""
    deadline = time.monotonic() + seconds

    def sign_in() -> int:
        count = 0
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, headers=PROXY, verify=False, timeout=60) as client:
            token = client.get("/sign-in/").cookies["csrftoken"]
            form = {"username": "admin", "password": "a guess", "csrfmiddlewaretoken": token}
            headers = {"Cookie": f"csrftoken={token}", "Referer": f"https://127.0.0.1:{port}"}
            while time.monotonic() < deadline:
                answer = client.post("/sign-in/", data=form, headers=headers)
                assert answer.status_code in {200, 429, 503}, answer.status_code  # 429: locked out
                count += 1
        return count

    with ThreadPoolExecutor(LOGINS) as people:
        return sum(each.result() for each in [people.submit(sign_in) for _ in range(LOGINS)])


def _send_too_much(port: int, key: str, seconds: float) -> int:
    """Send ``EXCESS`` times as many requests as the key may, or as many as the server answers;
    return how many."""
    pause = SENDERS * 60 / (REQUESTS_PER_MINUTE * EXCESS)  # seconds, of each connection
    deadline = time.monotonic() + seconds

    def send() -> int:
        connection, count, next_at = Connection(port, key), 0, time.monotonic()
        with closing(connection):
            while time.monotonic() < deadline:
                with suppress(RuntimeError):  # 429
                    connection.get(SEARCH)
                count += 1
                next_at += pause
                time.sleep(max(0.0, next_at - time.monotonic()))
        return count

    with ThreadPoolExecutor(SENDERS) as senders:
        return sum(each.result() for each in [senders.submit(send) for _ in range(SENDERS)])


@contextmanager
def _searching(target: Target) -> Iterator[list[float]]:
    """Search with another key until the block ends; yield the seconds that each search took. A
    search that is refused raises."""
    took: list[float] = []
    stop = threading.Event()

    def search() -> None:
        with closing(Connection(target.port, target.key)) as connection:
            while not stop.wait(SEARCH_SECONDS):
                started = time.perf_counter()
                connection.get(SEARCH)
                took.append(time.perf_counter() - started)

    with ThreadPoolExecutor(1) as person:
        searching = person.submit(search)
        try:
            yield took
        finally:
            stop.set()
            searching.result()


def _describe(took: list[float]) -> str:
    return (
        f"{len(took)}, none refused; p50 {statistics.median(took) * 1e3:.0f} ms, "
        f"worst {max(took) * 1e3:.0f} ms"
    )


def _write_for_a_minute(handler: Handler) -> None:
    """Write an answer of 32 KB per second for a minute."""
    handler.send(200, "", Content_Type="text/event-stream")
    for _ in range(240):
        handler.send_event(delta(PIECE))
        time.sleep(0.25)
    handler.send_event("[DONE]")


# --- Embedded and production form ------------------------------------------------------------


@contextmanager
def _embedded(folder: Path, environment: dict[str, str]) -> Iterator[Target]:
    with serving(folder, **environment) as service:
        service.add("plain", text=TIDE, title="Harbour")
        assert service.process is not None
        yield Target(service.port, KEY, _make_key(service), [service.process.pid], folder)


@contextmanager
def _production(folder: Path, environment: dict[str, str]) -> Iterator[Target]:
    with production_service(folder, environment) as (production, key, pid):
        uploaded = production.upload("tide.txt", TIDE)
        production.wait_until_ready([uploaded], 180)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        pids = [int(child) for child in children.split()]
        yield Target(production.port, key, _make_key(production), pids, folder)


def _make_key(service: "Service | Production") -> str:
    answer = service.api.post("keys/", json={"name": "greedy"})
    answer.raise_for_status()
    return str(answer.json()["secret"])

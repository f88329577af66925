"""The image's contents, built from the wheel as the Dockerfile says, and run without a checkout."""

import os
import secrets
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.compose import read_our_services
from tests.faults.servers_rig import PostgreSQL, Redis
from tests.image.dockerfile import AS_ANYBODY, Image
from tests.qdrant_loopback.process import qdrant_loopback
from tests.serving import free_port

pytestmark = pytest.mark.skipif(
    "STRATA_BUILD_IMAGE" not in os.environ, reason="Installs every package anew; .ci/image does it"
)
WAIT_SECONDS = 400
REQUIRED = {
    "SECRET_KEY": secrets.token_hex(),
    "ALLOWED_HOSTS": "127.0.0.1",
    "DATABASE_URL": "postgresql://postgres.invalid/strata",
    "REDIS_URL": "redis://redis.invalid",
    "QDRANT_URL": "http://qdrant.invalid:6333",
}
FIND_MODEL = """
import config
from indexing.embedding.minilm import find_model
print(config.__file__, find_model())
"""


@pytest.fixture(scope="module")
def image():
    # On a disk: it is a gigabyte, and other temporary files are in memory.
    with tempfile.TemporaryDirectory(prefix="strata-image-", dir="/var/tmp") as root:
        image = Image(Path(root))
        image.build()
        yield image


class TestContents:
    def test_are_no_sources_but_those_of_the_wheel(self, image):
        assert {path.suffix for path in (image.root / "app").rglob("*.*")} == {".md", ".yaml"}
        assert not list(image.root.rglob("pyproject.toml"))
        [manage] = image.root.rglob("manage.py")
        assert manage.parent.name == "strata_rag"

    def test_are_imported_from_the_wheel_with_the_default_model(self, image):
        ran = image.run("python", "-c", FIND_MODEL, DJANGO_SETTINGS_MODULE="config.settings.base")

        assert ran.returncode == 0, ran.stderr
        path, model = ran.stdout.split()
        assert path.endswith("site-packages/strata_rag/config/__init__.py")
        assert model == str(image.root / "weights" / "strata_rag_weights")

    def test_may_be_read_by_every_user(self, image):
        unreadable = [
            path
            for path in image.root.rglob("*")
            if not path.is_symlink() and not path.stat().st_mode & stat.S_IROTH
        ]

        assert [path for path in unreadable if path.name not in {"data", "models"}] == []

    def test_are_run_by_a_user_without_a_name(self, image):
        ran = image.run("python", "-c", "import getpass; getpass.getuser()", USER="", LOGNAME="")

        assert "KeyError" in ran.stderr or os.geteuid() != 0

    @pytest.mark.parametrize(
        "command",
        [
            "strata check --deploy --fail-level WARNING",
            "gunicorn --check-config -c python:config.gunicorn",
        ],
    )
    def test_pass_the_checks_of_a_deployment(self, image, command):
        ran = image.run(*command.split(), **REQUIRED)

        assert ran.returncode == 0, ran.stderr


class Service:
    """The containers of docker-compose.yml, as processes."""

    def __init__(self, image: Image, **settings: str) -> None:
        self.image = image
        self.settings = settings
        self.commands = {name: each["command"] for name, each in read_our_services().items()}

    @contextmanager
    def running(self, name: str):
        with (self.image.root / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [*AS_ANYBODY, *self.commands[name]], cwd=self.image.root / "app", stdout=log,
                stderr=log, env=self.image.environment | self.settings, start_new_session=True,
            )  # fmt: skip
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def read_logs(self) -> str:
        return "\n".join(path.read_text() for path in self.image.root.glob("*.log"))


def wait_for(is_so, service: Service) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, service.read_logs()
        time.sleep(0.5)


def test_serves_as_compose_starts_it(image, tmp_path):
    with ExitStack() as stack:
        # Not below pytest's folders, which PostgreSQL's user may not enter.
        cluster = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strata-pg-")))
        postgres = PostgreSQL(cluster)
        stack.callback(postgres.stop)
        broker = Redis(tmp_path)
        stack.callback(broker.stop)
        qdrant = stack.enter_context(qdrant_loopback())
        port = free_port()
        service = Service(image, **REQUIRED | {
            "DATABASE_URL": postgres.url, "REDIS_URL": broker.url, "QDRANT_URL": qdrant.url,
            "STRATA_LISTEN": f"127.0.0.1:{port}", "STRATA_PLAIN_HTTP": "1",
            "STRATA_BASE_PATH": "/strata",
        })  # fmt: skip

        migrated = image.run(*service.commands["migrate"], **service.settings)
        assert migrated.returncode == 0, migrated.stderr
        key = image.run("strata", "key", "create", "tests", **service.settings)
        assert key.returncode == 0, key.stderr
        for name in service.commands.keys() - {"migrate", "flower"}:
            stack.enter_context(service.running(name))
        api = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60))

        def answers(path: str, **parts: object) -> bool:
            try:
                answer = api.get(path)
            except httpx.TransportError:
                return False
            return answer.json() == answer.json() | parts

        wait_for(lambda: answers("/health/ready", status="ready"), service)
        [secret] = [word for word in key.stdout.split() if word.startswith("strata_")]
        api.headers["Authorization"] = f"Bearer {secret}"
        given = api.post(
            "/api/v1/indexes/plain/artifacts/",
            files={"file": ("harbour.txt", b"The gauge in the harbour is read at six.")},
        )
        assert given.status_code == 202, given.text
        wait_for(
            lambda: answers(f"/api/v1/artifacts/{given.json()['id']}/", status="ready"), service
        )
        found = api.get("/api/v1/search/pages", params={"index": "plain", "q": "gauge"}).json()
        assert found["hits"][0]["verdict"] == "exact"
        page = api.get("/sign-in/", headers={"Authorization": ""})
        assert page.status_code == 200, page.text
        assert "/strata/static/style.css" in page.text
        style = api.get("/strata/static/style.css", headers={"Accept-Encoding": "gzip"})
        assert style.headers["Content-Encoding"] == "gzip"

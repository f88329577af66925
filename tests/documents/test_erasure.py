"""What is left of a document once it is deleted: the words of its text are searched for in every
table, and in every file of a service's data folder."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connection

from concepts.quotes import add_quote
from concepts.services import create_concept
from documents.services import remove_artifact
from evaluation.judged_queries import JudgedQueries
from evaluation.models import EvaluationRun
from evaluation.runs import claim_run, create_run, measure_run
from indexing.models import IndexBuild
from indexing.services import plan_nodes
from summaries.models import StoredCompletion
from tests.factories import give, load_index, sync
from tests.faults.armed import armed
from webhooks.models import Delivery
from webhooks.services import emit_event

SECRET = "zanzibarine"


def find_tables(word: str) -> list[str]:
    with connection.cursor() as cursor:
        tables = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            if word in str(cursor.fetchall()).lower():
                tables.append(table)
        return tables


@pytest.fixture
def document(db, store, embedder, settings):
    settings.STRATA_WEBHOOK_URLS = ["https://receiver.example/"]
    live = load_index("knowledge")
    artifact = give(
        f"The heron is {SECRET}. It waits for fish.",
        index="knowledge",
        title=f"On the {SECRET} heron",
        external_id=f"{SECRET}.txt",
        metadata={"note": SECRET},
    )
    sync(live, artifact)
    add_quote(
        create_concept("knowledge", "heron").pk, f"heron is {SECRET}", artifact_id=artifact.pk
    )
    other = IndexBuild.objects.create(
        index_id="knowledge", number=99, recipe=live.recipe, fingerprint=live.fingerprint
    )
    plan_nodes(artifact.pk, other)
    StoredCompletion.objects.create(
        key="k", artifact=artifact, model_name="m", content={"summary": f"Of {SECRET}."}
    )
    return artifact


def test_no_row_keeps_the_text_of_a_deleted_document(document):
    judged = JudgedQueries({"q1": f"Which bird is {SECRET}?"}, {"q1": {document.external_id: 1}})
    run = claim_run(create_run("knowledge", systems=["hybrid"], judged=judged).pk)
    measure_run(run)
    waiting, failed = (
        create_run("knowledge", systems=["dense"], judged=judged, measures=[measure])
        for measure in ("P@5", "P@10")
    )
    EvaluationRun.objects.filter(pk=failed.pk).update(state="failed")
    EvaluationRun.objects.update(qrels={"q1": {str(document.pk): 1}})
    for event in ("artifact.ready", "artifact.failed"):
        emit_event(
            event,
            {
                "artifact_id": str(document.pk),
                "external_id": document.external_id,
                "error": {"code": "unparsable", "detail": SECRET},
            },
        )
    delivered, due = Delivery.objects.order_by("event")[:2]
    Delivery.objects.filter(pk=delivered.pk).update(state="delivered")
    assert len(find_tables(SECRET)) > 5

    remove_artifact(document.pk)

    assert find_tables(SECRET) == []
    assert Delivery.objects.get(event=due.event).payload["artifact_id"] == str(document.pk)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error_code) == ("failed", "invalid")


def find_files(word: str, folder: Path) -> list[str]:
    found = []
    # The service rewrites its store meanwhile: a folder or file that goes away holds nothing.
    for parent, _folders, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            with suppress(FileNotFoundError):
                if word.encode() in path.read_bytes().lower():
                    found.append(str(path.relative_to(folder)))
    return sorted(found)


def test_no_file_keeps_the_text_once_it_is_erased(tmp_path):
    (tmp_path / "data").mkdir()
    with armed(tmp_path / "data", STRATA_ERASE_SECONDS="0") as service:
        title = f"On the {SECRET} heron"
        artifact_id = service.add("plain", title=title, pages=[f"The heron is {SECRET}. " * 50])
        service.add("plain", title="On granite", pages=["Granite cools slowly."])
        assert find_files(SECRET, service.data_dir)

        deleted = service.api.delete(f"artifacts/{artifact_id}/").json()
        assert deleted["points"] == 0
        service.stop()
        service.start()  # erases at once, and then every ten minutes
        deadline = time.monotonic() + 60
        while (left := find_files(SECRET, service.data_dir)) and time.monotonic() < deadline:
            time.sleep(0.2)

        assert left == []
        found = service.api.get("search/pages", params={"q": "granite", "index": "plain"}).json()
        assert [hit["artifact"]["title"] for hit in found["hits"]] == ["On granite"]

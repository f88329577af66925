"""Processor seconds of one scrape of ``/metrics``, in relation to those of searches."""

import statistics
import time
from collections.abc import Callable

SECONDS = 60
SEARCHES = 200


def measure_scraping(document_count: int, chunk_count: int, queries: list[str]) -> None:
    """In this process: the share of one core that a scrape each second takes, which is by how much
    the searches of a process without an idle core become slower."""
    from django.core.management import call_command
    from django.test import Client

    from access.models import ApiKey
    from benchmarks.filling import fill_index
    from documents.models import Artifact
    from indexing import embedding
    from indexing.models import IndexBuild, IndexedDocument
    from indexing.stores import close_store

    call_command("migrate", verbosity=0)
    get_embedder = embedding.get_embedder
    chunk_count = fill_index(chunk_count)
    embedding.get_embedder = get_embedder
    build = IndexBuild.objects.live().get(index="plain")
    # Rows alone: a scrape reads no text and no point.
    artifacts = [
        Artifact(index="plain", title=f"Document {n}", identity=f"row:{n}", state="parsed")
        for n in range(document_count)
    ]
    Artifact.objects.bulk_create(artifacts, batch_size=500)
    IndexedDocument.objects.bulk_create(
        [
            IndexedDocument(
                build=build, artifact_id=artifact.pk, state="ready", revision=1, synced_count=5
            )
            for artifact in artifacts
        ],
        batch_size=500,
        ignore_conflicts=True,
    )
    client = Client(
        SERVER_NAME="127.0.0.1",
        headers={"Authorization": f"Bearer {ApiKey.issue('monitoring')[1]}"},
    )
    numbers = iter(range(10**6))

    def search() -> None:
        query = f"{queries[next(numbers) % len(queries)]} w{next(numbers)}"
        found = client.get("/api/v1/search/pages", {"index": "plain", "q": query})
        assert found.json()["hits"]

    def scrape() -> None:
        assert b"strata_documents" in client.get("/metrics").content

    search_ms = _measure(search)
    before = time.process_time()
    for _ in range(SECONDS):
        scrape()
        time.sleep(1)
    scrape_ms = (time.process_time() - before) / SECONDS * 1e3
    print(f"{Artifact.objects.count()} documents, {chunk_count} chunks; processor ms:")
    print(f"  search {search_ms:.2f} (median), scrape {scrape_ms:.2f} (mean of {SECONDS} seconds)")
    print(f"  one scrape each second: {scrape_ms / 1_000:.2%} of a core")
    close_store()


def _measure(request: Callable[[], None]) -> float:
    for _ in range(5):
        request()
    taken = []
    for _ in range(SEARCHES):
        before = time.process_time()
        request()
        taken.append((time.process_time() - before) * 1e3)
    return statistics.median(taken)

"""Measure the service (``make bench``), mostly as a ratio to a raw loop in the same run."""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.raw import build_raw_query
from indexing.model_loading import waiting_for_models

if TYPE_CHECKING:
    from tests.serving import Service

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

QUERIES_PER_BLOCK = 20
PAUSE_SECONDS = 0.1
PAGE_CHARS = 2_300  # five chunks
QUERIES = [
    "Does aspirin lower the risk of colorectal cancer?",
    "vitamin D deficiency and bone fractures",
    "How do T cells recognise infected cells?",
    "gene expression in stem cells",
    "effects of obesity on cardiovascular disease",
    "antibiotic resistance in hospital patients",
    "What regulates insulin secretion?",
    "mutations that drive breast cancer",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--texts", type=int, nargs="+", default=[400, 1_200], help="indexing: texts per round"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--chunks", type=int, default=10_000, help="search, grants, scraping: chunks in the index"
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--only",
        help="run this benchmark; some run only if they are named here",
        choices=[
            "indexing",
            "fairness",
            "production",
            "search",
            "hierarchical",
            "asking",
            "switch",
            "verify",
            "upkeep",
            "evidence",
            "pairs",
            "physio",
            "quality",
            "several",
            "relevance",
            "answers",
            "citations",
            "survey",
            "http",
            "searches",
            "grants",
            "scraping",
            "abuse",
            "filings",
            "filings-2",
            "scans",
            "layout",
            "marks",
            "transcription",
            "languages",
            "audit",
            "moving",
            "half-precision",
            "pipeline",
        ],
    )
    parser.add_argument(
        "--huge-bytes", type=int, default=5_000_000, help="fairness: size of the huge text"
    )
    parser.add_argument("--abstracts", type=int, default=800, help="production: added at once")
    parser.add_argument(
        "--against",
        help="http, searches: another checkout, with its .venv; pipeline: another commit",
    )
    parser.add_argument(
        "--pairs", type=int, default=10, help="http, searches, grants, pipeline: runs"
    )
    parser.add_argument(
        "--check", action="store_true", help="pipeline: fail if it costs more than kept figures say"
    )
    parser.add_argument("--keep", action="store_true", help="pipeline: replace the kept figures")
    parser.add_argument("--seconds", type=float, default=120, help="abuse: duration of each attack")
    parser.add_argument(
        "--production", action="store_true", help="abuse, searches: measure the production form"
    )
    parser.add_argument(
        "--documents", type=int, default=2_000, help="switch, scraping: in the index"
    )
    parser.add_argument("--asked", type=int, default=10_000, help="asking: documents in each index")
    parser.add_argument(
        "--pages", type=int, default=2_000, help="hierarchical: pages of five chunks each"
    )
    parser.add_argument(
        "--nodes", type=int, default=100_000, help="verify, moving: nodes in the index"
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="audit: rows of the audit log")
    parser.add_argument(
        "--points",
        type=int,
        nargs="+",
        default=[10_000, 100_000, 10_000_000],
        help="upkeep: rows of the ledger; the default needs 5 GB of disk",
    )
    parser.add_argument(
        "--concepts", type=int, default=100_000, help="survey: concepts in the index"
    )
    parser.add_argument(
        "--collection",
        default="pubmedqa-pqal",
        help="several, half-precision: judged collection; several indexes it in three parts",
    )
    parser.add_argument(
        "--judged-texts", type=int, default=1_000, help="several: texts of that collection"
    )
    parser.add_argument(
        "--embedding",
        type=Path,
        help="relevance, languages: a YAML file with a spec's section `embedding`, which replaces "
        "the default",
    )
    parser.add_argument(
        "--indexes",
        nargs="+",
        help="relevance: the presets to ask, all five by default; filings, filings-2, scans: the "
        "presets to index the documents by, plain by default",
    )
    parser.add_argument(
        "--findings", type=int, default=1_000, help="evidence: findings, each added in two wordings"
    )
    parser.add_argument(
        "--markitdown",
        default=".venv-markitdown/bin/markitdown",
        help="layout: the program to compare with; it is left out where it is not installed",
    )
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        # The raw loops run in this process, with their own data folder.
        os.environ["STRATA_MODELS_DIR"] = str(Path("var/models").resolve())
        os.environ["STRATA_DATA_DIR"] = folder
        import django

        django.setup()
        if arguments.only in (None, "indexing"):
            from benchmarks.indexing import measure_indexing

            measure_indexing(arguments.texts, arguments.rounds)
        if arguments.only in (None, "fairness"):
            from benchmarks.fairness import measure_fairness

            measure_fairness(arguments.huge_bytes)
        if arguments.only == "production":
            from benchmarks.production import measure_production

            measure_production(arguments.abstracts)
        if arguments.only in (None, "search"):
            measure_search(arguments.chunks, arguments.queries)
        if arguments.only in (None, "hierarchical"):
            measure_hierarchical(arguments.pages, arguments.queries)
        if arguments.only in (None, "asking"):
            from benchmarks.asking import measure_asking

            measure_asking(arguments.asked, arguments.queries)
        if arguments.only in (None, "switch"):
            from benchmarks.switching import measure_model_switch

            measure_model_switch(arguments.documents, QUERIES)
        if arguments.only in (None, "verify"):
            from benchmarks.verifying import measure_verify

            measure_verify(arguments.nodes)
        if arguments.only == "upkeep":
            from benchmarks.upkeep import measure_upkeep

            measure_upkeep(arguments.points)
        if arguments.only in (None, "evidence"):
            from benchmarks.evidence import measure_evidence

            measure_evidence(arguments.findings)
        if arguments.only in (None, "pairs"):
            from benchmarks.finding_pairs.measure import measure_finding_pairs

            measure_finding_pairs()
        if arguments.only in (None, "physio"):
            from benchmarks.physio.measure import measure_physio

            measure_physio()
        if arguments.only in (None, "survey"):
            from benchmarks.emergent_pairs import measure_emergent_pairs

            measure_emergent_pairs(arguments.concepts)
        if arguments.only == "http":
            from benchmarks.http import measure_http

            measure_http(Path(arguments.against), arguments.pairs, QUERIES)
        if arguments.only == "searches":
            from benchmarks.searches import measure_searches

            measure_searches(
                Path(arguments.against),
                arguments.pairs,
                QUERIES,
                is_production=arguments.production,
            )
        if arguments.only == "grants":
            from benchmarks.grants import measure_grants

            measure_grants(arguments.chunks, arguments.pairs, QUERIES)
        if arguments.only == "scraping":
            from benchmarks.scraping import measure_scraping

            measure_scraping(arguments.documents, arguments.chunks, QUERIES)
        if arguments.only == "abuse":
            from benchmarks.abuse import measure_abuse

            measure_abuse(arguments.seconds, is_production=arguments.production)
        if arguments.only in (None, "quality"):
            from benchmarks.quality import measure_quality

            measure_quality()
        if arguments.only in (None, "several"):
            from benchmarks.several_indexes import measure_several_indexes

            measure_several_indexes(arguments.collection, arguments.judged_texts)
        if arguments.only == "relevance":
            from benchmarks.questions import INDEXES, measure_relevance

            measure_relevance(arguments.embedding, arguments.indexes or INDEXES)
        if arguments.only == "answers":
            from benchmarks.questions import measure_answers

            measure_answers()
        if arguments.only in ("filings", "filings-2", "scans"):
            from benchmarks.reading import measure_pages

            for index in arguments.indexes or ["plain"]:
                measure_pages(arguments.only, index)
        if arguments.only == "layout":
            from benchmarks.reading import measure_layout

            measure_layout(arguments.markitdown)
        if arguments.only == "marks":
            from benchmarks.reading import measure_marks

            measure_marks()
        if arguments.only == "transcription":
            from benchmarks.reading import measure_transcription

            measure_transcription()
        if arguments.only == "languages":
            from benchmarks.languages import measure_languages

            measure_languages(arguments.embedding)
        if arguments.only == "audit":
            from benchmarks.keeping import measure_audit_export

            measure_audit_export(arguments.rows)
        if arguments.only == "moving":
            from benchmarks.keeping import measure_moving

            measure_moving(arguments.nodes)
        if arguments.only == "half-precision":
            from benchmarks.half_precision import measure_half_precision

            measure_half_precision(arguments.collection)
        if arguments.only == "pipeline":
            from benchmarks.pipeline.measure import measure_pipeline

            if not measure_pipeline(
                arguments.against, arguments.pairs, checks=arguments.check, keeps=arguments.keep
            ):
                raise SystemExit(1)
        if arguments.only == "citations":
            from benchmarks.citations import measure_citations

            measure_citations()


def measure_search(chunk_count: int, query_count: int) -> None:
    """Compare hybrid search over HTTP with embedding and querying a copy of the same shard."""
    from benchmarks.service import add_texts, load_texts, measured_service, wait_until_ready
    from indexing.stores.embedded import EmbeddedStore

    texts = load_texts(chunk_count // 3)
    with measured_service() as service, tempfile.TemporaryDirectory() as folder:
        added = 0
        while added < len(texts) and _count_synced_nodes(service, "plain") < chunk_count:
            part = texts[added : added + 400]
            add_texts(service, part)
            added += len(part)
            wait_until_ready(service, added)
        count = _count_synced_nodes(service, "plain")
        copy = Path(folder) / "vectors"
        shutil.copytree(service.data_dir / "vectors", copy)
        store = EmbeddedStore(copy)

        def raw(query: str) -> None:
            store.search("plain.page_embeddings.1", build_raw_query(query, limit=10))

        times = measure_alternately(
            service, raw, "pages", {"index": "plain", "limit": 10}, query_count
        )
        store.close()
    print(f"hybrid search, {count} chunks, p50 of {query_count}:")
    print_p50(times, "raw embed + raw query")


def measure_hierarchical(page_count: int, query_count: int) -> None:
    """Compare hierarchical search over HTTP with embedding once and querying copies of both shards.

    The service writes the summaries by rules; no language model is called.
    """
    from benchmarks.service import add_texts, load_pages, measured_service, wait_until_ready
    from indexing.stores.embedded import EmbeddedStore

    with tempfile.TemporaryDirectory() as folder:
        specs = Path(folder) / "specs"
        specs.mkdir()
        (specs / "deck.yaml").write_text("page_summaries: true\n", encoding="utf-8")
        pages = load_pages(page_count, PAGE_CHARS)
        with measured_service(STRATA_SPECS_DIR=str(specs)) as service:
            for start in range(0, len(pages), 400):
                add_texts(service, pages[start : start + 400], "deck")
            wait_until_ready(service, len(pages), "deck")
            count = _count_synced_nodes(service, "deck")
            copy = Path(folder) / "vectors"
            shutil.copytree(service.data_dir / "vectors", copy)
            store = EmbeddedStore(copy)
            collections = ["deck.summary_embeddings.1", "deck.page_embeddings.1"]
            held = [store.count(name) for name in collections]

            def raw(query: str) -> None:
                asked = build_raw_query(query, limit=50)
                for name in collections:
                    store.search(name, asked)

            times = measure_alternately(
                service, raw, "hierarchical", {"index": "deck"}, query_count
            )
            store.close()
    assert sum(held) == count
    print(f"hierarchical search, {held[1]} chunks, {held[0]} summaries, p50 of {query_count}:")
    print_p50(times, "raw embed + 2 queries")


def measure_alternately(
    service: "Service",
    raw: Callable[[str], None],
    kind: str,
    parameters: dict[str, Any],
    query_count: int,
) -> dict[str, list[float]]:
    """Return the seconds of each raw query, search over HTTP and empty request.

    They alternate in short blocks, so that other load on the machine affects all alike. A pause
    separates the blocks, because the model's threads keep spinning for a moment and would take
    processor cores from the other process.
    """
    from benchmarks.service import Connection

    connection = Connection(service.port)

    def search(query: str) -> None:
        connection.post(f"/api/v1/search/{kind}", {**parameters, "query": query})

    def request_nothing(query: str) -> None:
        connection.get("/health/live")

    times: dict[str, list[float]] = {"raw": [], "search": [], "bare": []}
    for block in range(-1, query_count // QUERIES_PER_BLOCK):
        for name, ask in (("raw", raw), ("search", search), ("bare", request_nothing)):
            time.sleep(PAUSE_SECONDS)
            for n in range(QUERIES_PER_BLOCK):
                query = f"{QUERIES[n % len(QUERIES)]} {block}"
                started = time.perf_counter()
                ask(query)
                if block >= 0:
                    times[name].append(time.perf_counter() - started)
    connection.close()
    return times


def print_p50(times: dict[str, list[float]], baseline: str) -> None:
    p50_raw, p50_ours, p50_bare = (statistics.median(each) * 1e3 for each in times.values())
    print(f"  {baseline} {p50_raw:7.2f} ms")
    print(f"  search over HTTP      {p50_ours:7.2f} ms   (a bare request: {p50_bare:.2f} ms)")
    print(f"  on top: {p50_ours - p50_raw:.2f} ms; ratio {p50_ours / p50_raw:.2f}")


def _count_synced_nodes(service: "Service", index: str) -> int:
    return int(service.api.get(f"indexes/{index}/").json()["nodes"]["synced"])


if __name__ == "__main__":
    with waiting_for_models():
        main()

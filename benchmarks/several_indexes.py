"""Measure nDCG@10 of searching three indexes with different recipes, and one with all their texts.

It measures no time: the same data give the same figures on any machine.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.quality import BEIR, MEASURE
from benchmarks.service import SampleText, add_texts, measured_service, wait_until_ready
from evaluation.judged_queries import JudgedQueries, read_corpus, read_judged_queries
from evaluation.measures import parse_measures
from evaluation.measuring import compute_measures
from tests.serving import Service

WHOLE = "whole"
TOLERANCE = 0.02  # the parts, searched together, may be this much worse than the whole
DEPTH = 100  # hits; several may be of one document
BATCH = 200  # documents in one request

# How the collection is indexed as a whole, and how each third of it is. The parts have the search
# settings of the presets `plain`, `papers` and `biomedical`.
SPECS = {
    WHOLE: "",
    "sentences": "",
    "abstracts": "chunks: {strategies: [{name: paragraph}]}\nsparse: {b: 0.75}\n"
    "search: {rrf_k: 5, sparse_weight: 1.2}\n",
    "short": "chunks: {strategies: [{name: sentence, max_chars: 250}]}\n"
    "search: {rrf_k: 3, sparse_weight: 1.5}\n",
}
PARTS = [name for name in SPECS if name != WHOLE]


def measure_several_indexes(collection: str, text_count: int) -> None:
    """``text_count``: texts indexed, the first of the collection; queries about others are left
    out."""
    folder = BEIR / collection
    if not folder.is_dir():
        print(f"{collection}: left out, there is no {folder}")
        return
    texts = _read_texts(folder)[:text_count]
    judged = _keep_answerable(read_judged_queries(folder), {text.id for text in texts})
    with tempfile.TemporaryDirectory() as specs:
        for name, spec in SPECS.items():
            Path(specs, f"{name}.yaml").write_text(f"title: {name}\n{spec}", encoding="utf-8")
        with measured_service(STRATA_SPECS_DIR=specs) as service:
            _fill(service, WHOLE, texts)
            for number, name in enumerate(PARTS):
                _fill(service, name, texts[number :: len(PARTS)])
            whole = _evaluate(service, [WHOLE], judged)
            parts = _evaluate(service, PARTS, judged)
    print(f"{MEASURE} of {len(judged.queries)} queries over {len(texts)} texts of {collection}:")
    print(f"  {'mode':8}{'one index':>12}{'three':>12}{'difference':>12}")
    for mode, value in whole.items():
        difference = parts[mode] - value
        verdict = "" if difference >= -TOLERANCE else f"  worse by more than {TOLERANCE}"
        print(f"  {mode:8}{value:12.4f}{parts[mode]:12.4f}{difference:+12.4f}{verdict}")


def _read_texts(folder: Path) -> list[SampleText]:
    return [
        SampleText(each.id, each.title or "Untitled", each.text)
        for each in read_corpus(folder)
        if each.text.strip()
    ]


def _keep_answerable(judged: JudgedQueries, documents: set[str]) -> JudgedQueries:
    kept = [key for key, grades in judged.qrels.items() if documents.issuperset(grades)]
    return JudgedQueries(
        {key: judged.queries[key] for key in kept}, {key: judged.qrels[key] for key in kept}
    )


def _fill(service: Service, index: str, texts: Sequence[SampleText]) -> None:
    for start in range(0, len(texts), BATCH):
        add_texts(service, texts[start : start + BATCH], index)
    wait_until_ready(service, len(texts), index)


def _evaluate(service: Service, indexes: list[str], judged: JudgedQueries) -> dict[str, float]:
    """The measure of each mode."""
    return {
        mode: _measure(
            judged,
            {
                key: list(_rank(service, indexes, query, mode))
                for key, query in judged.queries.items()
            },
        )
        for mode in ("hybrid", "dense", "sparse")
    }


def _measure(judged: JudgedQueries, rankings: Mapping[str, list[str]]) -> float:
    [values] = compute_measures(parse_measures([MEASURE]), judged, rankings).values()
    return sum(values) / len(values)


def _rank(service: Service, indexes: list[str], query: str, mode: str) -> Iterator[str]:
    """The documents of the best hits, each once."""
    asked = {"index": indexes, "query": query, "mode": mode, "limit": DEPTH, "verify": False}
    answer = service.api.post("search/pages", json=asked).raise_for_status().json()
    yield from dict.fromkeys(hit["artifact"]["external_id"] for hit in answer["hits"])

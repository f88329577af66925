"""Measure nDCG@10 of every mode of search on judged collections; the defaults are based on it.

It measures no time: the same data give the same figures on any machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tests.serving import ROOT

BEIR = ROOT.parent / "shared" / "data" / "beir"
SPEC_BY_COLLECTION = {  # folder of judged queries -> the spec that indexes its corpus
    "scifact": "plain",
    "pubmedqa-pqal": "plain",
    "acl-title2abs-10k": "papers",
}
SEARCH_MODES = ["dense", "sparse", "hybrid", "multi-query", "papers"]
MEASURE = "nDCG@10"
HYBRID_TOLERANCE = 0.005  # hybrid may be this much worse than the better of dense and sparse

# Components taken from the preset's pipeline, without reading filters and without refusals.
MULTI_QUERY_COMPONENTS = ["queries", "retriever", "fusion", "context"]


def measure_quality() -> None:
    """Index each collection once, in a temporary folder, and search it in every mode."""
    print(f"{MEASURE}, each collection indexed anew:")
    print(f"  {'':20}{''.join(f'{name:>13}' for name in SEARCH_MODES)}")
    for name, spec in SPEC_BY_COLLECTION.items():
        folder = BEIR / name
        if not folder.is_dir():
            print(f"  {name:20} left out: there is no {folder}")
            continue
        found = evaluate_collection(folder, spec)
        row = "".join(f"{found[system]:13.4f}" for system in SEARCH_MODES)
        best = max(found["dense"], found["sparse"])
        verdict = (
            ""
            if found["hybrid"] >= best - HYBRID_TOLERANCE
            else "  hybrid is worse than one of its rankings"
        )
        print(f"  {name:20}{row}{verdict}", flush=True)


def evaluate_collection(folder: Path, spec: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="strata-quality-") as pipelines:
        Path(pipelines, "multi-query.yaml").write_text(_build_multi_query_yaml(), encoding="utf-8")
        finished = subprocess.run(
            [
                sys.executable, "manage.py", "evaluate", str(folder), "--spec", spec,
                "--modes", ",".join(SEARCH_MODES), "--measures", MEASURE, "--json",
            ],
            cwd=ROOT,
            env=os.environ | {"STRATA_PIPELINES_DIR": pipelines},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
    return {row["mode"]: row["measures"][MEASURE] for row in json.loads(finished.stdout)}


def _build_multi_query_yaml() -> str:
    preset = yaml.safe_load((ROOT / "answers" / "pipelines" / "papers.yaml").read_text("utf-8"))
    links = [
        {"sender": "queries.queries", "receiver": "retriever.queries"},
        {"sender": "retriever.rankings", "receiver": "fusion.rankings"},
        {"sender": "fusion.passages", "receiver": "context.passages"},
    ]
    components = {name: preset["components"][name] for name in MULTI_QUERY_COMPONENTS}
    return yaml.safe_dump({"components": components, "connections": links})

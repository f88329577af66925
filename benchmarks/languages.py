"""Measure nDCG@10 of hybrid search beside its two halves, in five languages.

It measures no time: the same data give the same figures on any machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tests.serving import ROOT

XQUAD = ROOT.parent / "shared" / "data" / "beir" / "xquad"
LANGUAGES = ["en", "ar", "de", "th", "zh"]
MODES = ["dense", "sparse", "hybrid"]
MEASURE = "nDCG@10"
TOLERANCE = 0.01  # hybrid may be this much worse than the better half
QUESTIONS = 300  # the first of each language


def measure_languages(embedding: Path | None) -> None:
    """Print the figures of XQuAD (240 paragraphs in each language), with the questions in the
    language of the texts and in English.

    ``embedding``: a YAML file with the section ``embedding`` of a spec, which replaces the default
    model.
    """
    if not XQUAD.is_dir():
        print(f"languages: left out, there is no {XQUAD}")
        return
    spec: dict[str, object] = {"title": "Texts"}
    if embedding is not None:
        spec["embedding"] = yaml.safe_load(embedding.read_text("utf-8"))
    print(f"{MEASURE}{'texts':>12}{'questions':>12}{''.join(f'{mode:>10}' for mode in MODES)}")
    for texts in LANGUAGES:
        for questions in dict.fromkeys([texts, "en"]):
            found = _measure(spec, texts, questions)
            row = "".join(f"{found[mode]:10.4f}" for mode in MODES)
            best = max(found["dense"], found["sparse"])
            verdict = "" if found["hybrid"] >= best - TOLERANCE else "  hybrid is worse"
            print(f"{'':7}{texts:>12}{questions:>12}{row}{verdict}", flush=True)


def _measure(spec: dict[str, object], texts: str, questions: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="strata-languages-") as name:
        folder = Path(name)
        (folder / "texts.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
        (folder / "qrels").mkdir()
        shutil.copy(XQUAD / texts / "corpus.jsonl", folder)
        shutil.copy(XQUAD / questions / "queries.jsonl", folder)
        judgements = (XQUAD / texts / "qrels" / "test.tsv").read_text(encoding="utf-8")
        (folder / "qrels" / "test.tsv").write_text(
            "".join(judgements.splitlines(keepends=True)[: 1 + QUESTIONS]), encoding="utf-8"
        )
        finished = subprocess.run(
            [
                sys.executable, "manage.py", "evaluate", str(folder), "--spec", "texts",
                "--modes", ",".join(MODES), "--measures", MEASURE, "--json",
            ],
            cwd=ROOT,
            env=os.environ | {"STRATA_SPECS_DIR": str(folder)},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
    return {row["mode"]: row["measures"][MEASURE] for row in json.loads(finished.stdout)}

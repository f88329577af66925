"""Measure how well cited passages that support a sentence are told from those that do not.

It measures no time: the same data give the same figures on any machine.
"""

import csv
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from answers.citing import SUPPORTING_SHARE, measure_support
from benchmarks.quality import BEIR
from indexing.spec import SparseSpec
from indexing.stores import get_bm25_encoder

SHARES = (0.1, 0.15, SUPPORTING_SHARE, 0.25, 0.3, 0.4)


class Claim(NamedTuple):
    """``supporting``: an abstract that people judged the claim by. ``other``: any other."""

    text: str
    supporting: str
    other: str


def measure_citations() -> None:
    """Print, for each share, how many of scifact's claims keep the abstract they were judged by,
    and how many citations of any other abstract are marked. The share was chosen on the first half.
    """
    folder = BEIR / "scifact"
    if not folder.is_dir():
        print(f"citations: left out, there is no {folder}")
        return
    claims = list(_read_claims())
    encoder = get_bm25_encoder(SparseSpec())
    half = len(claims) // 2
    for name, part in (("first half", claims[:half]), ("second half", claims[half:])):
        supporting = [measure_support(each.text, each.supporting, encoder) for each in part]
        others = [measure_support(each.text, each.other, encoder) for each in part]
        print(f"{name}, {len(part)} claims: share  supporting kept  others marked")
        for share in SHARES:
            kept = 1 - _share_below(supporting, share)
            print(f"  {share:21.2f}{kept:17.2f}{_share_below(others, share):15.2f}")


def _read_claims() -> Iterator[Claim]:
    folder, generator = BEIR / "scifact", random.Random(3)
    abstracts, claims = _read_texts(folder / "corpus.jsonl"), _read_texts(folder / "queries.jsonl")
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            other = generator.choice(list(abstracts))
            yield Claim(claims[row["query-id"]], abstracts[row["corpus-id"]], abstracts[other])


def _read_texts(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8") as file:
        return {
            each["_id"]: f"{each.get('title', '')}\n{each['text']}"
            for each in map(json.loads, file)
        }


def _share_below(values: Sequence[float], bound: float) -> float:
    return sum(value < bound for value in values) / len(values)

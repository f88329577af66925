"""Measure how reliably different findings are told apart, and reworded ones are not: 500 labelled
pairs, and 100 opposite pairs, written by someone who did not know the rule.

It measures no time: the same pairs give the same figures on any machine, except for rounding.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.finding_pairs.write import PAIRS_FILE
from evidence.wording import has_same_words
from indexing import embedding
from indexing.spec import EmbeddingSpec

OPPOSITES_FILE = PAIRS_FILE.with_name("opposites.jsonl")
THRESHOLD = 0.9  # the default of an index


def measure_finding_pairs(*, shows_mistakes: bool = False) -> None:
    pairs = read_pairs(PAIRS_FILE)
    cosines = _compute_cosines(pairs)
    print(f"{len(pairs)} pairs of findings, threshold {THRESHOLD}:")
    for is_kept_aside in (False, True):
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for pair, cosine in zip(pairs, cosines, strict=True):
            if pair["is_kept_aside"] != is_kept_aside:
                continue
            kind = pair["differs_in"] or "reworded"
            by_vectors = bool(cosine >= THRESHOLD)
            is_repeat = by_vectors and _is_repeat(pair)
            counted = counts[kind]
            counted[0] += 1
            counted[1] += by_vectors == (pair["differs_in"] is None)
            counted[2] += is_repeat == (pair["differs_in"] is None)
            if shows_mistakes and by_vectors and is_repeat != (pair["differs_in"] is None):
                print(f"    {cosine:.3f} {kind}\n      {pair['first']}\n      {pair['second']}")
        _print_counts("kept aside" if is_kept_aside else "for writing the rule", counts)

    opposites = read_pairs(OPPOSITES_FILE)
    far_count = int((_compute_cosines(opposites) < THRESHOLD).sum())
    right = sum(not _is_repeat(pair) for pair in opposites)
    print(
        f"  opposites: kept apart {right}/{len(opposites)} by words, {far_count} by vectors alone"
    )


def read_pairs(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _compute_cosines(pairs: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    embedder = embedding.get_embedder(EmbeddingSpec())
    firsts, seconds = (
        embedder.embed_documents([pair[name] for pair in pairs]) for name in ("first", "second")
    )
    return np.asarray(np.sum(firsts * seconds, axis=1))


def _is_repeat(pair: dict[str, Any]) -> bool:
    return has_same_words(pair["second"], pair["first"])


def _print_counts(part: str, counts: dict[str, list[int]]) -> None:
    reworded = counts.pop("reworded")
    total, by_vectors, right = (sum(column) for column in zip(*counts.values(), strict=True))
    print(f"  {part}: kept apart {right}/{total} = {right / total:.3f}"
          f" (by vectors alone {by_vectors / total:.3f})")  # fmt: skip
    for kind, (of_kind, by_vectors, right) in counts.items():
        print(f"    {kind:10} {right}/{of_kind}   by vectors alone {by_vectors}/{of_kind}")
    of_kind, by_vectors, right = reworded
    print(f"    repeats found {right}/{of_kind}   by vectors alone {by_vectors}/{of_kind}")

"""Measure how reliably different findings are told apart, and reworded ones are not: 500 labelled
pairs.

It measures no time: the same pairs give the same figures on any machine, except for rounding.
"""

import json
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.finding_pairs.write import PAIRS_FILE
from evidence.wording import has_same_words
from indexing import embedding
from indexing.spec import EmbeddingSpec

THRESHOLD = 0.9  # the default of an index


def measure_finding_pairs(*, shows_mistakes: bool = False) -> None:
    pairs = [json.loads(line) for line in PAIRS_FILE.read_text(encoding="utf-8").splitlines()]
    embedder = embedding.get_embedder(EmbeddingSpec())
    firsts, seconds = (
        embedder.embed_documents([pair[name] for pair in pairs]) for name in ("first", "second")
    )
    cosines = np.sum(firsts * seconds, axis=1)
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

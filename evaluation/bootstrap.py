"""How far chance explains a difference between two systems, asked the same queries."""

from collections.abc import Iterable

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95
_SEED = 1993
_BLOCK = 500  # resamples drawn at once, to bound the memory they take


def bootstrap_interval(differences: Iterable[float]) -> tuple[float, float]:
    """The percentile interval of the mean of paired differences: 95 of 100 samples of as many
    queries as these, drawn from them with replacement, have their mean within it.

    The same for the same differences each time.

    Source:
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for
        comparing two systems by the same queries: Sakai, "Evaluating Evaluation Metrics based
        on the Bootstrap", SIGIR 2006.
    """
    sample = np.asarray(list(differences), dtype=np.float64)
    random = np.random.default_rng(_SEED)
    means = np.concatenate(
        [
            sample[random.integers(len(sample), size=(_BLOCK, len(sample)))].mean(axis=1)
            for _ in range(RESAMPLES // _BLOCK)
        ]
    )
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)

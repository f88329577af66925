"""Bootstrap confidence intervals for the difference between two systems on the same queries."""

from collections.abc import Iterable, Sequence

import numpy as np

RESAMPLE_COUNT = 10_000
CONFIDENCE_LEVEL = 0.95
_SEED = 1993
_RESAMPLES_PER_BLOCK = 500  # resamples drawn at once, to limit memory


def bootstrap_confidence_interval(differences: Iterable[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap percentile interval of the mean of paired differences.

    The random seed is fixed: the same differences give the same interval.

    Source:
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for
        comparing two systems by the same queries: Sakai, "Evaluating Evaluation Metrics based
        on the Bootstrap", SIGIR 2006.
    """
    sample = np.asarray(list(differences), dtype=np.float64)
    random = np.random.default_rng(_SEED)
    means = np.concatenate(
        [
            sample[random.integers(len(sample), size=(_RESAMPLES_PER_BLOCK, len(sample)))].mean(
                axis=1
            )
            for _ in range(RESAMPLE_COUNT // _RESAMPLES_PER_BLOCK)
        ]
    )
    tail = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def compare_paired_values(
    before: Sequence[float], after: Sequence[float]
) -> tuple[float, float, float, float, float]:
    """Return both means, the mean of the differences, and the ends of its interval. The values are
    given for the same queries in the same order."""
    differences = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    low, high = bootstrap_confidence_interval(differences)
    return float(np.mean(before)), float(np.mean(after)), float(differences.mean()), low, high

"""What to read from a simulated run: which requests count, how many are needed, and how sure a figure is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
BEYOND = 40
"""Requests of one run that should lie beyond the quantile a target is for."""
LEAST_REQUESTS = 1000
WARM_UP_TIMES = 3.0
"""Request times after which an engine that started empty is taken to be as full as it will be."""
CONFIDENCE = 0.95
REPEATS = 5
MOST_REPEATS = 20
"""Where an interval still contains its target, repeats are doubled up to this many."""


def requests_needed(statistic: str) -> int:
    """Measured requests of one run: 1,000, and 40 beyond the quantile (800 for P95, 4,000 for P99)."""
    beyond = 1 - QUANTILES.get(statistic, 0.5)
    return max(LEAST_REQUESTS, round(BEYOND / beyond))


def warm_up(load_requests: float) -> int:
    """Requests cut off at the start: as many as arrive in three request times (Little: the load arrives in one)."""
    return math.ceil(WARM_UP_TIMES * load_requests)


def statistic_of(values: Values, statistic: str) -> float:
    """Mean or quantile over requests; nan where there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return math.nan
    return float(known.mean()) if statistic == "mean" else float(np.quantile(known, QUANTILES[statistic]))


def interval(repeats: Sequence[float], *, positive: bool = False) -> tuple[float, float, float]:
    """(mean, low, high): 95 % interval of Student's t over independent repeats.

    ``positive`` figures (latencies) are taken as logarithms, so that one repeat with a long queue widens the interval
    upwards and never makes it negative; their mean is then the geometric one.
    """
    from scipy.special import stdtrit

    values = np.asarray(repeats, dtype=np.float64)
    logarithms = positive and bool(np.all(values > 0))
    if logarithms:
        values = np.log(values)
    mean, half = float(values.mean()), math.inf
    if len(values) > 1:
        width = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) / math.sqrt(len(values))
        half = width * float(values.std(ddof=1))
    found = np.array([mean, mean - half, mean + half])
    mean, low, high = (float(each) for each in (np.exp(found) if logarithms else found))
    return mean, low, high

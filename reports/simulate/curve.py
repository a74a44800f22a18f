"""Latency against load: the winners simulated from a light load to beyond their limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from reports.simulate.trial import LATENCIES, STATISTICS, Case, Result, run_all

SHARES = (0.4, 0.6, 0.9, 1.0, 1.1)
"""Loads as shares of the limit of a replica; the recommended load is one more point."""
REPEATS = 2
MOST_CURVES = 12
"""Winners that get a curve: more do not fit a report."""

COLUMNS = (
    "option_id", "limit_share", "load_requests", "arrivals_per_s", "metric", "statistic", "simulated", "low", "high",
)  # fmt: skip


def curves(winners: Sequence[tuple[str, Case, float, Result]]) -> pd.DataFrame:
    """The frame ``Run.latency_curves`` from (option_id, case, limit of a replica, result at the recommended load)."""
    points = [
        (option, share, case, share * limit)
        for option, case, limit, _ in winners[:MOST_CURVES]
        for share in SHARES
        if share * limit >= 1
    ]
    results = run_all([(case, load) for _, _, case, load in points], REPEATS)
    found = [(option, share, result) for (option, share, _, _), result in zip(points, results, strict=True)]
    found += [(option, known.load / limit, known) for option, _, limit, known in winners[:MOST_CURVES]]
    rows = [row for each in found for row in _rows(*each)]
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values(["option_id", "load_requests"], ignore_index=True)


def _rows(option: str, share: float, result: Result) -> list[dict[str, Any]]:
    return [
        {
            "option_id": option, "limit_share": share, "load_requests": result.load,
            "arrivals_per_s": result.requests_per_s, "metric": metric, "statistic": statistic,
            "simulated": estimate.mean, "low": estimate.low, "high": estimate.high,
        }
        for metric in LATENCIES
        for statistic in STATISTICS
        for estimate in [result.estimates[metric, statistic]]
    ]  # fmt: skip

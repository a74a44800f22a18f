"""From the separate limits of a replica to the load it is recommended to carry (roofline)."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.formulas.meta import floor, formula


@formula(unit="requests", label="Limit of a replica", symbol="B_{max}", sources=("roofline-note",))
def limit_requests(
    memory_requests: Any,
    engine_requests: Any,
    tpot_requests: Any,
    ttft_requests: Any,
    answer_requests: Any,
    utilisation_requests: Any,
    simulated_requests: Any,
) -> Any:
    """The least of what memory holds, the engine schedules, the targets and the prefill allow, and, where one was run,
    a simulation."""
    return np.minimum(
        np.minimum(np.minimum(memory_requests, engine_requests), np.minimum(tpot_requests, ttft_requests)),
        np.minimum(np.minimum(answer_requests, utilisation_requests), simulated_requests),
    )


@formula(unit="requests", label="One request more", symbol="B_{max}+1", sources=("roofline-note",))
def one_more_requests(limit_requests: Any) -> Any:
    """The load at which some constraint must fail: the proof that the limit is the limit."""
    return limit_requests + 1


@formula(unit="requests", label="Recommended load of a replica", symbol="B", sources=("rule-of-thumb-note",))
def recommended_requests(limit_requests: Any, safety_factor: Any) -> Any:
    """The limit less the safety margin, in whole requests, and one request when only one fits."""
    return np.maximum(floor(limit_requests * safety_factor), np.minimum(limit_requests, 1))


@formula(unit="requests", label="Load at which latency is stated", symbol="B_{load}", sources=("roofline-note",))
def load_requests(recommended_requests: Any) -> Any:
    """The recommended load; a single request where not even one meets the targets, so that the miss has a number."""
    return np.maximum(recommended_requests, 1)


FORMULAS = (limit_requests, one_more_requests, recommended_requests, load_requests)

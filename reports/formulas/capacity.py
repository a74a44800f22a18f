"""From one replica to the cards of one deployment unit (roofline)."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import MS_PER_S
from reports.formulas.meta import formula


@formula(unit="requests", label="Concurrency by memory", symbol="C_{mem}", sources=("roofline-note",))
def memory_concurrency(replicas: Any, memory_requests: Any) -> Any:
    """All replicas of the unit, limited by memory alone."""
    return replicas * memory_requests


@formula(unit="requests", label="Concurrency by TPOT target", symbol="C_{TPOT}", sources=("roofline-note",))
def tpot_concurrency(replicas: Any, tpot_requests: Any) -> Any:
    """All replicas of the unit, limited by the target time per output token alone."""
    return replicas * tpot_requests


@formula(unit="requests", label="Concurrency by TTFT target", symbol="C_{TTFT}", sources=("roofline-note",))
def ttft_concurrency(replicas: Any, ttft_requests: Any) -> Any:
    """All replicas of the unit, limited by the target time to first token alone."""
    return replicas * ttft_requests


@formula(unit="requests", label="Concurrency by answer target", symbol="C_{a}", sources=("roofline-note",))
def answer_concurrency(replicas: Any, answer_requests: Any) -> Any:
    """All replicas of the unit, limited by the target time of the whole answer alone."""
    return replicas * answer_requests


@formula(unit="requests", label="Concurrency if all were P95", symbol="C_{P95}", sources=("rule-of-thumb-note",))
def memory_p95_concurrency(replicas: Any, memory_p95_requests: Any) -> Any:
    """The cautious answer of memory, for comparison: what caution costs is the difference to the one by memory."""
    return replicas * memory_p95_requests


@formula(unit="requests", label="Recommended concurrency", symbol="C", sources=("rule-of-thumb-note",))
def recommended_concurrency(replicas: Any, recommended_requests: Any) -> Any:
    """What the unit should be given to carry at its peak."""
    return replicas * recommended_requests


@formula(unit="tokens/s", label="Output tokens per second", symbol="\\dot{o}", sources=("roofline-note",))
def output_tokens_per_s(recommended_concurrency: Any, tpot_ms: Any) -> Any:
    """Every running request produces one token each TPOT."""
    return recommended_concurrency / tpot_ms * MS_PER_S


@formula(unit="s", label="Time of a whole request", symbol="t_{req}", sources=("roofline-note",))
def request_time_s(answer_ms: Any) -> Any:
    """First token, then one TPOT for each further token of the mean answer."""
    return answer_ms / MS_PER_S


@formula(unit="s", label="Time of a request in a finite run", symbol="t_{job}", sources=("roofline-note",))
def run_request_s(
    burst_flag: Any,
    output_mean_tokens: Any,
    step_ms: Any,
    token_step_factor: Any,
    load_requests: Any,
    data_parallel: Any,
    prefill_ms: Any,
    request_time_s: Any,
) -> Any:
    """What it adds to the run, times the requests that run: in a burst its steps and all prompts of a full replica."""
    return np.where(
        burst_flag > 0,
        (output_mean_tokens * step_ms * token_step_factor + load_requests / data_parallel * prefill_ms) / MS_PER_S,
        request_time_s,
    )


FORMULAS = (
    memory_concurrency,
    tpot_concurrency,
    ttft_concurrency,
    answer_concurrency,
    memory_p95_concurrency,
    recommended_concurrency,
    output_tokens_per_s,
    request_time_s,
    run_request_s,
)

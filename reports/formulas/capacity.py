"""From one replica to the cards of one deployment unit (roofline)."""

from __future__ import annotations

from typing import Any

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


@formula(unit="requests", label="Recommended concurrency", symbol="C", sources=("rule-of-thumb-note",))
def recommended_concurrency(replicas: Any, recommended_requests: Any) -> Any:
    """What the unit should be given to carry at its peak."""
    return replicas * recommended_requests


@formula(unit="tokens/s", label="Output tokens per second", symbol="\\dot{o}", sources=("roofline-note",))
def output_tokens_per_s(recommended_concurrency: Any, tpot_ms: Any) -> Any:
    """Every running request produces one token each TPOT."""
    return recommended_concurrency / tpot_ms * MS_PER_S


@formula(unit="s", label="Time of a whole request", symbol="t_{req}", sources=("roofline-note",))
def request_time_s(ttft_ms: Any, tpot_ms: Any, output_mean_tokens: Any) -> Any:
    """First token, then one TPOT for each further token of the mean answer."""
    return (ttft_ms + tpot_ms * output_mean_tokens) / MS_PER_S


FORMULAS = (
    memory_concurrency,
    tpot_concurrency,
    ttft_concurrency,
    recommended_concurrency,
    output_tokens_per_s,
    request_time_s,
)

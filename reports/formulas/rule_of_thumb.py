"""The published eight-card calculator: four short formulas, here for comparison, not as the default.

It ignores that one read of the weights serves the whole batch, that grouped KV heads shrink the cache, and that
prefill and decode disturb each other; against real servers it is off by about ten times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import (
    BYTES_PER_16BIT,
    BYTES_PER_GB,
    BYTES_PER_GIB,
    FLOP_PER_TFLOP,
    MS_PER_S,
    PARAMETERS_PER_BILLION,
)
from reports.formulas.meta import floor, formula

_SOURCE = ("rule-of-thumb-note",)


@formula(unit="tokens", label="Tokens of one request", symbol="s", sources=_SOURCE)
def context_tokens(
    length_is_p95: Any, input_p95_tokens: Any, output_p95_tokens: Any, input_mean_tokens: Any, output_mean_tokens: Any
) -> Any:
    """Input and output together, each at its 95th percentile (the default for a long tail) or at its mean."""
    return np.where(length_is_p95 > 0, input_p95_tokens + output_p95_tokens, input_mean_tokens + output_mean_tokens)


@formula(unit="GB", label="Weights", symbol="M_w", sources=_SOURCE)
def weights_gb(parameters_b: Any, nominal_bytes_per_parameter: Any, rule_weight_factor: Any) -> Any:
    """Parameters times nominal bytes; a factor covers embedding and output layers that stay at 16 bit."""
    return parameters_b * nominal_bytes_per_parameter * rule_weight_factor * PARAMETERS_PER_BILLION / BYTES_PER_GB


@formula(unit="GB", label="Room for KV cache", symbol="M_{kv}", sources=_SOURCE)
def kv_space_gb(
    unit_cards: Any,
    memory_nominal_gb: Any,
    rule_usable_memory_share: Any,
    weights_gb: Any,
    rule_fragmentation_factor: Any,
) -> Any:
    """All cards as one pool, less a reserve and one copy of the weights, less fragmentation."""
    return (
        np.maximum(unit_cards * memory_nominal_gb * rule_usable_memory_share - weights_gb, 0)
        * rule_fragmentation_factor
    )


@formula(unit="GB", label="KV cache per request", symbol="m_{kv}", sources=_SOURCE)
def kv_request_gb(
    layers: Any, attention_heads: Any, head_dim: Any, context_tokens: Any, units_as_published: Any
) -> Any:
    """Keys and values of all attention heads at 16 bit. The source divides by GiB and calls it GB: a switch."""
    return (
        2
        * layers
        * attention_heads
        * head_dim
        * BYTES_PER_16BIT
        * context_tokens
        / np.where(units_as_published > 0, BYTES_PER_GIB, BYTES_PER_GB)
    )


@formula(unit="requests", label="Concurrency by memory", symbol="C_{mem}", sources=_SOURCE)
def memory_concurrency(kv_space_gb: Any, kv_request_gb: Any) -> Any:
    """Whole requests that the KV room holds."""
    return floor(kv_space_gb / kv_request_gb)


@formula(unit="requests/s", label="Prefill rate", symbol="\\lambda", sources=_SOURCE)
def prefill_requests_per_s(
    unit_cards: Any,
    peak_16bit_tflops: Any,
    link_is_nvlink: Any,
    rule_prefill_utilisation: Any,
    rule_prefill_utilisation_pcie: Any,
    parameters_b: Any,
    input_p95_tokens: Any,
) -> Any:
    """Peak rate times utilisation over two operations a parameter and prompt token; PCIe has its own utilisation."""
    return (
        unit_cards
        * peak_16bit_tflops
        * FLOP_PER_TFLOP
        * np.where(link_is_nvlink > 0, rule_prefill_utilisation, rule_prefill_utilisation_pcie)
        / (2 * parameters_b * PARAMETERS_PER_BILLION * input_p95_tokens)
    )


@formula(unit="s", label="Time of a whole request", symbol="t_{req}", sources=_SOURCE)
def request_time_s(prefill_requests_per_s: Any, output_mean_tokens: Any, rule_tokens_per_s: Any) -> Any:
    """One prefill, then the mean answer at the promised token rate."""
    return 1 / prefill_requests_per_s + output_mean_tokens / rule_tokens_per_s


@formula(unit="s", label="Time of a request in a finite run", symbol="t_{job}", sources=_SOURCE)
def run_request_s(request_time_s: Any) -> Any:
    """As any other: this method knows no bursts."""
    return request_time_s


@formula(unit="requests", label="Concurrency by prefill", symbol="C_{pre}", sources=_SOURCE)
def prefill_concurrency(prefill_requests_per_s: Any, request_time_s: Any) -> Any:
    """Little's law: arrivals that prefill can take, times their time in the system."""
    return prefill_requests_per_s * request_time_s


@formula(unit="requests", label="Concurrency by decode", symbol="C_{dec}", sources=_SOURCE)
def decode_concurrency(
    unit_cards: Any,
    memory_bandwidth_gb_per_s: Any,
    weights_gb: Any,
    rule_tokens_per_s: Any,
    link_is_nvlink: Any,
    rule_pcie_link_factor: Any,
) -> Any:
    """Bandwidth over weights and token rate, as if every request read the weights for itself."""
    return (
        unit_cards
        * memory_bandwidth_gb_per_s
        / (weights_gb * rule_tokens_per_s)
        * np.where(link_is_nvlink > 0, 1, rule_pcie_link_factor)
    )


@formula(unit="requests", label="Recommended concurrency", symbol="C", sources=_SOURCE)
def recommended_concurrency(
    memory_concurrency: Any, prefill_concurrency: Any, decode_concurrency: Any, safety_factor: Any
) -> Any:
    """The least of the three, less the safety margin."""
    return floor(np.minimum(np.minimum(memory_concurrency, prefill_concurrency), decode_concurrency) * safety_factor)


@formula(unit="ms", label="Time per output token (TPOT)", symbol="TPOT", sources=_SOURCE)
def tpot_ms(rule_tokens_per_s: Any) -> Any:
    """The promised token rate, turned round; this method does not predict it."""
    return MS_PER_S / rule_tokens_per_s


@formula(unit="ms", label="Time to first token (TTFT), mean", symbol="TTFT", sources=_SOURCE)
def ttft_ms(prefill_requests_per_s: Any) -> Any:
    """One prefill on an idle machine; no queue."""
    return MS_PER_S / prefill_requests_per_s


@formula(unit="tokens/s", label="Output tokens per second", symbol="\\dot{o}", sources=_SOURCE)
def output_tokens_per_s(recommended_concurrency: Any, rule_tokens_per_s: Any) -> Any:
    """Every recommended request at the promised rate."""
    return recommended_concurrency * rule_tokens_per_s


FORMULAS = (
    context_tokens,
    weights_gb,
    kv_space_gb,
    kv_request_gb,
    memory_concurrency,
    prefill_requests_per_s,
    request_time_s,
    run_request_s,
    prefill_concurrency,
    decode_concurrency,
    recommended_concurrency,
    tpot_ms,
    ttft_ms,
    output_tokens_per_s,
)

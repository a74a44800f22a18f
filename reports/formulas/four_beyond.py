"""What would raise the least of the four bottlenecks, and what becomes of a load beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import BYTES_PER_GB, MS_PER_S
from reports.formulas.four_memory import SOURCE
from reports.formulas.meta import floor, formula, normal_tail


@formula(unit="requests", label="Safe limit with a second switch", sources=SOURCE)
def switch_concurrency(
    memory_concurrency: Any,
    compute_concurrency: Any,
    cpu_concurrency: Any,
    pcie_concurrency: Any,
    four_switch_pieces: Any,
    four_lanes_flag: Any,
    four_nvswitch_flag: Any,
) -> Any:
    """One more PCIe switch with its own link to the host, where switches are what cards share."""
    return floor(
        np.minimum(
            np.minimum(memory_concurrency, np.minimum(compute_concurrency, cpu_concurrency)),
            pcie_concurrency
            * (1 + (1 - np.maximum(four_lanes_flag, four_nvswitch_flag)) / np.maximum(four_switch_pieces, 1)),
        )
    )


@formula(unit="requests", label="Safe limit with twice the processors", sources=SOURCE)
def processor_concurrency(
    memory_concurrency: Any, compute_concurrency: Any, pcie_concurrency: Any, cpu_concurrency: Any
) -> Any:
    """As many cores again."""
    return floor(
        np.minimum(
            np.minimum(memory_concurrency, np.minimum(compute_concurrency, pcie_concurrency)), 2 * cpu_concurrency
        )
    )


@formula(unit="requests", label="Safe limit with one card more", sources=SOURCE)
def card_concurrency(
    memory_concurrency: Any,
    memory_nominal_gb: Any,
    four_fragmentation_share: Any,
    memory_next_gb: Any,
    compute_concurrency: Any,
    unit_cards: Any,
    pcie_concurrency: Any,
    cpu_concurrency: Any,
) -> Any:
    """Its memory at the present growth a request, its arithmetic, and the same host: PCIe and CPU stay."""
    return floor(
        np.minimum(
            np.minimum(
                memory_concurrency + memory_nominal_gb * (1 - four_fragmentation_share) / memory_next_gb,
                compute_concurrency * (unit_cards + 1) / unit_cards,
            ),
            np.minimum(pcie_concurrency, cpu_concurrency),
        )
    )


CHANGES = (switch_concurrency, processor_concurrency, card_concurrency)


@formula(unit="ratio", label="How much longer everything takes", symbol="\\rho", sources=SOURCE)
def asked_stretch_ratio(asked_requests: Any, rate_concurrency: Any) -> Any:
    """More requests than the slowest resource serves in the promised time: time grows in proportion (Little's law)."""
    return np.maximum(asked_requests / rate_concurrency, 1)


@formula(unit="ms", label="TPOT at the load asked for", symbol="TPOT_{ask}", sources=SOURCE)
def asked_tpot_ms(tpot_target_ms: Any, asked_stretch_ratio: Any) -> Any:
    """The promise, stretched."""
    return tpot_target_ms * asked_stretch_ratio


@formula(unit="ms", label="TTFT at the load asked for", symbol="TTFT_{ask}", sources=SOURCE)
def asked_ttft_ms(
    ttft_target_ms: Any, asked_stretch_ratio: Any, asked_requests: Any, memory_concurrency: Any, request_time_s: Any
) -> Any:
    """The promise, stretched, and the turns that requests wait for which there is no memory."""
    return (
        ttft_target_ms * asked_stretch_ratio
        + np.maximum(asked_requests / memory_concurrency - 1, 0) * request_time_s * asked_stretch_ratio * MS_PER_S
    )


@formula(unit="ratio", label="TPOT over its target", symbol="\\delta_{TPOT}", sources=SOURCE)
def asked_tpot_miss_share(asked_tpot_ms: Any, tpot_target_ms: Any) -> Any:
    """0 where it is met."""
    return asked_tpot_ms / tpot_target_ms - 1


@formula(unit="ratio", label="TTFT over its target", symbol="\\delta_{TTFT}", sources=SOURCE)
def asked_ttft_miss_share(asked_ttft_ms: Any, ttft_target_ms: Any) -> Any:
    """0 where it is met."""
    return asked_ttft_ms / ttft_target_ms - 1


@formula(unit="GB", label="KV cache of a running request, mean", symbol="\\mu", sources=("methods-note",))
def asked_mean_gb(
    resident_kv_elements: Any, kv_elements_per_token: Any, kv_token_bytes: Any, four_page_padding_share: Any
) -> Any:
    """Half its answer on average, by the distribution of lengths."""
    return resident_kv_elements / kv_elements_per_token * kv_token_bytes * (1 + four_page_padding_share) / BYTES_PER_GB


@formula(unit="GB", label="KV cache of a running request, deviation", symbol="\\sigma_{kv}", sources=("methods-note",))
def asked_deviation_gb(
    resident_deviation_kv_elements: Any, kv_elements_per_token: Any, kv_token_bytes: Any, four_page_padding_share: Any
) -> Any:
    """Over the requests that run at one moment."""
    return (
        resident_deviation_kv_elements
        / kv_elements_per_token
        * kv_token_bytes
        * (1 + four_page_padding_share)
        / BYTES_PER_GB
    )


@formula(unit="GB", label="Room for KV cache at the load asked for", sources=SOURCE)
def asked_room_gb(
    kv_space_gb: Any,
    activations_gb: Any,
    memory_next_gb: Any,
    kv_request_gb: Any,
    asked_requests: Any,
    memory_searched_requests: Any,
) -> Any:
    """What activations leave, as they are at the limit and as they grow from there."""
    return (
        kv_space_gb
        - activations_gb
        - (memory_next_gb - kv_request_gb) * np.maximum(asked_requests - memory_searched_requests, 0)
    )


@formula(unit="ratio", label="Probability of preemption", symbol="P_{pre}", sources=("methods-note",))
def asked_preemption_probability(
    asked_room_gb: Any, asked_requests: Any, asked_mean_gb: Any, asked_deviation_gb: Any
) -> Any:
    """That the running requests outgrow the memory: their sum is taken as normal."""
    return normal_tail(
        (asked_room_gb - asked_requests * asked_mean_gb)
        / np.maximum(asked_deviation_gb * np.sqrt(asked_requests), asked_mean_gb / BYTES_PER_GB)
    )


ASKED = (
    asked_stretch_ratio,
    asked_tpot_ms,
    asked_ttft_ms,
    asked_tpot_miss_share,
    asked_ttft_miss_share,
    asked_mean_gb,
    asked_deviation_gb,
    asked_room_gb,
    asked_preemption_probability,
)

FORMULAS = (*CHANGES, *ASKED)

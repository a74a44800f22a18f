"""Compute, host link and processor of the four bottlenecks, and the least of the four.

A request takes the time that the targets promise. Each resource that works at a rate carries as many requests at once
as it can serve in that time (Little's law).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import (
    BYTES_PER_16BIT,
    BYTES_PER_GB,
    FLOP_PER_TFLOP,
    MS_PER_S,
    PARAMETERS_PER_BILLION,
    PCIE_LANES,
    US_PER_MS,
)
from reports.formulas.four_memory import SOURCE
from reports.formulas.meta import floor, formula


@formula(unit="s", label="Time of a whole request", symbol="t_{req}", sources=SOURCE)
def request_time_s(ttft_target_ms: Any, tpot_target_ms: Any, output_mean_tokens: Any, answer_target_ms: Any) -> Any:
    """First token and every further one as the targets promise: this method predicts no latency."""
    return np.minimum(ttft_target_ms + tpot_target_ms * output_mean_tokens, answer_target_ms) / MS_PER_S


@formula(unit="s", label="Time of a request in a finite run", symbol="t_{job}", sources=SOURCE)
def run_request_s(request_time_s: Any) -> Any:
    """As any other: this method knows no bursts."""
    return request_time_s


@formula(unit="requests", label="Requests by memory", symbol="C_{mem}", sources=SOURCE)
def memory_concurrency(memory_searched_requests: Any, memory_left_gb: Any, memory_next_gb: Any) -> Any:
    """The whole requests that the search found, and the part of one more that the rest would hold."""
    return memory_searched_requests + np.maximum(memory_left_gb, 0) / memory_next_gb


@formula(unit="TFLOP/s", label="Rate of a card at this length", symbol="F(s)", sources=SOURCE)
def card_tflops(
    input_mean_tokens: Any,
    curve_first_tflops: Any,
    curve_second_tflops: Any,
    curve_third_tflops: Any,
    curve_fourth_tflops: Any,
    four_curve_first_tokens: Any,
    four_curve_second_tokens: Any,
    four_curve_third_tokens: Any,
    four_curve_fourth_tokens: Any,
) -> Any:
    """Straight lines between four measured lengths; level outside them."""
    return (
        curve_first_tflops
        + (curve_second_tflops - curve_first_tflops)
        * np.minimum(
            np.maximum(
                (input_mean_tokens - four_curve_first_tokens)
                / np.maximum(four_curve_second_tokens - four_curve_first_tokens, 1),
                0,
            ),
            1,
        )
        + (curve_third_tflops - curve_second_tflops)
        * np.minimum(
            np.maximum(
                (input_mean_tokens - four_curve_second_tokens)
                / np.maximum(four_curve_third_tokens - four_curve_second_tokens, 1),
                0,
            ),
            1,
        )
        + (curve_fourth_tflops - curve_third_tflops)
        * np.minimum(
            np.maximum(
                (input_mean_tokens - four_curve_third_tokens)
                / np.maximum(four_curve_fourth_tokens - four_curve_third_tokens, 1),
                0,
            ),
            1,
        )
    )


@formula(unit="1e9", label="Parameters a token passes", symbol="A", sources=SOURCE)
def token_parameters_b(
    parameters_b: Any,
    moe_layers: Any,
    experts: Any,
    experts_per_token: Any,
    expert_matrices: Any,
    hidden_size: Any,
    expert_intermediate_size: Any,
) -> Any:
    """All of them, less the experts that a token is not sent to."""
    return (
        parameters_b
        - moe_layers
        * (experts - experts_per_token)
        * expert_matrices
        * hidden_size
        * expert_intermediate_size
        / PARAMETERS_PER_BILLION
    )


@formula(unit="TFLOP", label="Arithmetic of a request", symbol="W", sources=SOURCE)
def request_tflop(
    four_token_tflop: Any,
    token_parameters_b: Any,
    input_mean_tokens: Any,
    output_mean_tokens: Any,
    prefix_hit_share: Any,
) -> Any:
    """Two operations a parameter and token that is not cached, unless another number is stated."""
    return np.where(
        four_token_tflop > 0, four_token_tflop, 2 * token_parameters_b * PARAMETERS_PER_BILLION / FLOP_PER_TFLOP
    ) * (input_mean_tokens * (1 - prefix_hit_share) + output_mean_tokens)


@formula(unit="requests", label="Requests by compute", symbol="C_{comp}", sources=SOURCE)
def compute_concurrency(unit_cards: Any, card_tflops: Any, request_time_s: Any, request_tflop: Any) -> Any:
    """What all cards compute in the time of a request, over what it takes."""
    return unit_cards * card_tflops * request_time_s / request_tflop


@formula(unit="GB/s", label="Rate of the links to the host", symbol="W_{host}", sources=SOURCE)
def host_rate_gb_per_s(
    host_link_gb_per_s: Any,
    four_lanes_flag: Any,
    four_lane_pieces: Any,
    four_switch_pieces: Any,
    four_link_loss_share_per_celsius: Any,
    four_link_celsius: Any,
    four_link_reference_celsius: Any,
) -> Any:
    """One link for each switch, or the lanes of all cards; slower by a straight line as it warms."""
    return (
        host_link_gb_per_s
        * np.where(four_lanes_flag > 0, four_lane_pieces / PCIE_LANES, four_switch_pieces)
        * (1 - four_link_loss_share_per_celsius * (four_link_celsius - four_link_reference_celsius))
    )


@formula(unit="ratio", label="Prefill's share of the traffic", symbol="p", sources=SOURCE)
def prefill_traffic_share(input_mean_tokens: Any, output_mean_tokens: Any) -> Any:
    """By tokens."""
    return input_mean_tokens / (input_mean_tokens + output_mean_tokens)


@formula(unit="ratio", label="Utilisation of the host link", symbol="u_{link}", sources=SOURCE)
def link_utilisation(prefill_traffic_share: Any, four_prefill_utilisation: Any, four_decode_utilisation: Any) -> Any:
    """That of prefill and that of decode, weighted by prefill's share."""
    return prefill_traffic_share * four_prefill_utilisation + (1 - prefill_traffic_share) * four_decode_utilisation


@formula(unit="bytes", label="Host-link bytes of a token", symbol="b_{link}", sources=SOURCE)
def link_token_bytes(
    four_link_bytes_per_token: Any,
    layers: Any,
    hidden_size: Any,
    unit_cards: Any,
    four_bridged_flag: Any,
    four_bridged_share: Any,
    four_nvswitch_flag: Any,
    four_host_bytes_per_token: Any,
) -> Any:
    """As stated; else two all-reduces a layer between all cards, but for what bridges in pairs take over, and none
    where cards talk through NVSwitch; and what the host exchanges for each token."""
    return four_host_bytes_per_token + np.where(
        four_link_bytes_per_token > 0,
        four_link_bytes_per_token,
        (1 - four_nvswitch_flag)
        * (1 - four_bridged_flag * four_bridged_share)
        * 2
        * layers
        * hidden_size
        * BYTES_PER_16BIT
        * 2
        * (unit_cards - 1)
        / unit_cards,
    )


@formula(unit="GB", label="Host-link bytes of a request", symbol="m_{link}", sources=SOURCE)
def link_request_gb(
    link_token_bytes: Any, input_mean_tokens: Any, output_mean_tokens: Any, four_swap_share: Any, kv_request_gb: Any
) -> Any:
    """All its tokens, and its KV cache out and in again for the share of requests that are swapped."""
    return (
        link_token_bytes * (input_mean_tokens + output_mean_tokens) / BYTES_PER_GB + 2 * four_swap_share * kv_request_gb
    )


@formula(unit="requests", label="Requests by PCIe", symbol="C_{pcie}", sources=SOURCE)
def pcie_concurrency(host_rate_gb_per_s: Any, link_utilisation: Any, request_time_s: Any, link_request_gb: Any) -> Any:
    """What the links move in the time of a request, over what it moves."""
    return host_rate_gb_per_s * link_utilisation * request_time_s / link_request_gb


@formula(unit="Gcycles", label="Processor cycles of a request", symbol="c_{req}", sources=SOURCE)
def cpu_request_gcycles(
    four_instructions_b: Any,
    four_instructions_per_cycle_ratio: Any,
    tokenise_us_per_token: Any,
    input_mean_tokens: Any,
    sampling_ms: Any,
    scheduling_ms: Any,
    four_reference_ghz: Any,
) -> Any:
    """Tokenising, sampling and scheduling at the clock they were timed at; or instructions over instructions per cycle,
    where they were counted."""
    return np.where(
        four_instructions_b > 0,
        four_instructions_b / four_instructions_per_cycle_ratio,
        (tokenise_us_per_token * input_mean_tokens / US_PER_MS + sampling_ms + scheduling_ms)
        / MS_PER_S
        * four_reference_ghz,
    )


@formula(unit="requests", label="Requests by CPU", symbol="C_{cpu}", sources=SOURCE)
def cpu_concurrency(
    cpu_cores: Any,
    cpu_clock_ghz: Any,
    four_other_services_share: Any,
    four_interrupt_balance_factor: Any,
    request_time_s: Any,
    cpu_request_gcycles: Any,
) -> Any:
    """Cycles that other services and badly spread interrupts leave in the time of a request, over its own."""
    return (
        cpu_cores
        * cpu_clock_ghz
        * (1 - four_other_services_share)
        * four_interrupt_balance_factor
        * request_time_s
        / cpu_request_gcycles
    )


@formula(unit="requests", label="Requests by what works at a rate", symbol="C_{rate}", sources=SOURCE)
def rate_concurrency(compute_concurrency: Any, pcie_concurrency: Any, cpu_concurrency: Any) -> Any:
    """The least of compute, PCIe and CPU: beyond it everybody waits longer."""
    return np.minimum(np.minimum(compute_concurrency, pcie_concurrency), cpu_concurrency)


@formula(unit="requests", label="Least of the four", symbol="C_{min}", sources=SOURCE)
def least_concurrency(memory_concurrency: Any, rate_concurrency: Any) -> Any:
    """The bottleneck."""
    return np.minimum(memory_concurrency, rate_concurrency)


@formula(unit="requests", label="Next of the four", symbol="C_{2}", sources=SOURCE)
def runner_up_concurrency(
    memory_concurrency: Any, compute_concurrency: Any, pcie_concurrency: Any, cpu_concurrency: Any
) -> Any:
    """The limit that binds when the bottleneck is gone."""
    return np.minimum(
        np.maximum(np.minimum(memory_concurrency, compute_concurrency), np.minimum(pcie_concurrency, cpu_concurrency)),
        np.minimum(np.maximum(memory_concurrency, compute_concurrency), np.maximum(pcie_concurrency, cpu_concurrency)),
    )


@formula(unit="ratio", label="Margin to the next limit", symbol="\\delta_{2}", sources=SOURCE)
def runner_up_margin_share(runner_up_concurrency: Any, least_concurrency: Any) -> Any:
    """How much further the next limit is."""
    return runner_up_concurrency / least_concurrency - 1


@formula(unit="requests", label="Safe limit", symbol="C_{safe}", sources=SOURCE)
def limit_concurrency(least_concurrency: Any) -> Any:
    """The least of the four in whole requests."""
    return floor(least_concurrency)


@formula(unit="requests", label="Recommended concurrency", symbol="C", sources=SOURCE)
def recommended_concurrency(limit_concurrency: Any, safety_factor: Any) -> Any:
    """The safe limit, less the safety margin of the scenario."""
    return floor(limit_concurrency * safety_factor)


@formula(unit="ms", label="Time per output token (TPOT)", symbol="TPOT", sources=SOURCE)
def tpot_ms(tpot_target_ms: Any) -> Any:
    """As promised: below the limits this method has nothing to add."""
    return tpot_target_ms


@formula(unit="ms", label="Time to first token (TTFT), mean", symbol="TTFT", sources=SOURCE)
def ttft_ms(ttft_target_ms: Any) -> Any:
    """As promised."""
    return ttft_target_ms


@formula(unit="tokens/s", label="Output tokens per second", symbol="\\dot{o}", sources=SOURCE)
def output_tokens_per_s(recommended_concurrency: Any, output_mean_tokens: Any, request_time_s: Any) -> Any:
    """Every recommended request finishes its answer in the promised time."""
    return recommended_concurrency * output_mean_tokens / request_time_s


FORMULAS = (
    request_time_s,
    run_request_s,
    memory_concurrency,
    card_tflops,
    token_parameters_b,
    request_tflop,
    compute_concurrency,
    host_rate_gb_per_s,
    prefill_traffic_share,
    link_utilisation,
    link_token_bytes,
    link_request_gb,
    pcie_concurrency,
    cpu_request_gcycles,
    cpu_concurrency,
    rate_concurrency,
    least_concurrency,
    runner_up_concurrency,
    runner_up_margin_share,
    limit_concurrency,
    recommended_concurrency,
    tpot_ms,
    ttft_ms,
    output_tokens_per_s,
)

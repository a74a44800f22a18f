"""What a load test of one replica shows: how many requests run, throughput of endless and finite runs, burst latency.

These formulas predict measured rows, not candidates: the load is what the test offered, and a finite test ends with a
tail in which the longest answers run alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import MS_PER_S
from reports.formulas.meta import formula


@formula(unit="requests", label="Requests that run at once", symbol="B_{run}", sources=("roofline-note",))
def running_requests(
    offered_requests: Any,
    data_parallel: Any,
    kv_room_gib: Any,
    kv_running_gib: Any,
    engine_requests: Any,
    pipeline_parallel: Any,
) -> Any:
    """What the test offers, as far as memory and the engine admit it; one a group and stage always runs."""
    return np.maximum(
        np.minimum(
            np.minimum(offered_requests, engine_requests * pipeline_parallel),
            data_parallel * np.maximum(kv_room_gib, 0) / kv_running_gib,
        ),
        np.minimum(offered_requests, data_parallel * pipeline_parallel),
    )


@formula(unit="ms", label="Time of a whole request", symbol="t_{req}", sources=("roofline-note",))
def request_ms(offline_flag: Any, prefill_ms: Any, ttft_ms: Any, run_tpot_ms: Any, output_mean_tokens: Any) -> Any:
    """First token, then one TPOT for each further token; offline, nothing but the prompt precedes the first token."""
    return np.where(offline_flag > 0, prefill_ms, ttft_ms) + run_tpot_ms * np.maximum(output_mean_tokens - 1, 0)


@formula(unit="ms", label="TPOT of a burst", symbol="TPOT_{burst}", sources=("roofline-note",))
def burst_tpot_ms(
    step_ms: Any,
    group_requests: Any,
    pipeline_parallel: Any,
    output_mean_tokens: Any,
    prefill_ms: Any,
    running_requests: Any,
    run_requests: Any,
) -> Any:
    """Of those that start together the average one waits for half of the other prompts; of later ones for all."""
    return step_ms + np.maximum(group_requests * pipeline_parallel - 1, 0) * prefill_ms / np.maximum(
        output_mean_tokens, 1
    ) * (1 - running_requests / run_requests / 2)


@formula(unit="ms", label="Length of a burst", symbol="T_{burst}", sources=("roofline-note",))
def burst_run_ms(
    run_requests: Any,
    running_requests: Any,
    output_mean_tokens: Any,
    step_ms: Any,
    data_parallel: Any,
    prefill_ms: Any,
    run_tail_factor: Any,
) -> Any:
    """All answers in full batches, all prompts, and the tail of the longest answers."""
    return (
        run_requests / running_requests + run_tail_factor
    ) * output_mean_tokens * step_ms + run_requests / data_parallel * prefill_ms


@formula(unit="ms", label="TTFT of a burst, mean", symbol="TTFT_{burst}", sources=("roofline-note",))
def burst_ttft_ms(
    burst_base_ms: Any,
    running_requests: Any,
    run_requests: Any,
    data_parallel: Any,
    prefill_ms: Any,
    input_mean_tokens: Any,
    scheduling_tokens: Any,
    step_ms: Any,
    burst_run_ms: Any,
) -> Any:
    """Half of the prompts that start together, with the decode steps between their chunks, and half of the run for
    those that must wait for a place."""
    return (
        burst_base_ms
        + running_requests / data_parallel / 2 * (prefill_ms + input_mean_tokens / scheduling_tokens * step_ms)
        + np.maximum(1 - running_requests / run_requests, 0) * burst_run_ms / 2
    )


@formula(unit="ms", label="Length of a steady run", symbol="T_{run}", sources=("roofline-note",))
def steady_run_ms(
    run_requests: Any,
    running_requests: Any,
    request_ms: Any,
    run_tail_factor: Any,
    equal_lengths_flag: Any,
    equal_tail_factor: Any,
) -> Any:
    """Waves of requests, and the tail of the longest answers; of equal lengths, the last wave is half full."""
    return (
        run_requests / running_requests
        + np.where(equal_lengths_flag > 0, equal_tail_factor * (1 - running_requests / run_requests), run_tail_factor)
    ) * request_ms


@formula(unit="ms", label="Length of an open-loop run", symbol="T_{open}", sources=("roofline-note",))
def open_run_ms(
    run_requests: Any, arrival_requests_per_s: Any, running_requests: Any, request_ms: Any, run_tail_factor: Any
) -> Any:
    """The arrivals (or the service, when it is slower), and the tail of the longest answers."""
    return (
        run_requests * np.maximum(MS_PER_S / arrival_requests_per_s, request_ms / running_requests)
        + run_tail_factor * request_ms
    )


@formula(unit="ms", label="Length of the run", symbol="T", sources=("roofline-note",))
def run_ms(burst_flag: Any, burst_run_ms: Any, closed_loop_flag: Any, open_run_ms: Any, steady_run_ms: Any) -> Any:
    """By how the test starts."""
    return np.where(burst_flag > 0, burst_run_ms, np.where(closed_loop_flag > 0, steady_run_ms, open_run_ms))


@formula(unit="ms", label="TPOT of the run", symbol="TPOT_{run}", sources=("roofline-note",))
def run_tpot_ms(
    burst_flag: Any, burst_tpot_ms: Any, offline_flag: Any, step_ms: Any, tpot_ms: Any, offline_prefill_factor: Any
) -> Any:
    """By how the test starts."""
    return np.where(
        burst_flag > 0,
        burst_tpot_ms,
        step_ms + (tpot_ms - step_ms) * np.where(offline_flag > 0, offline_prefill_factor, 1),
    )


@formula(unit="ms", label="TTFT of one batch", symbol="TTFT_{batch}", sources=("roofline-note",))
def offline_ttft_ms(
    ttft_launches: Any,
    launch_ms: Any,
    engine_time_factor: Any,
    prefill_ms: Any,
    group_requests: Any,
    weights_read_ms: Any,
) -> Any:
    """All prompts of the batch together, or one pass over the weights; no server before them."""
    return ttft_launches * launch_ms * engine_time_factor + np.maximum(
        prefill_ms * np.maximum(group_requests, 1), weights_read_ms
    )


@formula(unit="ms", label="TTFT of the run, mean", symbol="TTFT_{run}", sources=("roofline-note",))
def run_ttft_ms(
    burst_flag: Any, burst_ttft_ms: Any, offline_flag: Any, offline_ttft_ms: Any, ttft_ms: Any
) -> Any:
    """By how the test starts; steady and open loop as for a scenario."""
    return np.where(burst_flag > 0, burst_ttft_ms, np.where(offline_flag > 0, offline_ttft_ms, ttft_ms))


@formula(
    unit="tokens/s", label="Output tokens per second of a run", symbol="\\dot{o}_{run}", sources=("roofline-note",)
)
def run_output_tokens_per_s(run_requests: Any, output_mean_tokens: Any, run_ms: Any) -> Any:
    """All tokens of the run over its length."""
    return run_requests * output_mean_tokens / run_ms * MS_PER_S


ADMISSION = (running_requests,)
"""Read before the step, whose batch is ``running_requests``."""

OUTCOME = (
    burst_tpot_ms,
    run_tpot_ms,
    request_ms,
    steady_run_ms,
    open_run_ms,
    burst_run_ms,
    burst_ttft_ms,
    run_ms,
    offline_ttft_ms,
    run_ttft_ms,
    run_output_tokens_per_s,
)
"""Read after the step."""

FORMULAS = (*ADMISSION, *OUTCOME)

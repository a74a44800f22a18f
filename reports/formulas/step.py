"""One decode step at a given batch, the time per output token, and the time to the first token.

This chain is evaluated at several operating points (recommended load, the limit, one request more); ``batch_requests``
is the number of requests one replica runs at that point.
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
    US_PER_MS,
)
from reports.formulas.meta import formula


@formula(unit="requests", label="Requests in one pipeline stage", symbol="B_m", sources=("roofline-note",))
def stage_requests(batch_requests: Any, pipeline_parallel: Any) -> Any:
    """Pipeline stages work on disjoint shares of the batch."""
    return batch_requests / pipeline_parallel


@formula(unit="requests", label="Requests in one attention group", symbol="B_a", sources=("roofline-note",))
def group_requests(stage_requests: Any, data_parallel: Any) -> Any:
    """Attention data parallelism splits the stage's requests once more."""
    return stage_requests / data_parallel


@formula(unit="experts", label="Experts touched by one step", symbol="E_t", sources=("roofline-note",))
def experts_touched(experts: Any, experts_per_token: Any, stage_requests: Any) -> Any:
    """Expected number of distinct experts when every token picks k of E at random."""
    return experts * (1 - (1 - np.minimum(experts_per_token / np.maximum(experts, 1), 1)) ** stage_requests)


@formula(unit="ms", label="Dense weights", symbol="t_{dense}", sources=("roofline-note",))
def dense_ms(
    dense_parameters_b: Any,
    dense_bytes_per_parameter: Any,
    head_parameters_b: Any,
    tensor_parallel: Any,
    memory_bandwidth_gb_per_s: Any,
    eta_weights: Any,
    dense_read_factor: Any,
    group_requests: Any,
    dense_peak_tflops: Any,
    mfu_decode: Any,
) -> Any:
    """The larger of reading the weights once for the whole batch and multiplying them for each request."""
    return MS_PER_S * np.maximum(
        (dense_parameters_b * dense_bytes_per_parameter + head_parameters_b * BYTES_PER_16BIT)
        * PARAMETERS_PER_BILLION
        / BYTES_PER_GB
        / (tensor_parallel * memory_bandwidth_gb_per_s * eta_weights * dense_read_factor),
        2
        * (dense_parameters_b + head_parameters_b)
        * PARAMETERS_PER_BILLION
        / FLOP_PER_TFLOP
        * group_requests
        / (tensor_parallel * dense_peak_tflops * mfu_decode),
    )


@formula(unit="ms", label="Expert weights", symbol="t_{expert}", sources=("roofline-note",))
def expert_ms(
    experts_touched: Any,
    expert_parameters_b: Any,
    expert_bytes_per_parameter: Any,
    tensor_parallel: Any,
    data_parallel: Any,
    memory_bandwidth_gb_per_s: Any,
    eta_experts: Any,
    expert_read_factor: Any,
    experts_per_token: Any,
    stage_requests: Any,
    expert_peak_tflops: Any,
    mfu_decode: Any,
    mfu_moe: Any,
    moe_tile_tokens: Any,
) -> Any:
    """The same two limits for the routed experts that this step touches; the last tile of each expert is half empty."""
    return (
        MS_PER_S
        * expert_parameters_b
        * PARAMETERS_PER_BILLION
        / (tensor_parallel * data_parallel)
        * np.maximum(
            experts_touched
            * expert_bytes_per_parameter
            / BYTES_PER_GB
            / (memory_bandwidth_gb_per_s * eta_experts * expert_read_factor),
            2
            * (
                experts_per_token * stage_requests
                + np.minimum(experts_per_token * stage_requests, experts_touched * moe_tile_tokens / 2)
            )
            / FLOP_PER_TFLOP
            / (expert_peak_tflops * mfu_decode * mfu_moe),
        )
    )


@formula(unit="ms", label="Attention", symbol="t_{attn}", sources=("roofline-note",))
def attention_ms(
    group_requests: Any,
    kv_read_gb: Any,
    latent_attention: Any,
    tensor_parallel: Any,
    kv_heads: Any,
    memory_bandwidth_gb_per_s: Any,
    eta_kv: Any,
    decode_attention_tflop: Any,
    peak_16bit_tflops: Any,
    mfu_attention: Any,
    linear_state_elements: Any,
    linear_state_bytes_per_element: Any,
) -> Any:
    """Reading the KV cache of every request (or computing on it), and reading and writing linear states."""
    return (
        MS_PER_S
        * group_requests
        * (
            np.maximum(
                kv_read_gb
                / (
                    np.where(latent_attention > 0, 1, np.minimum(tensor_parallel, kv_heads))
                    * memory_bandwidth_gb_per_s
                    * eta_kv
                ),
                decode_attention_tflop / (tensor_parallel * peak_16bit_tflops * mfu_attention),
            )
            + 2
            * linear_state_elements
            * linear_state_bytes_per_element
            / BYTES_PER_GB
            / (tensor_parallel * memory_bandwidth_gb_per_s * eta_kv)
        )
    )


@formula(unit="ms", label="Activations", symbol="t_{act}", sources=("roofline-note",))
def activation_ms(
    activation_passes: Any,
    group_requests: Any,
    layers: Any,
    hidden_size: Any,
    experts_per_token: Any,
    moe_activation_factor: Any,
    memory_bandwidth_gb_per_s: Any,
) -> Any:
    """Reads and writes of the residual stream between kernels, per token and layer."""
    return (
        MS_PER_S
        * activation_passes
        * group_requests
        * layers
        * hidden_size
        * BYTES_PER_16BIT
        * (1 + experts_per_token * moe_activation_factor)
        / BYTES_PER_GB
        / memory_bandwidth_gb_per_s
    )


@formula(unit="ms", label="Communication", symbol="t_{comm}", sources=("roofline-note",))
def communication_ms(
    tensor_parallel: Any,
    layers: Any,
    allreduce_alpha_us: Any,
    group_requests: Any,
    hidden_size: Any,
    allreduce_algorithm_gb_per_s: Any,
    data_parallel: Any,
    moe_layers: Any,
    dispatch_alpha_factor: Any,
    stage_requests: Any,
    pipeline_parallel: Any,
    pipeline_hop_us: Any,
    node_link_gb_per_s: Any,
) -> Any:
    """Two all-reduces a layer over tensor ranks, dispatch and combine over data ranks, one hop a pipeline stage: the
    hop is counted over the network between servers, though stages inside one server are nearer."""
    return (
        np.where(
            tensor_parallel > 1,
            2
            * layers
            * (
                allreduce_alpha_us / US_PER_MS
                + MS_PER_S
                * group_requests
                * hidden_size
                * BYTES_PER_16BIT
                / BYTES_PER_GB
                / allreduce_algorithm_gb_per_s
            ),
            0,
        )
        + np.where(
            data_parallel > 1,
            2
            * moe_layers
            * (
                dispatch_alpha_factor * allreduce_alpha_us / US_PER_MS
                + MS_PER_S
                * stage_requests
                * hidden_size
                * BYTES_PER_16BIT
                / BYTES_PER_GB
                / allreduce_algorithm_gb_per_s
            ),
            0,
        )
        + (pipeline_parallel - 1)
        * (
            pipeline_hop_us / US_PER_MS
            + MS_PER_S * group_requests * hidden_size * BYTES_PER_16BIT / BYTES_PER_GB / node_link_gb_per_s
        )
    )


@formula(unit="ms", label="Host work", symbol="t_{host}", sources=("roofline-note",))
def host_ms(
    host_base_ms: Any,
    host_us_per_sequence: Any,
    engine_host_factor: Any,
    group_requests: Any,
    vocabulary_size: Any,
    host_reference_vocabulary_size: Any,
) -> Any:
    """Scheduling and sampling on the CPU; sampling grows with the vocabulary, and a compiled runtime needs less."""
    return (
        host_base_ms
        + host_us_per_sequence
        * engine_host_factor
        * group_requests
        * vocabulary_size
        / host_reference_vocabulary_size
        / US_PER_MS
    )


@formula(unit="ms", label="One decode step", symbol="t_{step}", sources=("roofline-note",))
def step_ms(
    dense_ms: Any,
    expert_ms: Any,
    attention_ms: Any,
    activation_ms: Any,
    communication_ms: Any,
    engine_time_factor: Any,
    launch_ms: Any,
    host_ms: Any,
) -> Any:
    """The parts do not overlap: measured servers show their sum, with the engine's factor on what it controls."""
    return (
        dense_ms
        + expert_ms
        + attention_ms
        + activation_ms
        + communication_ms
        + engine_time_factor * (launch_ms + host_ms)
    )


@formula(unit="ms", label="Time per output token (TPOT)", symbol="TPOT", sources=("roofline-note",))
def tpot_ms(
    step_ms: Any,
    group_requests: Any,
    output_mean_tokens: Any,
    prefill_ms: Any,
    data_parallel: Any,
    data_parallel_prefill_factor: Any,
) -> Any:
    """A step, plus the stalls: every request admitted while this one decodes stops it for one prefill."""
    return step_ms + np.maximum(group_requests - 1, 0) / output_mean_tokens * prefill_ms * np.where(
        data_parallel > 1, data_parallel_prefill_factor, 1
    )


@formula(unit="ms", label="Time to first token (TTFT), mean", symbol="TTFT", sources=("roofline-note",))
def ttft_ms(
    engine_ttft_offset_ms: Any,
    ttft_launches: Any,
    launch_ms: Any,
    engine_time_factor: Any,
    prefill_ms: Any,
    weights_read_ms: Any,
    ttft_steps: Any,
    step_ms: Any,
    ttft_queue_factor: Any,
    group_requests: Any,
) -> Any:
    """Under steady load: the engine's own offset, the prompt itself, the steps in flight and a short queue. A mean."""
    return (
        engine_ttft_offset_ms
        + ttft_launches * launch_ms * engine_time_factor
        + np.maximum(prefill_ms, weights_read_ms)
        + ttft_steps * step_ms
        + ttft_queue_factor * np.maximum(group_requests - 1, 0) * prefill_ms
    )


FORMULAS = (
    stage_requests,
    group_requests,
    experts_touched,
    dense_ms,
    expert_ms,
    attention_ms,
    activation_ms,
    communication_ms,
    host_ms,
    step_ms,
    tpot_ms,
    ttft_ms,
)

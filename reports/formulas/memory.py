"""What fits on a card: weights, engine overhead, KV cache, and how many requests the rest holds.

Requests differ, and each grows while it runs. Those that run at one moment hold B m + z sigma sqrt(B) but for the
accepted probability of a preemption; a deviation of zero gives the plain quotient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import BYTES_PER_16BIT, BYTES_PER_GIB, PARAMETERS_PER_BILLION
from reports.formulas.meta import ceil, floor, formula, normal_quantile


@formula(unit="ratio", label="Padding of expert weights", symbol="p_{exp}", sources=("roofline-note",))
def expert_padding_ratio(expert_intermediate_size: Any, expert_width_multiple: Any, tensor_parallel: Any) -> Any:
    """Some kernels pad each rank's share of an expert's width to a multiple (256 for mxfp4); 1 when it divides."""
    return (
        ceil(expert_intermediate_size / (tensor_parallel * expert_width_multiple))
        * expert_width_multiple
        * tensor_parallel
        / np.maximum(expert_intermediate_size, 1)
    )


@formula(unit="GiB", label="Weights per card", symbol="M_w", sources=("roofline-note",))
def weights_gib(
    dense_parameters_b: Any,
    dense_bytes_per_parameter: Any,
    experts: Any,
    expert_parameters_b: Any,
    expert_bytes_per_parameter: Any,
    expert_padding_ratio: Any,
    head_parameters_b: Any,
    tied_embeddings: Any,
    vision_parameters_b: Any,
    tensor_parallel: Any,
    data_parallel: Any,
    pipeline_parallel: Any,
) -> Any:
    """Dense weights split over tensor and pipeline ranks, experts over data ranks too; embeddings stay 16-bit and a
    pipeline stage holds at most one of the two tables; a vision tower is replicated at 16 bit."""
    return (
        (
            dense_parameters_b * dense_bytes_per_parameter / (tensor_parallel * pipeline_parallel)
            + experts
            * expert_parameters_b
            * expert_bytes_per_parameter
            * expert_padding_ratio
            / (tensor_parallel * data_parallel * pipeline_parallel)
            + head_parameters_b
            * BYTES_PER_16BIT
            * np.where(pipeline_parallel > 1, 1, 2 - tied_embeddings)
            / tensor_parallel
            + vision_parameters_b * BYTES_PER_16BIT
        )
        * PARAMETERS_PER_BILLION
        / BYTES_PER_GIB
    )


@formula(unit="tokens", label="Tokens per scheduling step", symbol="T", sources=("roofline-note",))
def scheduling_tokens(
    memory_nominal_gb: Any, chunk_threshold_gb: Any, chunk_small_tokens: Any, chunk_large_tokens: Any
) -> Any:
    """Engines take smaller prefill chunks on cards with little memory."""
    return np.where(memory_nominal_gb < chunk_threshold_gb, chunk_small_tokens, chunk_large_tokens)


@formula(unit="GiB", label="Engine overhead per card", symbol="M_o", sources=("roofline-note",))
def overhead_gib(
    overhead_base_gib: Any,
    rocm: Any,
    overhead_rocm_gib: Any,
    scheduling_tokens: Any,
    hidden_size: Any,
    activation_buffer_copies: Any,
    overhead_activation_factor: Any,
    experts_per_token: Any,
    expert_intermediate_size: Any,
    overhead_moe_factor: Any,
    multimodal: Any,
    overhead_multimodal_gib: Any,
) -> Any:
    """Runtime context, activation buffers of one scheduling step and the expert scratch space; fitted on vLLM logs."""
    return (
        overhead_base_gib
        + rocm * overhead_rocm_gib
        + overhead_activation_factor
        * scheduling_tokens
        * hidden_size
        * BYTES_PER_16BIT
        * activation_buffer_copies
        / BYTES_PER_GIB
        + overhead_moe_factor
        * scheduling_tokens
        * experts_per_token
        * (hidden_size + 2 * expert_intermediate_size)
        * BYTES_PER_16BIT
        / BYTES_PER_GIB
        + multimodal * overhead_multimodal_gib
    )


@formula(unit="GiB", label="Room for KV cache per card", symbol="M_{kv}", sources=("roofline-note",))
def kv_room_gib(
    free_share_flag: Any,
    memory_utilisation: Any,
    memory_usable_gib: Any,
    overhead_gib: Any,
    weights_gib: Any,
    memory_highest_utilisation: Any,
    memory_tight_share: Any,
) -> Any:
    """What the engine may use of the memory that the runtime sees, less overhead and weights; negative: no fit.

    Some engines take their share of what is left after the weights. The others are started with a higher share where
    the usual one leaves next to nothing, which buys a little room.
    """
    return np.where(
        free_share_flag > 0,
        memory_utilisation * (memory_usable_gib - overhead_gib - weights_gib),
        np.maximum(
            memory_utilisation * memory_usable_gib - overhead_gib - weights_gib,
            np.minimum(
                memory_highest_utilisation * memory_usable_gib - overhead_gib - weights_gib,
                memory_tight_share * memory_usable_gib,
            ),
        ),
    )


@formula(unit="ratio", label="Share of the KV cache each card holds", symbol="k_{tp}", sources=("roofline-note",))
def kv_shard_ratio(latent_attention: Any, kv_heads: Any, tensor_parallel: Any) -> Any:
    """KV heads are split over tensor ranks and replicated when there are fewer heads than ranks; a latent cache is
    replicated on every rank."""
    return np.where(latent_attention > 0, 1, ceil(kv_heads / tensor_parallel) / kv_heads)


@formula(unit="GiB", label="KV cache of a request at its end, per card", symbol="m_{end}", sources=("roofline-note",))
def kv_request_gib(
    full_kv_elements: Any,
    kv_bytes_per_element: Any,
    kv_shard_ratio: Any,
    linear_state_elements: Any,
    linear_state_bytes_per_element: Any,
    tensor_parallel: Any,
    pipeline_parallel: Any,
) -> Any:
    """Prompt and answer at their mean, windows and pages counted, and the constant state of linear layers."""
    return (
        full_kv_elements * kv_bytes_per_element * kv_shard_ratio
        + linear_state_elements * linear_state_bytes_per_element / tensor_parallel
    ) / (pipeline_parallel * BYTES_PER_GIB)


@formula(unit="GiB", label="KV cache of a running request, mean, per card", symbol="\\mu", sources=("methods-note",))
def kv_running_gib(
    resident_kv_elements: Any,
    kv_bytes_per_element: Any,
    kv_shard_ratio: Any,
    linear_state_elements: Any,
    linear_state_bytes_per_element: Any,
    tensor_parallel: Any,
    pipeline_parallel: Any,
) -> Any:
    """What a request holds on average while it runs: engines admit by what is free now, not by the final length."""
    return (
        resident_kv_elements * kv_bytes_per_element * kv_shard_ratio
        + linear_state_elements * linear_state_bytes_per_element / tensor_parallel
    ) / (pipeline_parallel * BYTES_PER_GIB)


@formula(
    unit="GiB",
    label="KV cache of a running request, deviation, per card",
    symbol="\\sigma_{kv}",
    sources=("methods-note",),
)
def kv_deviation_gib(
    resident_deviation_kv_elements: Any, kv_bytes_per_element: Any, kv_shard_ratio: Any, pipeline_parallel: Any
) -> Any:
    """Standard deviation over the requests that run at one moment: short and long ones, begun and nearly done."""
    return resident_deviation_kv_elements * kv_bytes_per_element * kv_shard_ratio / (pipeline_parallel * BYTES_PER_GIB)


@formula(
    unit="GiB",
    label="KV cache of a P95 request at its end, per card",
    symbol="m_{P95}",
    sources=("rule-of-thumb-note",),
)
def kv_p95_gib(
    full_p95_kv_elements: Any,
    kv_bytes_per_element: Any,
    kv_shard_ratio: Any,
    linear_state_elements: Any,
    linear_state_bytes_per_element: Any,
    tensor_parallel: Any,
    pipeline_parallel: Any,
) -> Any:
    """P95 of the prompt and P95 of the answer together: a request that must fit, or it would never be answered."""
    return (
        full_p95_kv_elements * kv_bytes_per_element * kv_shard_ratio
        + linear_state_elements * linear_state_bytes_per_element / tensor_parallel
    ) / (pipeline_parallel * BYTES_PER_GIB)


@formula(unit="flag", label="Memory is counted at the full length", symbol="1_{full}", sources=("engine-note",))
def full_length_flag(full_reservation_flag: Any, burst_flag: Any) -> Any:
    """Some engines admit a request only when its whole answer fits; in a burst all answers reach their end together."""
    return np.maximum(full_reservation_flag, burst_flag)


@formula(unit="GiB", label="KV cache counted per request and card", symbol="m", sources=("methods-note",))
def kv_planned_gib(full_length_flag: Any, kv_request_gib: Any, kv_running_gib: Any) -> Any:
    """At its end where all are counted so, else the mean over its life."""
    return np.where(full_length_flag > 0, kv_request_gib, kv_running_gib)


@formula(unit="deviations", label="Caution against preemption", symbol="z", sources=("methods-note",))
def preemption_z(preemption_probability: Any) -> Any:
    """Standard deviations to keep free so that the running requests outgrow the memory no more often than accepted."""
    return normal_quantile(1 - preemption_probability)


@formula(unit="GiB", label="KV cache kept free per root of a request", symbol="s", sources=("methods-note",))
def kv_spread_gib(full_length_flag: Any, preemption_z: Any, kv_deviation_gib: Any) -> Any:
    """Times the square root of the requests: the sum of many varies less than each. None at full length: there a
    request that does not fit waits, and nothing that runs is thrown out."""
    return np.where(full_length_flag > 0, 0, preemption_z * kv_deviation_gib)


@formula(unit="requests", label="Requests a replica's memory holds", symbol="B_{mem}", sources=("methods-note",))
def memory_requests(
    kv_room_gib: Any, kv_p95_gib: Any, kv_planned_gib: Any, kv_spread_gib: Any, data_parallel: Any
) -> Any:
    """Most whole requests B of each attention group with B m + s sqrt(B) within its room, solved for sqrt(B); none
    where not even one P95 request fits. Valid for many requests: their sum is taken as normal."""
    return data_parallel * np.where(
        kv_room_gib < kv_p95_gib,
        0,
        floor(
            (
                (np.sqrt(kv_spread_gib**2 + 2 * 2 * kv_planned_gib * np.maximum(kv_room_gib, 0)) - kv_spread_gib)
                / (2 * kv_planned_gib)
            )
            ** 2
        ),
    )


@formula(unit="requests", label="Requests if all were P95", symbol="B_{P95}", sources=("rule-of-thumb-note",))
def memory_p95_requests(kv_room_gib: Any, kv_p95_gib: Any, data_parallel: Any) -> Any:
    """The cautious answer, shown beside the other and not used: every request at P95 of prompt and answer."""
    return data_parallel * floor(np.maximum(kv_room_gib, 0) / kv_p95_gib)


@formula(unit="requests", label="Requests the engine schedules at once", symbol="B_{eng}", sources=("roofline-note",))
def engine_requests(engine_batch_requests: Any, data_parallel: Any) -> Any:
    """The engine's own limit on running sequences, per attention-data-parallel group."""
    return data_parallel * engine_batch_requests


FORMULAS = (
    expert_padding_ratio,
    weights_gib,
    scheduling_tokens,
    overhead_gib,
    kv_room_gib,
    kv_shard_ratio,
    kv_request_gib,
    kv_running_gib,
    kv_deviation_gib,
    kv_p95_gib,
    full_length_flag,
    kv_planned_gib,
    preemption_z,
    kv_spread_gib,
    memory_requests,
    memory_p95_requests,
    engine_requests,
)

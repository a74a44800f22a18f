"""What one token, one request or one read of the weights costs a layout: the parts of a decode step, whatever the load.

A step at some load is then a few products of these (``step.py``), at however many loads it is looked at.
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


@formula(unit="ms", label="Dense weights, read once", symbol="t_{dr}", sources=("roofline-note",))
def dense_read_ms(
    dense_parameters_b: Any,
    dense_bytes_per_parameter: Any,
    head_parameters_b: Any,
    tensor_parallel: Any,
    memory_bandwidth_gb_per_s: Any,
    eta_weights: Any,
    dense_read_factor: Any,
) -> Any:
    """One read serves the whole batch; the output head is 16-bit."""
    return MS_PER_S * (
        (dense_parameters_b * dense_bytes_per_parameter + head_parameters_b * BYTES_PER_16BIT)
        * PARAMETERS_PER_BILLION
        / BYTES_PER_GB
        / (tensor_parallel * memory_bandwidth_gb_per_s * eta_weights * dense_read_factor)
    )


@formula(unit="ms", label="Dense weights, multiplied for one token", symbol="t_{dc}", sources=("roofline-note",))
def dense_token_ms(
    dense_parameters_b: Any, head_parameters_b: Any, tensor_parallel: Any, dense_peak_tflops: Any, mfu_decode: Any
) -> Any:
    """Two operations a parameter at the decode efficiency."""
    return MS_PER_S * (
        2
        * (dense_parameters_b + head_parameters_b)
        * PARAMETERS_PER_BILLION
        / FLOP_PER_TFLOP
        / (tensor_parallel * dense_peak_tflops * mfu_decode)
    )


@formula(unit="ms", label="One expert read", symbol="t_{er}", sources=("roofline-note",))
def expert_read_ms(
    expert_parameters_b: Any,
    expert_bytes_per_parameter: Any,
    tensor_parallel: Any,
    data_parallel: Any,
    memory_bandwidth_gb_per_s: Any,
    eta_experts: Any,
    expert_read_factor: Any,
) -> Any:
    """One routed expert of every layer, spread over all ranks of a stage."""
    return (
        MS_PER_S
        * expert_parameters_b
        * PARAMETERS_PER_BILLION
        * expert_bytes_per_parameter
        / BYTES_PER_GB
        / (tensor_parallel * data_parallel * memory_bandwidth_gb_per_s * eta_experts * expert_read_factor)
    )


@formula(unit="ms", label="Chosen experts, multiplied for one token", symbol="t_{ec}", sources=("roofline-note",))
def expert_token_ms(
    experts_per_token: Any,
    expert_parameters_b: Any,
    tensor_parallel: Any,
    data_parallel: Any,
    expert_peak_tflops: Any,
    mfu_decode: Any,
    mfu_moe: Any,
) -> Any:
    """Two operations a parameter of each chosen expert at the efficiency of grouped products."""
    return (
        MS_PER_S
        * 2
        * experts_per_token
        * expert_parameters_b
        * PARAMETERS_PER_BILLION
        / FLOP_PER_TFLOP
        / (tensor_parallel * data_parallel * expert_peak_tflops * mfu_decode * mfu_moe)
    )


@formula(unit="ms", label="Attention of one request", symbol="t_{a1}", sources=("roofline-note",))
def attention_request_ms(
    kv_read_gb: Any,
    latent_attention: Any,
    tensor_parallel: Any,
    kv_heads: Any,
    memory_bandwidth_gb_per_s: Any,
    eta_kv: Any,
    draft_tokens: Any,
    decode_attention_tflop: Any,
    peak_16bit_tflops: Any,
    mfu_attention: Any,
    linear_state_elements: Any,
    linear_state_bytes_per_element: Any,
) -> Any:
    """Reading its KV cache (or computing on it, for every token that a step checks), and reading and writing linear
    states."""
    return MS_PER_S * (
        np.maximum(
            kv_read_gb
            / (
                np.where(latent_attention > 0, 1, np.minimum(tensor_parallel, kv_heads))
                * memory_bandwidth_gb_per_s
                * eta_kv
            ),
            (draft_tokens + 1) * decode_attention_tflop / (tensor_parallel * peak_16bit_tflops * mfu_attention),
        )
        + 2
        * linear_state_elements
        * linear_state_bytes_per_element
        / BYTES_PER_GB
        / (tensor_parallel * memory_bandwidth_gb_per_s * eta_kv)
    )


@formula(unit="ms", label="Activations of one token", symbol="t_{act,1}", sources=("roofline-note",))
def activation_token_ms(
    activation_passes: Any,
    layers: Any,
    hidden_size: Any,
    experts_per_token: Any,
    moe_activation_factor: Any,
    memory_bandwidth_gb_per_s: Any,
) -> Any:
    """Reads and writes of the residual stream between kernels, over all layers."""
    return (
        MS_PER_S
        * activation_passes
        * layers
        * hidden_size
        * BYTES_PER_16BIT
        * (1 + experts_per_token * moe_activation_factor)
        / BYTES_PER_GB
        / memory_bandwidth_gb_per_s
    )


@formula(unit="ms", label="Communication, latency of a step", symbol="t_{\\alpha}", sources=("roofline-note",))
def communication_latency_ms(
    tensor_parallel: Any,
    layers: Any,
    allreduce_alpha_us: Any,
    data_parallel: Any,
    moe_layers: Any,
    dispatch_alpha_factor: Any,
    pipeline_parallel: Any,
    pipeline_hop_us: Any,
) -> Any:
    """Two all-reduces a layer over tensor ranks, dispatch and combine over data ranks, one hop a pipeline stage: the
    hop is counted over the network between servers, though stages inside one server are nearer."""
    return (
        np.where(tensor_parallel > 1, 2 * layers * allreduce_alpha_us, 0)
        + np.where(data_parallel > 1, 2 * moe_layers * dispatch_alpha_factor * allreduce_alpha_us, 0)
        + (pipeline_parallel - 1) * pipeline_hop_us
    ) / US_PER_MS


@formula(unit="ms", label="Communication of one token of a group", symbol="t_{\\beta}", sources=("roofline-note",))
def communication_token_ms(
    hidden_size: Any,
    tensor_parallel: Any,
    layers: Any,
    allreduce_algorithm_gb_per_s: Any,
    data_parallel: Any,
    moe_layers: Any,
    pipeline_parallel: Any,
    node_link_gb_per_s: Any,
) -> Any:
    """Its bytes in the same messages; dispatch moves the tokens of all groups of a stage."""
    return (
        MS_PER_S
        * hidden_size
        * BYTES_PER_16BIT
        / BYTES_PER_GB
        * (
            np.where(tensor_parallel > 1, 2 * layers / allreduce_algorithm_gb_per_s, 0)
            + np.where(data_parallel > 1, 2 * moe_layers * data_parallel / allreduce_algorithm_gb_per_s, 0)
            + (pipeline_parallel - 1) / node_link_gb_per_s
        )
    )


@formula(unit="ms", label="Host work of one sequence", symbol="t_{h1}", sources=("roofline-note",))
def host_sequence_ms(
    host_us_per_sequence: Any, engine_host_factor: Any, vocabulary_size: Any, host_reference_vocabulary_size: Any
) -> Any:
    """Sampling on the CPU grows with the vocabulary, and a compiled runtime needs less."""
    return host_us_per_sequence * engine_host_factor * vocabulary_size / host_reference_vocabulary_size / US_PER_MS


@formula(unit="tokens", label="Tokens a request gains per step", symbol="\\tau_{draft}", sources=("speculative-paper",))
def gained_tokens(draft_tokens: Any, draft_acceptance_ratio: Any) -> Any:
    """Each draft token counts when those before it were accepted, and the model adds one of its own: a geometric sum.
    One token without drafts."""
    return (1 - draft_acceptance_ratio ** (draft_tokens + 1)) / (1 - draft_acceptance_ratio)


@formula(unit="ratio", label="Time of a token against a step", symbol="d_{draft}", sources=("speculative-paper",))
def token_step_factor(draft_tokens: Any, draft_step_share: Any, gained_tokens: Any) -> Any:
    """Drafting takes a share of a step for each token, and a step gains several: 1 without drafts."""
    return (1 + draft_tokens * draft_step_share) / gained_tokens


@formula(unit="ms", label="Dense weights, multiplied for one request", symbol="t_{d1}", sources=("roofline-note",))
def dense_request_ms(dense_token_ms: Any, draft_tokens: Any, pipeline_parallel: Any, data_parallel: Any) -> Any:
    """A request of the replica, spread over stages and groups, with the drafts that a step checks."""
    return dense_token_ms * (draft_tokens + 1) / (pipeline_parallel * data_parallel)


@formula(unit="ms", label="Chosen experts, multiplied for one request", symbol="t_{e1}", sources=("roofline-note",))
def expert_request_ms(expert_token_ms: Any, draft_tokens: Any, pipeline_parallel: Any) -> Any:
    """The same for the experts, which all groups of a stage share."""
    return expert_token_ms * (draft_tokens + 1) / pipeline_parallel


@formula(
    unit="requests",
    label="Requests that half a tile of an expert is worth",
    symbol="b_{t}",
    sources=("roofline-note",),
)
def expert_tile_requests(
    moe_tile_tokens: Any, experts_per_token: Any, draft_tokens: Any, pipeline_parallel: Any
) -> Any:
    """Products are made in tiles of tokens, and the last tile of each expert is half empty on average."""
    return moe_tile_tokens * pipeline_parallel / (2 * np.maximum(experts_per_token, 1) * (draft_tokens + 1))


@formula(unit="ratio", label="Experts that a request leaves alone", symbol="\\bar{k}", sources=("roofline-note",))
def expert_missed_ratio(experts: Any, experts_per_token: Any, draft_tokens: Any, pipeline_parallel: Any) -> Any:
    """When every token picks k of E at random; raised to the number of requests, what all of them leave alone."""
    return (1 - np.minimum(experts_per_token / np.maximum(experts, 1), 1)) ** ((draft_tokens + 1) / pipeline_parallel)


@formula(unit="ms", label="Part of a step that no load changes", symbol="t_0", sources=("roofline-note",))
def step_fixed_ms(communication_latency_ms: Any, engine_time_factor: Any, launch_ms: Any, host_base_ms: Any) -> Any:
    """Latency of the messages, launches, and the host."""
    return communication_latency_ms + engine_time_factor * (launch_ms + host_base_ms)


@formula(unit="ms", label="Part of a step that grows with each request", symbol="t_1", sources=("roofline-note",))
def step_request_ms(
    attention_request_ms: Any,
    activation_token_ms: Any,
    communication_token_ms: Any,
    draft_tokens: Any,
    engine_time_factor: Any,
    host_sequence_ms: Any,
    pipeline_parallel: Any,
    data_parallel: Any,
) -> Any:
    """A request of the replica: its cache, its tokens, its sampling; the weights apart."""
    return (
        attention_request_ms
        + (activation_token_ms + communication_token_ms) * (draft_tokens + 1)
        + engine_time_factor * host_sequence_ms
    ) / (pipeline_parallel * data_parallel)


@formula(unit="ratio", label="Squared variation of arrivals at one group", symbol="c_{a,g}^2", sources=("whitt-1983",))
def group_arrival_scv(interarrival_scv: Any, replicas: Any, data_parallel: Any, pipeline_parallel: Any) -> Any:
    """A stream that is split over several is nearer to a random one, each with its share."""
    return 1 + (interarrival_scv - 1) / (replicas * data_parallel * pipeline_parallel)


@formula(
    unit="ratio", label="Squared variation of arrivals and prompts", symbol="c_a^2 + c_p^2", sources=("allen-1990",)
)
def prompt_variation_ratio(group_arrival_scv: Any, input_deviation_tokens: Any, input_mean_tokens: Any) -> Any:
    """Of arrivals at one group, and of the lengths of prompts."""
    return group_arrival_scv + (input_deviation_tokens / input_mean_tokens) ** 2


FORMULAS = (
    dense_read_ms,
    dense_token_ms,
    expert_read_ms,
    expert_token_ms,
    attention_request_ms,
    activation_token_ms,
    communication_latency_ms,
    communication_token_ms,
    host_sequence_ms,
    gained_tokens,
    token_step_factor,
    dense_request_ms,
    expert_request_ms,
    expert_tile_requests,
    expert_missed_ratio,
    step_fixed_ms,
    step_request_ms,
    group_arrival_scv,
    prompt_variation_ratio,
)

"""What the roofline needs once for a layout, whatever the load: rates, launches, one prefill, what a request reads."""

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
    US_PER_MS,
)
from reports.formulas.meta import formula


@formula(unit="GB/s", label="All-reduce rate", symbol="W_{ar}", sources=("roofline-note",))
def allreduce_algorithm_gb_per_s(allreduce_bus_gb_per_s: Any, tensor_parallel: Any, data_parallel: Any) -> Any:
    """Message bytes per second of one all-reduce over all ranks of a stage, from the bus rate benchmarks print."""
    return (
        allreduce_bus_gb_per_s
        * tensor_parallel
        * data_parallel
        / (2 * np.maximum(tensor_parallel * data_parallel - 1, 1))
    )


@formula(unit="kernels", label="Kernels of one step", symbol="n_k", sources=("roofline-note",))
def step_kernels(
    layers: Any,
    kernels_per_layer: Any,
    moe_layers: Any,
    kernels_per_moe_layer: Any,
    latent_attention: Any,
    kernels_per_latent_layer: Any,
    block_scaled_weights: Any,
    fp8_block_scales: Any,
    kernels_per_fp8_block_layer: Any,
    kernels_per_fp8_block_moe_layer: Any,
    fp4_activations: Any,
    kernels_per_fp4_layer: Any,
    fused_experts: Any,
    int4_experts: Any,
    kernels_per_int4_moe_layer: Any,
    linear_layers: Any,
    kernels_per_linear_layer: Any,
    sparse_layers: Any,
    kernels_per_sparse_layer: Any,
) -> Any:
    """Launches that a step cannot avoid, by kind of layer; counted, then checked on measured small batches."""
    return (
        layers * kernels_per_layer
        + np.where(moe_layers > 0, 0, layers)
        * (
            block_scaled_weights * fp8_block_scales * kernels_per_fp8_block_layer
            + fp4_activations * kernels_per_fp4_layer
        )
        + moe_layers
        * (
            kernels_per_moe_layer * (1 - fused_experts)
            + block_scaled_weights * fp8_block_scales * kernels_per_fp8_block_moe_layer
            + int4_experts * kernels_per_int4_moe_layer
        )
        + latent_attention * layers * kernels_per_latent_layer
        + linear_layers * kernels_per_linear_layer
        + sparse_layers * kernels_per_sparse_layer
    )


@formula(unit="ms", label="Launch floor of one step", symbol="t_{launch}", sources=("roofline-note",))
def launch_ms(
    step_kernels: Any,
    kernel_floor_us: Any,
    kernel_time_factor: Any,
    hidden_size: Any,
    launch_reference_hidden_size: Any,
    launch_width_exponent: Any,
) -> Any:
    """A kernel takes a least time however little it does; slightly longer for wide models, shorter on newer cards."""
    return (
        step_kernels
        * kernel_floor_us
        * kernel_time_factor
        * (hidden_size / launch_reference_hidden_size) ** launch_width_exponent
        / US_PER_MS
    )


@formula(unit="ms", label="Weights of a card read once", symbol="t_{read}", sources=("roofline-note",))
def weights_read_ms(weights_gib: Any, memory_bandwidth_gb_per_s: Any, eta_weights: Any) -> Any:
    """No pass over the model is faster than reading what the card holds."""
    return weights_gib * BYTES_PER_GIB / BYTES_PER_GB / (memory_bandwidth_gb_per_s * eta_weights) * MS_PER_S


@formula(unit="tokens", label="Prompt tokens to compute", symbol="I_{new}", sources=("workload",))
def computed_tokens(input_mean_tokens: Any, prefix_hit_share: Any) -> Any:
    """The prompt without what the prefix cache already holds."""
    return input_mean_tokens * (1 - prefix_hit_share)


@formula(unit="TFLOP", label="Matrix work of one prefill", symbol="F_{pre}", sources=("roofline-note",))
def prefill_matrix_tflop(
    computed_tokens: Any,
    dense_parameters_b: Any,
    experts_per_token: Any,
    expert_parameters_b: Any,
    dense_peak_tflops: Any,
    expert_peak_tflops: Any,
    mfu_moe: Any,
    experts: Any,
    moe_tile_tokens: Any,
    scheduling_tokens: Any,
) -> Any:
    """Two operations a parameter and token, experts expressed at the dense rate (their own rate and efficiency) with
    the half tile that each leaves empty in every chunk."""
    return (
        2
        * computed_tokens
        * PARAMETERS_PER_BILLION
        / FLOP_PER_TFLOP
        * (
            dense_parameters_b
            + (experts_per_token + np.minimum(experts_per_token, experts * moe_tile_tokens / 2 / scheduling_tokens))
            * expert_parameters_b
            * dense_peak_tflops
            / (expert_peak_tflops * mfu_moe)
        )
    )


@formula(unit="TFLOP", label="Attention work of one prefill", symbol="F_{att}", sources=("roofline-note",))
def prefill_attention_tflop(
    latent_attention: Any,
    attention_heads: Any,
    head_dim: Any,
    v_head_dim: Any,
    layers: Any,
    full_attention_layers: Any,
    computed_tokens: Any,
    input_mean_tokens: Any,
    sparse_layers: Any,
    sparse_attention_tokens: Any,
) -> Any:
    """Every new token against all tokens before it, cached ones too: half a square without cache, or top-k of them
    with sparse attention."""
    return (
        np.where(
            latent_attention > 0,
            2 * attention_heads * (head_dim + v_head_dim) * layers,
            2 * 2 * attention_heads * head_dim * full_attention_layers,
        )
        * computed_tokens
        * np.where(
            sparse_layers > 0,
            np.minimum(input_mean_tokens, sparse_attention_tokens),
            input_mean_tokens - computed_tokens / 2,
        )
        / FLOP_PER_TFLOP
    )


@formula(unit="ms", label="Attention of one prefill", symbol="t_{pa}", sources=("roofline-note",))
def prefill_attention_ms(
    prefill_attention_tflop: Any,
    sparse_layers: Any,
    input_deviation_tokens: Any,
    input_mean_tokens: Any,
    peak_16bit_tflops: Any,
    mfu_prefill: Any,
    tensor_parallel: Any,
) -> Any:
    """The part that grows with the square of the prompt, at the prefill efficiency: the mean of squares is the square
    of the mean, and that of the deviation."""
    return (
        MS_PER_S
        * prefill_attention_tflop
        * np.where(sparse_layers > 0, 1, 1 + (input_deviation_tokens / input_mean_tokens) ** 2)
        / (peak_16bit_tflops * mfu_prefill * tensor_parallel)
    )


@formula(unit="ms", label="Prefill of one prompt", symbol="t_{pre}", sources=("roofline-note",))
def prefill_ms(
    prefill_matrix_tflop: Any,
    dense_peak_tflops: Any,
    prefill_attention_ms: Any,
    mfu_prefill: Any,
    tensor_parallel: Any,
    computed_tokens: Any,
    layers: Any,
    hidden_size: Any,
    activation_passes: Any,
    experts_per_token: Any,
    moe_activation_factor: Any,
    memory_bandwidth_gb_per_s: Any,
    allreduce_algorithm_gb_per_s: Any,
) -> Any:
    """Compute at the prefill efficiency, activation traffic, and two all-reduces a layer of the whole prompt."""
    return prefill_attention_ms + MS_PER_S * (
        prefill_matrix_tflop / (dense_peak_tflops * mfu_prefill * tensor_parallel)
        + computed_tokens
        * layers
        * hidden_size
        * BYTES_PER_16BIT
        / BYTES_PER_GB
        * (
            activation_passes * (1 + experts_per_token * moe_activation_factor) / memory_bandwidth_gb_per_s
            + np.where(tensor_parallel > 1, 2 / allreduce_algorithm_gb_per_s, 0)
        )
    )


@formula(unit="ms", label="Prefill of a long prompt", symbol="t_{pre,q}", sources=("roofline-note",))
def prefill_tail_ms(
    prefill_ms: Any,
    prefill_attention_ms: Any,
    input_tail_tokens: Any,
    input_mean_tokens: Any,
    input_deviation_tokens: Any,
    sparse_layers: Any,
) -> Any:
    """One prompt at the percentile that the target for the first token names: in proportion, its attention by the
    square. The mean prompt where the target is a mean."""
    return np.maximum(
        input_tail_tokens
        / input_mean_tokens
        * (
            prefill_ms
            + np.where(
                sparse_layers > 0,
                0,
                input_tail_tokens / input_mean_tokens / (1 + (input_deviation_tokens / input_mean_tokens) ** 2) - 1,
            )
            * prefill_attention_ms
        ),
        prefill_ms,
    )


@formula(unit="ms", label="A long prompt beyond the mean one", symbol="X_{pre}", sources=("roofline-note",))
def prompt_excess_ms(prefill_tail_ms: Any, weights_read_ms: Any, prefill_ms: Any) -> Any:
    """At the percentile that the target for the first token names; a prompt takes at least one read of the weights."""
    return np.maximum(prefill_tail_ms, weights_read_ms) - np.maximum(prefill_ms, weights_read_ms)


@formula(unit="ms", label="Stall of the others by one prefill", symbol="t_{stall}", sources=("roofline-note",))
def stall_ms(prefill_ms: Any, data_parallel: Any, data_parallel_prefill_factor: Any) -> Any:
    """Attention groups wait for one another: more stall where there are several."""
    return prefill_ms * np.where(data_parallel > 1, data_parallel_prefill_factor, 1)


@formula(unit="GB", label="KV cache read per request and step", symbol="m_{read}", sources=("roofline-note",))
def kv_read_gb(
    kv_elements_per_token_full_layers: Any,
    kv_elements_per_token: Any,
    attended_tokens: Any,
    resident_tokens: Any,
    sliding_window_tokens: Any,
    kv_bytes_per_element: Any,
    sparse_layers: Any,
    sparse_index_bytes_per_token: Any,
) -> Any:
    """What one step reads for one request over all layers; sparse attention also reads its index."""
    return (
        (
            kv_elements_per_token_full_layers * attended_tokens
            + (kv_elements_per_token - kv_elements_per_token_full_layers)
            * np.minimum(resident_tokens, sliding_window_tokens)
        )
        * kv_bytes_per_element
        + sparse_layers * sparse_index_bytes_per_token * resident_tokens
    ) / BYTES_PER_GB


@formula(unit="TFLOP", label="Attention work per request and step", symbol="f_{att}", sources=("roofline-note",))
def decode_attention_tflop(
    latent_attention: Any,
    attention_heads: Any,
    latent_rank: Any,
    rope_head_dim: Any,
    layers: Any,
    head_dim: Any,
    full_attention_layers: Any,
    attended_tokens: Any,
) -> Any:
    """Scores and weighted sum of one new token; a latent model works in its compressed space."""
    return (
        np.where(
            latent_attention > 0,
            2 * attention_heads * (2 * latent_rank + rope_head_dim) * layers,
            2 * 2 * attention_heads * head_dim * full_attention_layers,
        )
        * attended_tokens
        / FLOP_PER_TFLOP
    )


FORMULAS = (
    allreduce_algorithm_gb_per_s,
    step_kernels,
    launch_ms,
    weights_read_ms,
    computed_tokens,
    prefill_matrix_tflop,
    prefill_attention_tflop,
    prefill_attention_ms,
    prefill_ms,
    prefill_tail_ms,
    prompt_excess_ms,
    stall_ms,
    kv_read_gb,
    decode_attention_tflop,
)

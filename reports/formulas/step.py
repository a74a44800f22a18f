"""One decode step at a given batch, and the mean time per output token.

This chain is evaluated at several operating points (recommended load, the limit, one request more); ``batch_requests``
is the number of requests one replica runs at that point. What a token or a request costs stands in ``per_token.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.formulas.meta import formula


@formula(unit="requests", label="Requests in one pipeline stage", symbol="B_m", sources=("roofline-note",))
def stage_requests(batch_requests: Any, pipeline_parallel: Any) -> Any:
    """Pipeline stages work on disjoint shares of the batch."""
    return batch_requests / pipeline_parallel


@formula(unit="requests", label="Requests in one attention group", symbol="B_a", sources=("roofline-note",))
def group_requests(stage_requests: Any, data_parallel: Any) -> Any:
    """Attention data parallelism splits the stage's requests once more."""
    return stage_requests / data_parallel


@formula(unit="tokens", label="Tokens that a step computes in a group", symbol="n_a", sources=("roofline-note",))
def group_tokens(group_requests: Any, draft_tokens: Any) -> Any:
    """The same for one attention group."""
    return group_requests * (draft_tokens + 1)


@formula(unit="experts", label="Experts touched by one step", symbol="E_t", sources=("roofline-note",))
def experts_touched(experts: Any, expert_missed_ratio: Any, batch_requests: Any) -> Any:
    """Expected number of distinct experts when every token picks k of E at random: all but those that every request
    leaves alone."""
    return experts * (1 - expert_missed_ratio**batch_requests)


@formula(unit="ms", label="Dense weights", symbol="t_{dense}", sources=("roofline-note",))
def dense_ms(dense_read_ms: Any, dense_token_ms: Any, group_tokens: Any) -> Any:
    """The larger of reading the weights once for the whole batch and multiplying them for each token."""
    return np.maximum(dense_read_ms, dense_token_ms * group_tokens)


@formula(unit="ms", label="Expert weights", symbol="t_{expert}", sources=("roofline-note",))
def expert_ms(
    expert_read_ms: Any,
    experts_touched: Any,
    expert_request_ms: Any,
    batch_requests: Any,
    expert_tile_requests: Any,
) -> Any:
    """The same two limits for the routed experts that this step touches; the last tile of each is half empty."""
    return np.maximum(
        expert_read_ms * experts_touched,
        expert_request_ms * (batch_requests + np.minimum(batch_requests, experts_touched * expert_tile_requests)),
    )


@formula(unit="ms", label="Attention", symbol="t_{attn}", sources=("roofline-note",))
def attention_ms(attention_request_ms: Any, group_requests: Any) -> Any:
    """The KV cache of every request, and the linear states."""
    return attention_request_ms * group_requests


@formula(unit="ms", label="Activations", symbol="t_{act}", sources=("roofline-note",))
def activation_ms(activation_token_ms: Any, group_tokens: Any) -> Any:
    """Reads and writes of the residual stream between kernels, for every token."""
    return activation_token_ms * group_tokens


@formula(unit="ms", label="Communication", symbol="t_{comm}", sources=("roofline-note",))
def communication_ms(communication_latency_ms: Any, communication_token_ms: Any, group_tokens: Any) -> Any:
    """The latency of its messages, and their bytes."""
    return communication_latency_ms + communication_token_ms * group_tokens


@formula(unit="ms", label="Host work", symbol="t_{host}", sources=("roofline-note",))
def host_ms(host_base_ms: Any, host_sequence_ms: Any, group_requests: Any) -> Any:
    """Scheduling and sampling on the CPU."""
    return host_base_ms + host_sequence_ms * group_requests


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
    draft_tokens: Any,
    draft_step_share: Any,
) -> Any:
    """The parts do not overlap: measured servers show their sum, with the engine's factor on what it controls. Drafting
    a token ahead takes a share of a step more."""
    return (
        dense_ms
        + expert_ms
        + attention_ms
        + activation_ms
        + communication_ms
        + engine_time_factor * (launch_ms + host_ms)
    ) * (1 + draft_tokens * draft_step_share)


@formula(unit="ms", label="Time per output token (TPOT), mean", symbol="TPOT", sources=("roofline-note",))
def tpot_ms(
    step_ms: Any,
    gained_tokens: Any,
    group_requests: Any,
    output_mean_tokens: Any,
    stall_ms: Any,
    burst_flag: Any,
) -> Any:
    """A step over the tokens it gains, plus the stalls: every request admitted while this one decodes stops it for one
    prefill. In a burst nobody comes later, and the average request waits for half of the others."""
    return step_ms / gained_tokens + np.maximum(group_requests - 1, 0) / output_mean_tokens * stall_ms * np.where(
        burst_flag > 0, 1 / 2, 1
    )


FORMULAS = (
    stage_requests,
    group_requests,
    group_tokens,
    experts_touched,
    dense_ms,
    expert_ms,
    attention_ms,
    activation_ms,
    communication_ms,
    host_ms,
    step_ms,
    tpot_ms,
)

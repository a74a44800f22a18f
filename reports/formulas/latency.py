"""How late the slowest first tokens, further tokens and whole answers are: the statistic that each target names.

Percentiles are closed forms, so that every candidate has them; the short list is simulated as well.

* Open loop: the number of requests that run is taken as normal about its mean, with the variance of independent
  answers under arrivals of squared coefficient of variation ca²: B (1 + ca²) / 2 (Poisson arrivals: B). Before the
  first token (``waiting.py``) a long prompt, a step that has just begun, the prompts of the same step and the wait
  for a place (both with an exponential tail) are late together: their sum, since with heavy tails one of them alone
  makes a late token.
* Closed loop (steady, staggered): the number that runs does not vary; the prompts that stall an answer do when lengths
  do. The mean wait was fitted on measured servers, its tail is taken as exponential.
* Burst: all start together, and a request's place in the order is uniform.

Not valid near utilisation 1, for a handful of requests (normal, exponential), where memory holds few requests of very
different lengths (those that are put back are computed again; docs/SIMULATION.md has figures), and where arrivals
depend on each other for longer than an answer takes. A median is answered with the mean, which is not below it.
Elsewhere parts that are late are added as if independent: the root of the sum of their squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.formulas.meta import formula

_QUEUE = ("sakasegawa-1977", "allen-1990")


@formula(unit="ms", label="More wait than the mean, at the percentile of the TTFT target", symbol="X", sources=_QUEUE)
def ttft_queue_ms(
    closed_loop_flag: Any,
    closed_wait_ms: Any,
    ttft_target_tail_share: Any,
    prefill_deviation_ms: Any,
    clump_wait_ms: Any,
    place_wait_ratio: Any,
    place_wait_ms: Any,
) -> Any:
    """Exponential tails: of the prompts in the same step by their deviation, of the wait for a place above the
    probability to wait at all; both late together."""
    return np.maximum(
        np.where(
            closed_loop_flag > 0,
            closed_wait_ms * (np.log(1 / ttft_target_tail_share) - 1),
            np.sqrt(prefill_deviation_ms**2 + clump_wait_ms**2) * np.maximum(np.log(1 / ttft_target_tail_share) - 1, 0)
            + (np.log(np.maximum(place_wait_ratio / ttft_target_tail_share, 1)) - place_wait_ratio) * place_wait_ms,
        ),
        0,
    )


@formula(unit="ms", label="TTFT at the statistic of its target", symbol="TTFT_q", sources=("roofline-note", *_QUEUE))
def ttft_tail_ms(
    ttft_ms: Any,
    burst_flag: Any,
    burst_base_ms: Any,
    burst_wait_ms: Any,
    ttft_target_tail_share: Any,
    closed_loop_flag: Any,
    gated_step_ms: Any,
    prompt_excess_ms: Any,
    ttft_queue_ms: Any,
) -> Any:
    """A long prompt, a long queue, or a step that has just begun, in a burst a late place in the order; never below the
    mean, and the mean itself for a target that is one."""
    return np.maximum(
        ttft_ms,
        np.where(
            burst_flag > 0,
            burst_base_ms + burst_wait_ms * (1 - ttft_target_tail_share),
            ttft_ms
            + np.where(
                closed_loop_flag > 0,
                np.sqrt(prompt_excess_ms**2 + ttft_queue_ms**2),
                prompt_excess_ms + ttft_queue_ms + np.maximum(1 / 2 - ttft_target_tail_share, 0) * gated_step_ms,
            ),
        ),
    )


@formula(unit="requests", label="Deviation of the requests that run", symbol="\\sigma_B", sources=("methods-note",))
def running_deviation_requests(closed_loop_flag: Any, batch_requests: Any, interarrival_scv: Any) -> Any:
    """Poisson about the mean for Poisson arrivals; nothing where a fixed number is kept in flight."""
    return np.where(closed_loop_flag > 0, 0, np.sqrt(batch_requests * (1 + interarrival_scv) / 2))


@formula(unit="requests", label="Deviation of the prompts that stall an answer", symbol="\\sigma_S", sources=_QUEUE)
def stall_deviation_requests(
    group_requests: Any,
    closed_loop_flag: Any,
    output_deviation_tokens: Any,
    output_mean_tokens: Any,
    interarrival_scv: Any,
    input_deviation_tokens: Any,
    input_mean_tokens: Any,
) -> Any:
    """Their number and their lengths vary; an answer shorter than most has fewer to average over, which counts by
    1 + cs² (exact for log-normal lengths). In a closed loop one comes when another ends: only lengths vary."""
    return np.sqrt(
        group_requests
        * (
            np.where(closed_loop_flag > 0, (output_deviation_tokens / output_mean_tokens) ** 2, interarrival_scv)
            + (input_deviation_tokens / input_mean_tokens) ** 2
        )
        * (1 + (output_deviation_tokens / output_mean_tokens) ** 2)
    )


@formula(unit="requests", label="Requests that run at the statistic of the TPOT target", symbol="B_q", sources=_QUEUE)
def crowd_requests(
    batch_requests: Any, tpot_target_z: Any, running_deviation_requests: Any, place_requests: Any
) -> Any:
    """So many deviations above the mean, but never more than there are places."""
    return np.minimum(
        batch_requests + tpot_target_z * running_deviation_requests, np.maximum(batch_requests, place_requests)
    )


@formula(
    unit="requests", label="Requests that run at the statistic of the answer target", symbol="B_{q,a}", sources=_QUEUE
)
def answer_crowd_requests(
    batch_requests: Any, answer_target_z: Any, running_deviation_requests: Any, place_requests: Any
) -> Any:
    """The same for the target of the whole answer."""
    return np.minimum(
        batch_requests + answer_target_z * running_deviation_requests, np.maximum(batch_requests, place_requests)
    )


@formula(unit="experts", label="Experts touched by the crowd that runs", symbol="E_q", sources=("roofline-note",))
def crowd_experts(experts: Any, expert_missed_ratio: Any, crowd_requests: Any) -> Any:
    """As for the mean, of more requests."""
    return experts * (1 - expert_missed_ratio**crowd_requests)


@formula(unit="ms", label="TPOT at the statistic of its target", symbol="TPOT_q", sources=("roofline-note", *_QUEUE))
def tpot_tail_ms(
    crowd_requests: Any,
    dense_read_ms: Any,
    dense_request_ms: Any,
    expert_read_ms: Any,
    crowd_experts: Any,
    expert_request_ms: Any,
    expert_tile_requests: Any,
    step_fixed_ms: Any,
    step_request_ms: Any,
    token_step_factor: Any,
    group_requests: Any,
    tpot_target_z: Any,
    stall_deviation_requests: Any,
    output_mean_tokens: Any,
    stall_ms: Any,
    burst_flag: Any,
) -> Any:
    """The step again, with the crowd that runs, and the stalls of the crowd that arrives; the mean itself for a target
    that is a mean."""
    return (
        np.maximum(dense_read_ms, dense_request_ms * crowd_requests)
        + np.maximum(
            expert_read_ms * crowd_experts,
            expert_request_ms * (crowd_requests + np.minimum(crowd_requests, crowd_experts * expert_tile_requests)),
        )
        + step_fixed_ms
        + step_request_ms * crowd_requests
    ) * token_step_factor + np.maximum(
        group_requests + tpot_target_z * stall_deviation_requests - 1, 0
    ) / output_mean_tokens * stall_ms * np.where(burst_flag > 0, 1 / 2, 1)


@formula(unit="ms", label="Time of the whole answer, mean", symbol="T_a", sources=("roofline-note",))
def answer_ms(ttft_ms: Any, tpot_ms: Any, output_mean_tokens: Any) -> Any:
    """First token, then one TPOT for each token of the mean answer."""
    return ttft_ms + tpot_ms * output_mean_tokens


@formula(
    unit="ms",
    label="TPOT at the statistic of the answer target",
    symbol="TPOT_{q,a}",
    sources=("roofline-note", *_QUEUE),
)
def answer_tpot_ms(
    answer_crowd_requests: Any,
    dense_read_ms: Any,
    dense_request_ms: Any,
    expert_read_ms: Any,
    experts: Any,
    expert_missed_ratio: Any,
    expert_request_ms: Any,
    expert_tile_requests: Any,
    step_fixed_ms: Any,
    step_request_ms: Any,
    token_step_factor: Any,
    group_requests: Any,
    answer_target_z: Any,
    stall_deviation_requests: Any,
    output_mean_tokens: Any,
    stall_ms: Any,
    burst_flag: Any,
) -> Any:
    """The same sum as for the TPOT target."""
    return (
        np.maximum(dense_read_ms, dense_request_ms * answer_crowd_requests)
        + np.maximum(
            expert_read_ms * experts * (1 - expert_missed_ratio**answer_crowd_requests),
            expert_request_ms
            * (
                answer_crowd_requests
                + np.minimum(
                    answer_crowd_requests,
                    experts * (1 - expert_missed_ratio**answer_crowd_requests) * expert_tile_requests,
                )
            ),
        )
        + step_fixed_ms
        + step_request_ms * answer_crowd_requests
    ) * token_step_factor + np.maximum(
        group_requests + answer_target_z * stall_deviation_requests - 1, 0
    ) / output_mean_tokens * stall_ms * np.where(burst_flag > 0, 1 / 2, 1)


@formula(unit="ms", label="More wait than the mean, at the answer's percentile", symbol="X_Q", sources=_QUEUE)
def answer_queue_ms(
    burst_flag: Any,
    burst_wait_ms: Any,
    answer_target_tail_share: Any,
    closed_loop_flag: Any,
    closed_wait_ms: Any,
    prefill_deviation_ms: Any,
    clump_wait_ms: Any,
    place_wait_ratio: Any,
    place_wait_ms: Any,
) -> Any:
    """The tails of the queues before the first token, as in the TTFT, less their means."""
    return np.maximum(
        np.where(
            burst_flag > 0,
            burst_wait_ms * (1 / 2 - answer_target_tail_share),
            np.where(
                closed_loop_flag > 0,
                closed_wait_ms * (np.log(1 / answer_target_tail_share) - 1),
                np.sqrt(prefill_deviation_ms**2 + clump_wait_ms**2)
                * np.maximum(np.log(1 / answer_target_tail_share) - 1, 0)
                + (np.log(np.maximum(place_wait_ratio / answer_target_tail_share, 1)) - place_wait_ratio)
                * place_wait_ms,
            ),
        ),
        0,
    )


@formula(unit="ms", label="Whole answer at the statistic of its target", symbol="T_{a,q}", sources=_QUEUE)
def answer_tail_ms(
    ttft_ms: Any,
    tpot_ms: Any,
    output_mean_tokens: Any,
    output_tail_tokens: Any,
    answer_queue_ms: Any,
    answer_target_z: Any,
    input_deviation_tokens: Any,
    input_mean_tokens: Any,
    prefill_ms: Any,
    answer_tpot_ms: Any,
) -> Any:
    """A long answer, or a slow server, or both (as independent); the mean itself for a target that is a mean."""
    return (
        ttft_ms
        + tpot_ms * np.minimum(output_mean_tokens, output_tail_tokens)
        + np.sqrt(
            (tpot_ms * np.maximum(output_tail_tokens - output_mean_tokens, 0)) ** 2
            + (
                answer_queue_ms
                + answer_target_z * input_deviation_tokens / input_mean_tokens * prefill_ms
                + np.minimum(output_mean_tokens, output_tail_tokens) * (answer_tpot_ms - tpot_ms)
            )
            ** 2
        )
    )


FORMULAS = (
    ttft_queue_ms,
    ttft_tail_ms,
    running_deviation_requests,
    stall_deviation_requests,
    crowd_requests,
    crowd_experts,
    tpot_tail_ms,
    answer_ms,
    answer_crowd_requests,
    answer_tpot_ms,
    answer_queue_ms,
    answer_tail_ms,
)

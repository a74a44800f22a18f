"""How long a request waits for its first token, on average, by how requests come.

Open loop (requests come at a rate, whatever is under way), read at a mean of ``batch_requests`` that run: arrivals =
requests that run / time each runs (Little's law), where each runs among all others and itself (arrival theorem).

* Before the prompt: a **queue with vacations and gates** (Takagi 1991). A step takes in what came during the step
  before it, so that a request waits for the rest of a step and for the prompts of those that came with it. A step with
  its prompts takes s / (1 - u) on average; with what varies it is M = s / (1 - u) + u p (ca2 + cp2) / (1 - u2) long as
  seen by one that arrives, of which half is left, and brings u M of others' prompts.
* Bursty arrivals come in clumps (ca2 - 1 more around each than at random), whose prompts come before or with one's own.
* Before its place: all that runs shares the server, so that a request runs the longer the more there are. The more the
  load lengthens it, the closer the replica is to the most it ever serves: **processor sharing**, q = share of the
  running time that the others cause. With c places the utilisation is rho = B / c + q (1 - (B + 1) / c), the arrivals
  over those that all places together serve. The probability to wait is that of many servers (Halfin-Whitt 1981), with
  the deviation of a shared server, the root of c (1 + ca2) / 2 / (1 - q); those who wait do so by Allen-Cunneen.

ca2, cp2: squared coefficients of variation of arrivals and of prompts. 1 - rho never falls below 1 -
``utilisation_cap``: nearer to 1 no closed form holds; nor does it where memory holds few requests of very different
lengths, since those that are put back are computed again. Closed loop: the mean wait was fitted on measured servers.
Burst: half of all prompts. What was measured against the simulation stands in docs/SIMULATION.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import ROUNDING_GUARD
from reports.formulas.meta import formula

_QUEUE = ("sakasegawa-1977", "allen-1990")
_GATED = ("takagi-1991",)
_SHARING = ("kelly-1979",)
_RENEWAL = ("cox-1962",)


@formula(unit="requests", label="Places for requests in a replica", symbol="B_{place}", sources=("roofline-note",))
def place_requests(memory_requests: Any, engine_requests: Any) -> Any:
    """What memory and scheduler admit together; whoever comes later waits."""
    return np.maximum(np.minimum(memory_requests, engine_requests), 1)


@formula(unit="ms", label="Time a prompt occupies its group", symbol="t_{prompt}", sources=("roofline-note",))
def prompt_ms(prefill_ms: Any, computed_tokens: Any, scheduling_tokens: Any, step_ms: Any) -> Any:
    """The prefill, and its share of the decode steps that carry its chunks."""
    return prefill_ms + computed_tokens / scheduling_tokens * step_ms


@formula(unit="ms", label="First token without a queue", symbol="TTFT_0", sources=("roofline-note",))
def unqueued_ttft_ms(
    ttft_launches: Any,
    launch_ms: Any,
    engine_time_factor: Any,
    prefill_ms: Any,
    weights_read_ms: Any,
    open_loop_steps: Any,
    computed_tokens: Any,
    scheduling_tokens: Any,
    step_ms: Any,
) -> Any:
    """The prompt itself and the steps that carry its chunks: independent arrivals do not come in waves."""
    return (
        ttft_launches * launch_ms * engine_time_factor
        + np.maximum(prefill_ms, weights_read_ms)
        + (open_loop_steps + computed_tokens / scheduling_tokens) * step_ms
    )


@formula(unit="ms", label="Longer running for one request more", symbol="b", sources=_SHARING)
def running_growth_ms(
    output_mean_tokens: Any,
    token_step_factor: Any,
    dense_ms: Any,
    dense_read_ms: Any,
    dense_request_ms: Any,
    expert_ms: Any,
    expert_read_ms: Any,
    experts_touched: Any,
    expert_request_ms: Any,
    step_request_ms: Any,
    stall_ms: Any,
    pipeline_parallel: Any,
    data_parallel: Any,
) -> Any:
    """Every request that runs makes each step of the others longer, by what the step is bound by, and stops them for
    its prompt. What is read once for all costs nothing more, nor do experts that few requests do not touch yet."""
    return output_mean_tokens * token_step_factor * (
        np.where(dense_ms > dense_read_ms, dense_request_ms, 0)
        + np.where(expert_ms > expert_read_ms * experts_touched, expert_request_ms, 0)
        + step_request_ms
    ) + stall_ms / (pipeline_parallel * data_parallel)


@formula(unit="ms", label="Time a request runs", symbol="t_{run}", sources=_SHARING)
def running_ms(unqueued_ttft_ms: Any, tpot_ms: Any, output_mean_tokens: Any, running_growth_ms: Any) -> Any:
    """From its place to its last token, among those that run on average and itself."""
    return unqueued_ttft_ms + tpot_ms * np.maximum(output_mean_tokens - 1, 0) + running_growth_ms


@formula(unit="ratio", label="Share of time that prompts are computed", symbol="u_{pre}", sources=("roofline-note",))
def prefill_utilisation_ratio(group_requests: Any, prompt_ms: Any, running_ms: Any) -> Any:
    """Arrivals times the time of a prompt, arrivals by Little's law; from 1 on, prompts come faster than they are
    computed."""
    return group_requests * prompt_ms / running_ms


@formula(unit="ratio", label="Share of time without prompts", symbol="1 - u_{pre}", sources=_GATED)
def prefill_idle_ratio(prefill_utilisation_ratio: Any, utilisation_cap: Any) -> Any:
    """Never less than the cap leaves: nearer to full no closed form holds."""
    return np.maximum(1 - prefill_utilisation_ratio, 1 - utilisation_cap)


@formula(unit="ms", label="Deviation of the prompts in a step", symbol="\\sigma_{pre}", sources=_GATED)
def prefill_deviation_ms(
    prefill_utilisation_ratio: Any, prefill_idle_ratio: Any, prompt_ms: Any, step_ms: Any, prompt_variation_ratio: Any
) -> Any:
    """Their number varies as arrivals do, their lengths as prompts do, and a long step gathers more for the next: the
    geometric sum over steps, 1 / (1 - u2)."""
    return (
        np.sqrt(
            prefill_utilisation_ratio / (1 + prefill_utilisation_ratio) * prompt_ms * step_ms * prompt_variation_ratio
        )
        / prefill_idle_ratio
    )


@formula(unit="ms", label="Step with its prompts, as met", symbol="t_{met}", sources=_GATED)
def gated_step_ms(step_ms: Any, prefill_idle_ratio: Any, prefill_deviation_ms: Any) -> Any:
    """Mean length of the step that is under way when a request comes: long ones are met more often, by their squared
    deviation over their mean."""
    return step_ms / prefill_idle_ratio + prefill_deviation_ms**2 * prefill_idle_ratio / step_ms


@formula(unit="ms", label="Prompts of a clump of arrivals", symbol="W_{clump}", sources=_RENEWAL)
def clump_wait_ms(
    prompt_ms: Any, group_arrival_scv: Any, group_requests: Any, gated_step_ms: Any, running_ms: Any
) -> Any:
    """Bursty arrivals come near one another: around one there are ca2 - 1 more than at random (renewal theory). Of them
    the fourth root of n / (n + 2 ca2) come within a step with n arrivals on average: near what gamma distributed gaps
    have for ca2 from 2 to 8."""
    return (
        prompt_ms
        * (group_arrival_scv - 1)
        * np.sqrt(
            np.sqrt(
                group_requests * gated_step_ms / (group_requests * gated_step_ms + 2 * group_arrival_scv * running_ms)
            )
        )
    )


@formula(unit="ms", label="Wait for the prompt, mean", symbol="W_{pre}", sources=_GATED)
def prefill_wait_ms(gated_step_ms: Any, prefill_utilisation_ratio: Any, clump_wait_ms: Any) -> Any:
    """Half of the step under way, and the prompts of those that came in the same step."""
    return gated_step_ms / 2 + np.maximum(np.minimum(prefill_utilisation_ratio, 1) * gated_step_ms + clump_wait_ms, 0)


@formula(unit="ratio", label="Share of its running time that others cause", symbol="\\chi", sources=_SHARING)
def crowding_ratio(batch_requests: Any, running_growth_ms: Any, running_ms: Any) -> Any:
    """What a replica serves over the most it could with places without end."""
    return np.minimum(batch_requests * running_growth_ms / running_ms, 1)


@formula(unit="ratio", label="Utilisation of a replica", symbol="\\rho", sources=_SHARING)
def place_utilisation_ratio(batch_requests: Any, place_requests: Any, crowding_ratio: Any) -> Any:
    """Arrivals over what all places together serve: nearer to 1 than the share of places taken, where a full replica
    serves each more slowly."""
    return np.where(
        batch_requests < place_requests,
        batch_requests / place_requests + crowding_ratio * (1 - (batch_requests + 1) / place_requests),
        1,
    )


@formula(unit="ratio", label="Deviations to the last place", symbol="\\beta", sources=_SHARING)
def place_distance_ratio(
    place_requests: Any, batch_requests: Any, replicas: Any, crowding_ratio: Any, interarrival_scv: Any
) -> Any:
    """Places left, in deviations of the number that runs in the unit: the root of its places, more by 1 / (1 - q) where
    requests slow one another, and by the burstiness of arrivals."""
    return np.maximum(place_requests - batch_requests, 0) * np.sqrt(
        replicas * np.maximum(1 - crowding_ratio, 0) * 2 / ((1 + interarrival_scv) * place_requests)
    )


@formula(unit="ratio", label="Probability to wait for a place", symbol="P_{place}", sources=("halfin-whitt-1981",))
def place_wait_ratio(place_distance_ratio: Any) -> Any:
    """For many servers 1 / (1 + k b exp(b2 / 2)), with k between 1.25 and 2.5 taken as 2."""
    return 1 - 1 / (1 + np.exp(-(place_distance_ratio**2) / 2) / (2 * place_distance_ratio + ROUNDING_GUARD))


@formula(unit="ms", label="Wait for a place, of those that wait", symbol="W_{place}", sources=_QUEUE)
def place_wait_ms(
    running_ms: Any,
    batch_requests: Any,
    place_requests: Any,
    interarrival_scv: Any,
    output_deviation_tokens: Any,
    output_mean_tokens: Any,
    replicas: Any,
    place_utilisation_ratio: Any,
    utilisation_cap: Any,
) -> Any:
    """Until one of those that run has ended, when all places are taken; how long they run varies as the answers do."""
    return (
        place_utilisation_ratio
        * running_ms
        / np.minimum(batch_requests, place_requests)
        * (interarrival_scv + (output_deviation_tokens / output_mean_tokens) ** 2)
        / (2 * replicas * np.maximum(1 - place_utilisation_ratio, 1 - utilisation_cap))
    )


@formula(unit="ms", label="Queue of a closed loop, mean", symbol="W_{closed}", sources=("roofline-note",))
def closed_wait_ms(ttft_queue_factor: Any, group_requests: Any, prefill_ms: Any) -> Any:
    """Prompts of the others that come at the same time; the factor is fitted."""
    return ttft_queue_factor * np.maximum(group_requests - 1, 0) * prefill_ms


@formula(unit="ms", label="First token in a closed loop, mean", symbol="TTFT_{closed}", sources=("roofline-note",))
def closed_ttft_ms(
    engine_ttft_offset_ms: Any,
    ttft_launches: Any,
    launch_ms: Any,
    engine_time_factor: Any,
    prefill_ms: Any,
    weights_read_ms: Any,
    ttft_steps: Any,
    step_ms: Any,
    closed_wait_ms: Any,
) -> Any:
    """Under steady load: the engine's own offset, the prompt itself, the steps in flight and a short queue."""
    return (
        engine_ttft_offset_ms
        + ttft_launches * launch_ms * engine_time_factor
        + np.maximum(prefill_ms, weights_read_ms)
        + ttft_steps * step_ms
        + closed_wait_ms
    )


@formula(unit="ms", label="Wait of the last in a burst", symbol="W_{burst}", sources=("roofline-note",))
def burst_wait_ms(group_requests: Any, pipeline_parallel: Any, prompt_ms: Any) -> Any:
    """All prompts that start together, one after the other, with the decode steps between their chunks."""
    return group_requests * pipeline_parallel * prompt_ms


@formula(unit="ms", label="Time to first token (TTFT), mean", symbol="TTFT", sources=("roofline-note", *_QUEUE))
def ttft_ms(
    burst_flag: Any,
    burst_base_ms: Any,
    burst_wait_ms: Any,
    closed_loop_flag: Any,
    closed_ttft_ms: Any,
    unqueued_ttft_ms: Any,
    prefill_wait_ms: Any,
    place_wait_ratio: Any,
    place_wait_ms: Any,
) -> Any:
    """By how requests come: half of a burst's prompts; the fitted closed loop; or both queues before the prompt."""
    return np.where(
        burst_flag > 0,
        burst_base_ms + burst_wait_ms / 2,
        np.where(
            closed_loop_flag > 0,
            closed_ttft_ms,
            unqueued_ttft_ms + prefill_wait_ms + place_wait_ratio * place_wait_ms,
        ),
    )


@formula(unit="ratio", label="Utilisation under independent arrivals", symbol="u", sources=("roofline-note",))
def queue_utilisation_ratio(closed_loop_flag: Any, prefill_utilisation_ratio: Any, place_utilisation_ratio: Any) -> Any:
    """Of the prefill or of the whole replica, whichever is nearer to full. Zero in a closed loop: there a busy server
    slows the next request, no queue grows without end."""
    return np.where(closed_loop_flag > 0, 0, np.maximum(prefill_utilisation_ratio, place_utilisation_ratio))


FORMULAS = (
    place_requests,
    prompt_ms,
    unqueued_ttft_ms,
    running_growth_ms,
    running_ms,
    prefill_utilisation_ratio,
    prefill_idle_ratio,
    prefill_deviation_ms,
    gated_step_ms,
    clump_wait_ms,
    prefill_wait_ms,
    crowding_ratio,
    place_utilisation_ratio,
    place_distance_ratio,
    place_wait_ratio,
    place_wait_ms,
    closed_wait_ms,
    closed_ttft_ms,
    burst_wait_ms,
    ttft_ms,
    queue_utilisation_ratio,
)

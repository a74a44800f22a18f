"""How long a request waits for its first token, on average, by how requests come.

Open loop (requests come at a rate, whatever is under way), read at a mean of ``batch_requests`` that run:
arrivals = requests that run / time each runs (Little's law), and two queues lie before the first token, for a place
(memory, scheduler) and for the prefill. Each is taken as a queue with c servers and utilisation u (Sakasegawa 1977 and
Allen-Cunneen; with one server Kingman's formula, and Pollaczek-Khinchine for Poisson arrivals):

* probability to wait = u^(sqrt(2 (c + 1)) - 1)
* mean wait of those that wait = time of one (ca² + cs²) / (2 c (1 - u))

with ca², cs² the squared coefficients of variation of arrivals and of the time of one. The replicas of a unit share
their queues, as behind a router that knows how busy each is. 1 - u never falls below 1 - ``utilisation_cap``: nearer to
1 no closed form holds. Closed loop: the mean wait was fitted on measured servers. Burst: half of all prompts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.constants import ROUNDING_GUARD
from reports.formulas.meta import formula

_QUEUE = ("sakasegawa-1977", "allen-1990")


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
    step_ms: Any,
) -> Any:
    """The prompt itself and the step it interrupts: independent arrivals do not come in waves."""
    return (
        ttft_launches * launch_ms * engine_time_factor
        + np.maximum(prefill_ms, weights_read_ms)
        + open_loop_steps * step_ms
    )


@formula(unit="ms", label="Time a request runs", symbol="t_{run}", sources=("roofline-note",))
def running_ms(unqueued_ttft_ms: Any, tpot_ms: Any, output_mean_tokens: Any) -> Any:
    """From its place to its last token."""
    return unqueued_ttft_ms + tpot_ms * np.maximum(output_mean_tokens - 1, 0)


@formula(unit="ratio", label="Share of time that prompts are computed", symbol="u_{pre}", sources=("roofline-note",))
def prefill_utilisation_ratio(group_requests: Any, prompt_ms: Any, running_ms: Any) -> Any:
    """Arrivals times the time of a prompt, arrivals by Little's law; from 1 on, prompts come faster than they are
    computed."""
    return group_requests * prompt_ms / running_ms


@formula(unit="ratio", label="Probability to wait for the prefill", symbol="P_{pre}", sources=_QUEUE)
def prefill_wait_ratio(prefill_utilisation_ratio: Any, replicas: Any, data_parallel: Any) -> Any:
    """All attention groups of the unit together; a power, written so that no spreadsheet stumbles over a tiny one."""
    return np.exp(
        (np.sqrt(2 * (replicas * data_parallel + 1)) - 1)
        * np.log(np.minimum(np.maximum(prefill_utilisation_ratio, ROUNDING_GUARD), 1))
    )


@formula(unit="ms", label="Wait for the prefill, of those that wait", symbol="W_{pre}", sources=_QUEUE)
def prefill_wait_ms(
    prompt_ms: Any,
    pipeline_parallel: Any,
    interarrival_scv: Any,
    input_deviation_tokens: Any,
    input_mean_tokens: Any,
    replicas: Any,
    data_parallel: Any,
    prefill_utilisation_ratio: Any,
    utilisation_cap: Any,
) -> Any:
    """A stage is free for the next prompt as soon as it has passed this one on."""
    return (
        prompt_ms
        / pipeline_parallel
        * (interarrival_scv + (input_deviation_tokens / input_mean_tokens) ** 2)
        / (2 * replicas * data_parallel * np.maximum(1 - prefill_utilisation_ratio, 1 - utilisation_cap))
    )


@formula(unit="ratio", label="Share of places that are taken", symbol="u_{place}", sources=("roofline-note",))
def place_utilisation_ratio(batch_requests: Any, place_requests: Any) -> Any:
    """Requests that run over those that could."""
    return batch_requests / place_requests


@formula(unit="ratio", label="Probability to wait for a place", symbol="P_{place}", sources=_QUEUE)
def place_wait_ratio(place_utilisation_ratio: Any, replicas: Any, place_requests: Any) -> Any:
    """All places of the unit together."""
    return np.exp(
        (np.sqrt(2 * (replicas * place_requests + 1)) - 1)
        * np.log(np.minimum(np.maximum(place_utilisation_ratio, ROUNDING_GUARD), 1))
    )


@formula(unit="ms", label="Wait for a place, of those that wait", symbol="W_{place}", sources=_QUEUE)
def place_wait_ms(
    running_ms: Any,
    interarrival_scv: Any,
    output_deviation_tokens: Any,
    output_mean_tokens: Any,
    replicas: Any,
    place_requests: Any,
    place_utilisation_ratio: Any,
    utilisation_cap: Any,
) -> Any:
    """Until one of those that run has ended; how long they run varies as the answers do."""
    return (
        running_ms
        * (interarrival_scv + (output_deviation_tokens / output_mean_tokens) ** 2)
        / (2 * replicas * place_requests * np.maximum(1 - place_utilisation_ratio, 1 - utilisation_cap))
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
    prefill_wait_ratio: Any,
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
            unqueued_ttft_ms + prefill_wait_ratio * prefill_wait_ms + place_wait_ratio * place_wait_ms,
        ),
    )


@formula(unit="ratio", label="The same, under independent arrivals", symbol="u", sources=("roofline-note",))
def queue_utilisation_ratio(closed_loop_flag: Any, prefill_utilisation_ratio: Any) -> Any:
    """Zero in a closed loop: there a busy prefill slows the next request, no queue grows without end."""
    return np.where(closed_loop_flag > 0, 0, prefill_utilisation_ratio)


FORMULAS = (
    place_requests,
    prompt_ms,
    unqueued_ttft_ms,
    running_ms,
    prefill_utilisation_ratio,
    prefill_wait_ratio,
    prefill_wait_ms,
    place_utilisation_ratio,
    place_wait_ratio,
    place_wait_ms,
    closed_wait_ms,
    closed_ttft_ms,
    burst_wait_ms,
    ttft_ms,
    queue_utilisation_ratio,
)

"""Simulates serving engines that batch continuously: which request waits, which runs, when each token comes.

Pure numbers in and out. An engine is one scheduler with its own memory: a replica, or one attention group or pipeline
share of a replica. What it leaves out: time between steps, requests that give up, and blocks of a prefix that several
requests share (each is charged for its own).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reports.simulate.compiled import inner_loop
from reports.simulate.kernel import BUSY, OVER, PEAK, PREEMPTIONS, RUNNING, SPAN, SYSTEM, USED, WAITING

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

ROUTES = {"round-robin": 0, "least-loaded": 1}
"""How requests are sent to engines: in turn, or to the one with the fewest requests waiting and running."""


@dataclass(frozen=True)
class StepModel:
    """What a step of one engine takes, in ms.

    A step with b decoding requests takes ``decode_ms[b]`` at mean contexts, ``context_ms_per_token`` more for each
    token of context beyond them, and ``prefill_stall_factor`` times the prompts computed beside them; a prompt costs
    ``prefill_ms_per_token`` n + ``prefill_ms_per_token_squared`` n². A step without decodes takes the prompts, and
    never less than ``least_prefill_ms``. ``before_first_ms`` passes outside the engine and delays every token alike.
    """

    decode_ms: Values
    prefill_ms_per_token: float = 0.0
    prefill_ms_per_token_squared: float = 0.0
    least_prefill_ms: float = 0.0
    prefill_stall_factor: float = 1.0
    context_ms_per_token: float = 0.0
    context_mean_tokens: float = 0.0
    before_first_ms: float = 0.0

    def __post_init__(self) -> None:
        batch = np.arange(len(self.decode_ms))
        rest = self.decode_ms - self.context_ms_per_token * self.context_mean_tokens * batch
        if not np.all(np.isfinite(self.decode_ms)) or np.any(rest[1:] < 0):
            raise ValueError("a decode step takes no time, or less than its context alone")


@dataclass(frozen=True)
class Memory:
    """What an engine's KV cache holds, in any one unit: tokens, or KV elements of all layers.

    A request with n tokens takes ``full`` for each token of its whole pages, ``sliding`` for those of the last
    ``window`` tokens, and ``constant`` whatever its length.
    """

    capacity: float = np.inf
    page_tokens: int = 1
    full: float = 1.0
    sliding: float = 0.0
    window_tokens: int = 0
    constant: float = 0.0
    reserving: bool = False
    """A request is admitted when its whole length fits, and never preempted; else it takes pages as it grows."""
    watched: float = np.inf
    """An amount of which the outcome says how much of the time more is used."""

    def held(self, tokens: Any) -> Any:
        """Memory of requests with so many tokens."""
        page = self.page_tokens
        pages = -(-np.asarray(tokens) // page) * page
        near = -(-np.minimum(tokens, self.window_tokens) // page) * page
        return self.full * pages + self.sliding * near + self.constant


@dataclass(frozen=True)
class Engines:
    """Equal engines behind one router."""

    step: StepModel
    memory: Memory = Memory()
    count: int = 1
    route: str = "round-robin"
    most_running: int = 1024
    """Requests one engine runs at once."""
    chunk_tokens: int = 8192
    """Tokens of one step: a decode is one, the rest goes to prompts."""


@dataclass(frozen=True)
class Requests:
    """What arrives.

    The first ``closed`` requests come in a closed loop: ``in_flight`` of them at their ``arrival_ms``, the others each
    when one leaves. What comes after them has its ``arrival_ms`` counted from the last arrival of the closed loop.
    """

    arrival_ms: Values
    input_tokens: Counts
    output_tokens: Counts
    cached_tokens: Counts | None = None
    """Tokens at the start of the prompt that the prefix cache has: they take memory, and no time."""
    in_flight: int = 0
    closed: int = 0

    def __len__(self) -> int:
        return len(self.input_tokens)


@dataclass(frozen=True)
class Outcome:
    """What happened to each request (arrays in order of arrival), and to the engines while measured.

    Times in ms; ``inf`` for what a run that stopped early did not reach. Means are over the time from the arrival of
    the first measured request to that of the last, memory per engine.
    """

    arrival_ms: Values
    start_ms: Values
    first_ms: Values
    end_ms: Values
    output_tokens: Counts
    preempted: Counts
    engine: Counts
    measured: slice
    waiting: float
    running: float
    busy_share: float
    memory_used: float
    memory_over_share: float
    memory_peak: float
    preemptions: float
    request_ms: float
    """Time all requests of the whole run spent in the system, added up moment by moment (for Little's law)."""
    span_ms: float

    @property
    def ttft_ms(self) -> Values:
        """Time to first token of the measured requests."""
        return self.first_ms[self.measured] - self.arrival_ms[self.measured]

    @property
    def tpot_ms(self) -> Values:
        """Time per output token after the first of the measured requests; nan for answers of one token."""
        more = (self.output_tokens[self.measured] - 1).astype(np.float64)
        with np.errstate(all="ignore"):
            return np.where(more > 0, (self.end_ms[self.measured] - self.first_ms[self.measured]) / more, np.nan)

    @property
    def answer_ms(self) -> Values:
        """Time from arrival to the last token of the measured requests."""
        return self.end_ms[self.measured] - self.arrival_ms[self.measured]


def simulate(engines: Engines, requests: Requests, *, measure: slice | None = None) -> Outcome:
    """Run all requests, or until those in ``measure`` have left.

    Raises ValueError for requests that can never run: without tokens, or larger than the memory of an engine.
    """
    count = len(requests)
    first, last, _ = (measure or slice(0, count)).indices(count)
    cached = np.zeros(count, np.int64) if requests.cached_tokens is None else requests.cached_tokens
    _require(engines, requests, cached)
    arrival = requests.arrival_ms.astype(np.float64)  # a copy: the loop fills in when the closed ones arrive
    step, memory = engines.step, engines.memory
    start, first_ms, end, preempted, home, areas = inner_loop()(
        arrival,
        requests.input_tokens.astype(np.int64),
        requests.output_tokens.astype(np.int64),
        cached.astype(np.int64),
        step.decode_ms.astype(np.float64),
        float(step.context_ms_per_token),
        float(step.context_mean_tokens),
        float(step.prefill_ms_per_token),
        float(step.prefill_ms_per_token_squared),
        float(step.least_prefill_ms),
        float(step.prefill_stall_factor),
        int(memory.page_tokens),
        int(memory.window_tokens),
        float(memory.full),
        float(memory.sliding),
        float(memory.constant),
        float(memory.capacity),
        float(memory.watched),
        bool(memory.reserving),
        int(engines.count),
        ROUTES[engines.route],
        int(engines.chunk_tokens),
        int(engines.most_running),
        int(requests.in_flight),
        int(requests.closed),
        first,
        last,
        measure is None,
    )
    span = areas[SPAN] or np.nan
    each = span * engines.count
    return Outcome(
        arrival_ms=arrival,
        start_ms=start,
        first_ms=first_ms + step.before_first_ms,
        end_ms=end + step.before_first_ms,
        output_tokens=requests.output_tokens,
        preempted=preempted,
        engine=home,
        measured=slice(first, last),
        waiting=areas[WAITING] / span,
        running=areas[RUNNING] / span,
        busy_share=areas[BUSY] / each,
        memory_used=areas[USED] / each,
        memory_over_share=areas[OVER] / each,
        memory_peak=areas[PEAK],
        preemptions=areas[PREEMPTIONS],
        request_ms=areas[SYSTEM],
        span_ms=areas[SPAN],
    )


def _require(engines: Engines, requests: Requests, cached: Counts) -> None:
    """What the inner loop relies on."""
    count = len(requests)
    if len(requests.output_tokens) != count or len(cached) != count:
        raise ValueError("input, output and cached tokens are not of one length")
    if len(requests.arrival_ms) != count or not np.all(np.isfinite(requests.arrival_ms)):
        raise ValueError("every request has an arrival time")
    if not (0 < requests.in_flight <= requests.closed <= count or requests.in_flight == requests.closed == 0):
        raise ValueError("a closed loop keeps at least one request in flight, and has at least as many")
    first, rest = requests.arrival_ms[: requests.in_flight], requests.arrival_ms[requests.closed :]
    if np.any(np.diff(first) < 0) or np.any(np.diff(rest) < 0) or (len(rest) and rest[0] < 0):
        raise ValueError("arrival times must not decrease")
    if count and (requests.input_tokens.min() < 1 or requests.output_tokens.min() < 1):
        raise ValueError("a request has at least one token each way")
    if np.any(cached < 0) or np.any(cached >= requests.input_tokens):
        raise ValueError("at least the last token of a prompt is computed")
    if engines.count < 1 or engines.most_running < 1 or engines.chunk_tokens < 1:
        raise ValueError("at least one engine, one running request and one token a step")
    if engines.memory.page_tokens < 1 or engines.memory.page_tokens & (engines.memory.page_tokens - 1):
        raise ValueError("a page has a power of two of tokens")
    if len(engines.step.decode_ms) <= min(engines.most_running, engines.chunk_tokens):
        raise ValueError("no step time for the largest batch")
    largest = engines.memory.held(requests.input_tokens + requests.output_tokens - 1).max() if count else 0.0
    if largest > engines.memory.capacity:
        raise ValueError(f"a request needs {largest:g} of the {engines.memory.capacity:g} an engine holds")

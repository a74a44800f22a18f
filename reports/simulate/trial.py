"""One option at one load, simulated several times: statistics of latency, queue and goodput, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from reports.constants import MS_PER_S
from reports.simulate import arrivals
from reports.simulate.demand import Stream, fitted
from reports.simulate.engine import Outcome, Requests, simulate
from reports.simulate.statistics import MOST_REPEATS, REPEATS, interval, requests_needed, statistic_of, warm_up
from reports.simulate.step_model import Unit

LATENCIES = ("ttft_ms", "tpot_ms", "answer_ms")
STATISTICS = ("mean", "p50", "p95", "p99")
OTHERS = (
    "queue_requests", "running_requests", "preemptions", "utilisation", "memory_share", "goodput_requests_per_s",
)  # fmt: skip
LEAST_LOADS = 2.0
"""A run measures at least so many times the requests that are in the system at once."""

Key = tuple[str, str]
"""(metric, statistic)."""


@dataclass(frozen=True)
class Target:
    """What one latency must keep."""

    metric: str
    statistic: str
    ms: float


@dataclass(frozen=True)
class Pattern:
    """How requests arrive: at a rate, or as many in flight as the load says, at first all at once or staggered."""

    closed: bool = False
    burst: bool = False


@dataclass(frozen=True)
class Case:
    """One option: its unit, its requests (a stream a repeat), its targets, and the time of a request by load."""

    unit: Unit
    streams: tuple[Stream, ...]
    targets: tuple[Target, ...]
    request_s: NDArray[np.float64]
    """Time of a request by the closed form, at 0, 1, 2, … requests of one replica."""
    pattern: Pattern = Pattern()
    known: dict[tuple[float, int], dict[Key, float]] = field(default_factory=dict, compare=False, repr=False)
    """Statistics of the runs so far, by load and repeat: none is run twice."""

    def requests_per_s(self, load: float) -> float:
        """Arrivals at the whole unit that keep ``load`` requests in each replica (Little's law)."""
        at = min(round(load), len(self.request_s) - 1)
        return load * self.unit.replicas / float(self.request_s[at])

    @property
    def measured(self) -> int:
        """Requests that the statistics of the targets need."""
        return max((requests_needed(target.statistic) for target in self.targets), default=requests_needed("p95"))


@dataclass(frozen=True)
class Estimate:
    """A statistic over repeats."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Result:
    """What the repeats of one load say."""

    load: float
    requests_per_s: float
    measured: int
    repeats: int
    cut_share: float
    """Share of requests that were cut to what a server holds."""
    estimates: Mapping[Key, Estimate]

    def of(self, target: Target) -> Estimate:
        """The statistic that a target is for."""
        return self.estimates[target.metric, target.statistic]

    def misses(self, target: Target) -> bool:
        """Only what lies above the target with its whole interval is missed."""
        return not self.of(target).low <= target.ms

    def undecided(self, target: Target) -> bool:
        """The interval contains the target."""
        return self.of(target).low <= target.ms < self.of(target).high


def decided(cases: Sequence[tuple[Case, float]]) -> list[Result]:
    """Results of several (case, load): five repeats, and more where an interval contains its target."""
    results = run_all(cases, REPEATS)
    repeats = REPEATS
    while repeats < MOST_REPEATS:
        repeats *= 2
        open_ones = [
            index
            for index, (case, _) in enumerate(cases)
            if any(results[index].undecided(target) for target in case.targets)
        ]
        for index, result in zip(open_ones, run_all([cases[i] for i in open_ones], repeats), strict=True):
            results[index] = result
    return results


def run_all(cases: Sequence[tuple[Case, float]], repeats: int) -> list[Result]:
    """Results of several (case, load) on all cores."""
    jobs = [(case, load, repeat) for case, load in cases for repeat in range(repeats)]
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        found = list(pool.map(lambda job: _once(job[0], job[1], job[2]), jobs))
    return [
        _summary(case, load, found[index * repeats : (index + 1) * repeats]) for index, (case, load) in enumerate(cases)
    ]


def measured_requests(case: Case, load: float) -> int:
    """Requests of one run that count; of a burst those that start together."""
    if case.pattern.burst:
        return max(round(load * case.unit.replicas), 1)
    return math.ceil(max(case.measured, LEAST_LOADS * load * case.unit.replicas))


def _once(case: Case, load: float, repeat: int) -> dict[Key, float]:
    """The statistics of one run.

    Every run starts as a closed loop, which is where it is to be after one request time, however near the load is to
    what the engine can carry: from empty, a queue near its limit takes tens of request times to build up.
    """
    in_system = max(load * case.unit.replicas, 1.0)
    first = 0 if case.pattern.burst else warm_up(in_system)
    last = first + measured_requests(case, load)
    count = last + math.ceil(LEAST_LOADS * in_system)
    drawn, cut = fitted(case.streams[repeat].first(count), case.unit.most_tokens)
    rate = case.requests_per_s(load)
    in_flight = max(round(in_system), 1)
    closed = count if case.pattern.closed else max(first - in_flight, in_flight)
    spread = 0.0 if case.pattern.burst else in_system / rate * MS_PER_S
    arrival = np.concatenate([arrivals.staggered(in_flight, spread), np.zeros(closed - in_flight),
                              arrivals.open_loop(drawn.gaps[closed:], rate)])  # fmt: skip
    requests = Requests(arrival, drawn.input_tokens, drawn.output_tokens, drawn.cached_tokens, in_flight, closed)
    outcome = simulate(case.unit.engines, requests, measure=slice(first, last))
    return {**_statistics(case, outcome), ("cut", "share"): cut}


def _statistics(case: Case, outcome: Outcome) -> dict[Key, float]:
    latency = {"ttft_ms": outcome.ttft_ms, "tpot_ms": outcome.tpot_ms, "answer_ms": outcome.answer_ms}
    found = {(name, each): statistic_of(latency[name], each) for name in LATENCIES for each in STATISTICS}
    good = np.ones(len(outcome.ttft_ms), dtype=bool)
    for target in case.targets:
        good &= ~(latency[target.metric] > target.ms)  # an answer of one token has no time per further token
    count, span_s = len(good), outcome.span_ms / MS_PER_S
    capacity = case.unit.engines.memory.capacity
    others = (
        outcome.waiting / case.unit.replicas,
        outcome.running / case.unit.replicas,
        outcome.preemptions / count,
        outcome.busy_share,
        outcome.memory_used / capacity if math.isfinite(capacity) else math.nan,
        good.mean() * count / span_s / case.unit.replicas,
    )
    return found | {(name, "mean"): float(value) for name, value in zip(OTHERS, others, strict=True)}


def _summary(case: Case, load: float, found: Sequence[Mapping[Key, float]]) -> Result:
    keys = [key for key in found[0] if key[0] != "cut"]
    return Result(
        load=load,
        requests_per_s=case.requests_per_s(load) / case.unit.replicas,
        measured=measured_requests(case, load),
        repeats=len(found),
        cut_share=float(np.mean([each["cut", "share"] for each in found])),
        estimates={
            key: Estimate(*interval([each[key] for each in found], positive=key[0] in LATENCIES)) for key in keys
        },
    )


def largest_load(case: Case, below: int) -> int:
    """Largest whole load of a replica, less than ``below``, at which no target is missed; 0 when one request misses.

    Bisection on the same requests at every load: with few repeats first, then with the usual number below what those
    allow. Loads closer than one part in fifty are not told apart.
    """
    near = max(1, below // 50)
    few = _bisect(0, below, near, lambda load: _holds_on_average(run_all([(case, load)], FEW)[0], case))
    if few == 0 or _holds(decided([(case, float(few))])[0], case):
        return few
    return _bisect(0, few, near, lambda load: _holds(decided([(case, load)])[0], case))


FEW = 2
"""Repeats of one load while searching."""


def _bisect(low: int, high: int, near: int, holds: Callable[[float], bool]) -> int:
    """Largest load between one that holds and one that does not, down to ``near``."""
    while high - low > near:
        middle = (low + high) // 2
        if holds(float(middle)):
            low = middle
        else:
            high = middle
    return low


def _holds(result: Result, case: Case) -> bool:
    return not any(result.misses(target) for target in case.targets)


def _holds_on_average(result: Result, case: Case) -> bool:
    return all(result.of(target).mean <= target.ms for target in case.targets)

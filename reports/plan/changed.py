"""Workloads, targets and services that differ in one thing: shorter requests, later targets, part of the lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reports.scenario.lengths import Lengths
from reports.scenario.schema import Scenario
from reports.scenario.services import Service, ServiceEntry
from reports.scenario.targets import Targets
from reports.scenario.traces import LengthCounts
from reports.scenario.workload import Workload

POINTS = 4096
"""Points at which the part of a distribution is averaged."""


def with_services(scenario: Scenario, services: Sequence[Service]) -> Scenario:
    """The scenario asked for these services instead of its own, each with a workload and targets of its own."""
    entries = tuple(
        ServiceEntry.model_construct(
            name=each.name, model=each.model, tier=each.tier, demand=None, workload=each.workload,
            targets=each.targets, quantization=each.quantization, sharing=each.sharing, min_replicas=each.min_replicas,
        )
        for each in services
    )  # fmt: skip
    models = tuple(dict.fromkeys(each.model for each in services))
    return scenario.model_copy(
        update={
            "services": entries,
            "own_workloads": frozenset(each.name for each in services),
            "matrix": scenario.matrix.model_copy(update={"model": models}),
        }
    )


def scaled(length: Lengths, factor: float) -> Lengths:
    """A length whose every figure in tokens is multiplied; none gets shorter than a token."""
    changed: dict[str, Any] = {}
    for name in type(length).model_fields:
        value = getattr(length, name)
        if isinstance(value, float | int) and not isinstance(value, bool):
            changed[name] = max(value * factor, 1.0) if "deviation" not in name else value * factor
        elif name == "edges":
            changed[name] = tuple(edge * factor for edge in value)
    return length.model_copy(update=changed)


class PartLength(Lengths):
    """The lengths between two shares of another distribution: the shortest 90 %, or the longest 10 %."""

    distribution: Literal["part"] = "part"
    whole: Any
    low: float
    high: float

    def _moment(self, power: int) -> float:
        """Mean of the length to a power; of the longest part what the rest leaves of the whole, so that the parts of a
        distribution have its mean together."""

        def below(share: float) -> float:
            middles = (np.arange(POINTS) + 0.5) / POINTS * share
            return float(np.mean(np.asarray(self.whole.quantile(middles)) ** power)) * share if share else 0.0

        all_of_it = self.whole.mean if power == 1 else self.whole.deviation**2 + self.whole.mean**2
        upto = all_of_it if self.high >= 1 else below(self.high)
        return float((upto - below(self.low)) / (self.high - self.low))

    @cached_property
    def mean(self) -> float:
        """Mean of the part."""
        return self._moment(1)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the part."""
        return math.sqrt(max(self._moment(2) - self.mean**2, 0.0))

    def quantile(self, u: Any) -> Any:
        """Quantile of the whole, at the share that the part begins with and further."""
        return self.whole.quantile(self.low + np.asarray(u) * (self.high - self.low))


def part(length: Lengths, low: float, high: float) -> Lengths:
    """The lengths between two shares of a distribution (0 to 1)."""
    return PartLength(whole=length, low=low, high=high)


def divided(workload: Workload, share: float) -> tuple[float, Workload, Workload] | None:
    """A workload in two: requests with prompts up to a percentile of all prompts, and the longer ones.

    The first number is the share of requests that go to the short ones. Of a trace the rows are parted, so that answers
    stay with their prompts; otherwise prompts and answers are taken to be independent. None where one part is empty.
    """
    prompts = workload.input_tokens
    if workload.joint is None:
        if float(prompts.quantile(0.0)) == float(prompts.quantile(share)) == float(prompts.quantile(1 - 1e-9)):
            return None
        parts = (with_lengths(workload, part(prompts, low, high), workload.output_tokens)
                 for low, high in ((0.0, share), (share, 1.0)))  # fmt: skip
        return share, next(parts), next(parts)
    short = workload.joint[:, 0] <= float(prompts.quantile(share))
    if short.all() or not short.any():
        return None
    return float(short.mean()), _rows_of(workload, short), _rows_of(workload, ~short)


def _rows_of(workload: Workload, kept: NDArray[np.bool_]) -> Workload:
    """A workload with some rows of its trace alone."""
    trace = workload.traced
    assert trace is not None
    sample = trace.sample[kept]
    counted = (np.unique(sample[:, column], return_counts=True) for column in (0, 1))
    lengths = [LengthCounts(values.astype(float), counts) for values, counts in counted]
    least, most = float(lengths[0].tokens[0]), float(lengths[0].tokens[-1])
    replay = trace.replay[(trace.replay[:, 1] >= least) & (trace.replay[:, 1] <= most)]
    own = replace(trace, rows=len(sample), input=lengths[0], output=lengths[1], sample=sample,
                  replay=replay if len(replay) else trace.replay)  # fmt: skip
    return workload.known(own, workload.profile, workload.length_source)


def later(targets: Targets, kind: str, share: float) -> Targets:
    """Targets of which one (``tpot``, ``ttft`` or ``answer``) is later by a share."""
    statistic = getattr(targets, f"{kind}_statistic")
    key = f"{kind}_{statistic}"
    return targets.model_copy(update={key: getattr(targets, key) * (1 + share)})


def with_lengths(workload: Workload, input_tokens: Lengths, output_tokens: Lengths) -> Workload:
    """A workload whose requests have other lengths."""
    return workload.model_copy(update={"input_tokens": input_tokens, "output_tokens": output_tokens})

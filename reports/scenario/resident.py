"""How much KV cache a running request holds: at a random moment of its life, and at its end.

A running request that wrote t of its answer holds input + t tokens, in whole pages; layers with a sliding window hold
at most the window. A moment is random: a request with a long answer is met more often (in proportion to its output
tokens), and half-way on average. For fixed lengths I and O the mean is I + O / 2 and the deviation O / sqrt(12).

For one pair (I, O) mean and mean square over the answer are exact: the integral of page x ceil(x / page) from 0 to t is
page^2 k (k + 1) / 2 + page (k + 1) (t - k page), k = floor(t / page). Over the pairs they are summed: the rows of a
trace, or both distributions on a grid of their quantiles, five Gauss points in each of the shares 0 to 1/2, 1/2 to 3/4,
3/4 to 7/8, … so that a long tail is met. Prefixes that several requests share are counted for each: the careful way.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reports.catalog.records import ModelEntry
from reports.scenario.lengths import FixedLength, Lengths
from reports.scenario.workload import Workload

Values = NDArray[np.float64]

PANELS = 22
GAUSS_POINTS = 5
MOST_MOMENTS = 100_000
"""Pairs of lengths times moments of the answer at which percentiles are taken."""


@dataclass(frozen=True)
class Resident:
    """KV elements over all layers that requests of a workload hold in a model."""

    mean_elements: float
    """Of a running request, on average."""
    deviation_elements: float
    """Standard deviation between running requests."""
    full_elements: float
    """Of a request at its end, on average."""
    full_p95_elements: float
    """Of a request of P95 input and P95 output at its end: the careful answer."""


@dataclass(frozen=True)
class TokenSpread:
    """Mean, percentiles and deviation of a number of tokens."""

    mean: float
    p50: float
    p95: float
    p99: float
    deviation: float


@dataclass(frozen=True)
class _Lengths:
    """The lengths of a workload, compared by what they are: services that share them are summed once."""

    key: tuple[str, ...]
    workload: Workload = field(compare=False)


def _lengths(workload: Workload) -> _Lengths:
    trace = getattr(workload, "traced", None)
    joint = workload.joint
    rows = "" if joint is None else hashlib.blake2b(joint.tobytes()).hexdigest()
    return _Lengths(
        (repr(workload.input_tokens), repr(workload.output_tokens), rows, trace.digest if trace else ""), workload
    )


@lru_cache(maxsize=1024)
def _held(lengths: _Lengths, page: float, window: float) -> tuple[float, ...]:
    """Means over running requests of what ``_integrals`` adds up, and over all requests of tokens at their end, in
    pages, and of those capped by the window."""
    prompt, answer, share = pairs(lengths.workload)
    start, end = (_integrals(tokens, page, window) for tokens in (prompt, prompt + answer))
    met = float(share @ answer)
    whole = _paged(prompt + answer, page)
    return (
        *(float(share @ (later - before)) / met for before, later in zip(start, end, strict=True)),
        float(share @ whole), float(share @ np.minimum(whole, window)),
    )  # fmt: skip


def resident(workload: Workload, model: ModelEntry, page_tokens: float) -> Resident:
    """What requests of the workload hold in the model, with pages of ``page_tokens`` (0: none)."""
    full = model.value("kv_elements_per_token_full_layers")
    sliding = model.value("kv_elements_per_token") - full
    window = float(_paged(model.value("sliding_window_tokens"), page_tokens))
    held, held_held, capped, capped_capped, held_capped, whole, whole_capped = _held(
        _lengths(workload), page_tokens, window
    )
    mean = full * held + sliding * capped
    square = full**2 * held_held + sliding**2 * capped_capped + 2 * full * sliding * held_capped
    careful = float(_paged(workload.input_tokens.p95 + workload.output_tokens.p95, page_tokens))
    return Resident(
        mean_elements=mean,
        deviation_elements=math.sqrt(max(square - mean**2, 0.0)),
        full_elements=full * whole + sliding * whole_capped,
        full_p95_elements=full * careful + sliding * min(careful, window),
    )


def resident_tokens(workload: Workload) -> TokenSpread:
    """Tokens of a running request at a random moment, without pages and windows."""
    return _spread(_lengths(workload))


@lru_cache(maxsize=1024)
def _spread(lengths: _Lengths) -> TokenSpread:
    prompt, answer, share = pairs(lengths.workload)
    met = float(share @ answer)
    mean = resident_mean_tokens(lengths.workload)
    square = float(share @ (prompt**2 * answer + prompt * answer**2 + answer**3 / 3)) / met
    count = max(min(MOST_MOMENTS // len(prompt), 1000), 1)
    moments = (np.arange(count) + 0.5) / count
    tokens = (prompt[:, np.newaxis] + answer[:, np.newaxis] * moments).ravel()
    weight = np.repeat(share * answer, count)
    order = np.argsort(tokens, kind="stable")
    weight = weight[order] / weight.sum()
    p50, p95, p99 = np.interp((0.5, 0.95, 0.99), np.cumsum(weight) - weight / 2, tokens[order]).tolist()
    return TokenSpread(mean, p50, p95, p99, float(np.sqrt(max(square - mean**2, 0.0))))


def resident_mean_tokens(workload: Workload) -> float:
    """Mean of ``resident_tokens``: E[I O + O^2 / 2] / E[O]."""
    prompt, answer, share = pairs(workload)
    return float(share @ (prompt * answer + answer**2 / 2)) / float(share @ answer)


def pairs(workload: Workload) -> tuple[Values, Values, Values]:
    """``(input, output, share)``: pairs of lengths and how often each comes, shares adding up to 1."""
    joint = workload.joint
    if joint is not None:
        rows = joint.astype(np.float64)
        return rows[:, 0], rows[:, 1], np.full(len(rows), 1 / len(rows))
    (prompt, prompt_share), (answer, answer_share) = nodes(workload.input_tokens), nodes(workload.output_tokens)
    return (
        np.repeat(prompt, len(answer)),
        np.tile(answer, len(prompt)),
        np.outer(prompt_share, answer_share).ravel(),
    )


def nodes(lengths: Lengths) -> tuple[Values, Values]:
    """Lengths at which a distribution is sampled, and the share each stands for."""
    if isinstance(lengths, FixedLength):
        return np.array([lengths.tokens]), np.ones(1)
    points, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    low = 1 - 0.5 ** np.arange(PANELS)
    width = np.append(np.diff(low), 1 - low[-1])
    u = low[:, np.newaxis] + width[:, np.newaxis] * (points + 1) / 2
    share = width[:, np.newaxis] * weights / 2
    return lengths.quantile(u.ravel()), share.ravel()


def _paged(tokens: Any, page: float) -> Values:
    return np.asarray(np.ceil(tokens / page) * page if page else tokens)


def _integrals(tokens: Values, page: float, window: float) -> tuple[Values, ...]:
    """Integrals from 0 of what is held, its square, what the window caps, its square, and the product of both."""
    below, above = np.minimum(tokens, window), np.maximum(tokens - window, 0)
    first, second = _first(tokens, page), _second(tokens, page)
    capped, capped_capped = _first(below, page), _second(below, page)
    return (
        first,
        second,
        capped + window * above,
        capped_capped + window**2 * above,
        capped_capped + window * (first - capped),
    )


def _first(tokens: Values, page: float) -> Values:
    """Integral of the tokens in pages, from 0."""
    if not page:
        return np.asarray(tokens**2 / 2)
    k = np.floor(tokens / page)
    return np.asarray(page**2 * k * (k + 1) / 2 + page * (k + 1) * (tokens - k * page))


def _second(tokens: Values, page: float) -> Values:
    """Integral of the square of the tokens in pages, from 0."""
    if not page:
        return np.asarray(tokens**3 / 3)
    k = np.floor(tokens / page)
    return np.asarray(page**3 * k * (k + 1) * (2 * k + 1) / 6 + (page * (k + 1)) ** 2 * (tokens - k * page))

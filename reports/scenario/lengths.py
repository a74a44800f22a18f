"""How long prompts and answers are: distributions with mean, percentiles, deviation, and a quantile to draw from.

Every class has ``mean``, ``p50``, ``p95``, ``p99``, ``deviation`` (standard deviation) in tokens and
``quantile(u: array in [0, 1)) -> array of the same shape``. They describe the distribution as stated, continuous where
it is; requests that are drawn from it are rounded to whole tokens, at least 1, which moves the mean by less than half a
token. A percentile is the shortest length that so many requests do not exceed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import optimize, special

from reports.scenario.strict import Strict

Values = NDArray[np.float64]

P50, P95, P99 = 0.5, 0.95, 0.99
MOST_BINS = 1000

Tokens = Annotated[float, Field(ge=1, le=1e8, allow_inf_nan=False)]
Spread = Annotated[float, Field(ge=0, le=1e8, allow_inf_nan=False)]
Edge = Annotated[float, Field(ge=0, le=1e8, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]

_Z95 = NormalDist().inv_cdf(P95)
_LOG_20 = -math.log(1 - P95)
_WIDEST = float(optimize.brentq(lambda x: special.digamma(1 + x) - math.log(_LOG_20), 1, 5))
"""1 / shape of the Weibull distribution whose P95 is the furthest above its mean (4.67 times)."""


class Lengths(Strict):
    """What all distributions share."""

    @property
    def mean(self) -> float:
        """Mean length in tokens."""
        raise NotImplementedError

    @property
    def deviation(self) -> float:
        """Standard deviation in tokens."""
        raise NotImplementedError

    def quantile(self, u: Any) -> Values:
        """Length that the share ``u`` (an array of numbers from 0, below 1) of the requests does not exceed."""
        raise NotImplementedError

    @property
    def p50(self) -> float:
        """Length that half of the requests do not exceed."""
        return float(self.quantile(np.float64(P50)))

    @property
    def p95(self) -> float:
        """Length that 95 % of the requests do not exceed."""
        return float(self.quantile(np.float64(P95)))

    @property
    def p99(self) -> float:
        """Length that 99 % of the requests do not exceed."""
        return float(self.quantile(np.float64(P99)))


class FixedLength(Lengths):
    """Every request has the same length."""

    distribution: Literal["fixed"]
    tokens: Tokens

    @property
    def mean(self) -> float:
        """The length."""
        return self.tokens

    @property
    def deviation(self) -> float:
        """0."""
        return 0.0

    def quantile(self, u: Any) -> Values:
        """The length, whatever the share."""
        return np.full(np.shape(u), self.tokens)


class UniformLength(Lengths):
    """Every length between two bounds is as likely."""

    distribution: Literal["uniform"]
    low: Tokens
    high: Tokens

    @model_validator(mode="after")
    def _ordered(self) -> UniformLength:
        if self.high < self.low:
            raise ValueError(f"high ({self.high:g}) is below low ({self.low:g})")
        return self

    @property
    def mean(self) -> float:
        """(low + high) / 2."""
        return (self.low + self.high) / 2

    @property
    def deviation(self) -> float:
        """(high - low) / sqrt(12)."""
        return (self.high - self.low) / math.sqrt(12)

    def quantile(self, u: Any) -> Values:
        """low + u x (high - low)."""
        return np.asarray(self.low + np.asarray(u) * (self.high - self.low))


class NormalLength(Lengths):
    """A normal distribution cut off at 0, since no request has a negative length.

    With a = mean / deviation, Z = cdf(a) the share that is kept, r = pdf(a) / Z, and pdf, cdf those of the standard
    normal: mean of what is kept = mean + deviation x r, its variance = deviation^2 x (1 - a r - r^2), and its quantile
    mean + deviation x inverse_cdf(1 - (1 - u) x Z).
    """

    distribution: Literal["normal"]
    normal_mean: Tokens = Field(alias="mean")
    """Mean before the cut at 0."""
    normal_deviation: Spread = Field(alias="deviation")
    """Standard deviation before the cut at 0."""

    def _cut(self) -> tuple[float, float, float]:
        ratio = self.normal_mean / self.normal_deviation
        kept = NormalDist().cdf(ratio)
        return ratio, kept, NormalDist().pdf(ratio) / kept

    @property
    def mean(self) -> float:
        """Mean after the cut at 0."""
        return self.normal_mean + (self.normal_deviation * self._cut()[2] if self.normal_deviation else 0.0)

    @property
    def deviation(self) -> float:
        """Standard deviation after the cut at 0."""
        if not self.normal_deviation:
            return 0.0
        ratio, _, tilt = self._cut()
        return self.normal_deviation * math.sqrt(1 - ratio * tilt - tilt**2)

    def quantile(self, u: Any) -> Values:
        """Quantile after the cut at 0."""
        if not self.normal_deviation:
            return np.full(np.shape(u), self.normal_mean)
        kept = self._cut()[1]
        return np.asarray(self.normal_mean + self.normal_deviation * special.ndtri(1 - (1 - np.asarray(u)) * kept))


class LogNormalLength(Lengths):
    """The logarithm of the length is normal, with mean m and deviation s: by mean and P95, or mean and deviation.

    mean = exp(m + s^2 / 2). From the deviation, s^2 = ln(1 + (deviation / mean)^2). From P95 = exp(m + z s), z = 1.645:
    s = z - sqrt(z^2 - 2 ln(P95 / mean)), the smaller of two solutions; P95 is at most exp(z^2 / 2) = 3.87 x mean.
    """

    distribution: Literal["lognormal"]
    mean_tokens: Tokens = Field(alias="mean")
    """Mean length."""
    p95_tokens: Tokens | None = Field(default=None, alias="p95")
    """P95; either this or the deviation."""
    deviation_tokens: Spread | None = Field(default=None, alias="deviation")
    """Standard deviation; either this or p95."""

    @model_validator(mode="after")
    def _solvable(self) -> LogNormalLength:
        if (self.p95_tokens is None) == (self.deviation_tokens is None):
            raise ValueError("state exactly one of p95 and deviation beside mean")
        if self.p95_tokens is not None:
            _p95_above(self.mean_tokens, self.p95_tokens)
            most = self.mean_tokens * math.exp(_Z95**2 / 2)
            if self.p95_tokens > most:
                raise ValueError(
                    f"p95 ({self.p95_tokens:g}) is above 3.87 times mean ({most:g}), which no log-normal distribution "
                    "reaches; long_tail does"
                )
        return self

    @property
    def _sigma(self) -> float:
        if self.deviation_tokens is not None:
            return math.sqrt(math.log1p((self.deviation_tokens / self.mean_tokens) ** 2))
        assert self.p95_tokens is not None
        return _Z95 - math.sqrt(max(_Z95**2 - 2 * math.log(self.p95_tokens / self.mean_tokens), 0.0))

    @property
    def mean(self) -> float:
        """The mean as stated."""
        return self.mean_tokens

    @property
    def deviation(self) -> float:
        """mean x sqrt(exp(s^2) - 1)."""
        return self.mean_tokens * math.sqrt(math.expm1(self._sigma**2))

    def quantile(self, u: Any) -> Values:
        """exp(m + s x inverse_cdf(u))."""
        sigma = self._sigma
        return np.asarray(self.mean_tokens * np.exp(sigma * special.ndtri(np.asarray(u)) - sigma**2 / 2))


def _p95_above(mean: float, p95: float) -> None:
    if p95 < mean:
        raise ValueError(f"p95 ({p95:g}) is below mean ({mean:g}); a long tail has it above")


@lru_cache(maxsize=4096)
def _long_tail(mean: float, p95: float) -> tuple[float, float, float]:
    """(scale, 1 / shape, share of the second part) of the long tail with this mean and P95."""

    def above(x: float) -> float:
        return float(x * math.log(_LOG_20) - special.gammaln(1 + x))

    wanted = math.log(p95 / mean)
    if wanted <= above(_WIDEST):
        x = float(optimize.brentq(lambda x: above(x) - wanted, 0, _WIDEST, xtol=1e-15)) if wanted else 0.0
        return mean / float(special.gamma(1 + x)), x, 0.0
    widest = p95 / math.exp(above(_WIDEST))
    second = (1 - P95) * p95 + P95
    return widest / float(special.gamma(1 + _WIDEST)), _WIDEST, (widest - mean) / (widest - second)


class LongTailLength(Lengths):
    """Most requests are short and a few are long: exactly this mean and this P95, whatever their ratio.

    A Weibull distribution, cdf 1 - exp(-(t / scale)^shape), whose shape follows from P95 / mean: from mean and P95
    alone it came nearer than a log-normal to the spread of published prompts and answers, as near as a gamma
    distribution, and everything about it is in closed form. Its P95 is at most 4.67 x mean. Beyond that it is mixed
    with requests of one token (95 %) and of P95 tokens (5 %): both parts have the same P95, so the mixture has it too,
    and the shares follow from the mean. No lengths at all have a P95 of more than 20 x mean.
    """

    distribution: Literal["long_tail"]
    mean_tokens: Tokens = Field(alias="mean")
    """Mean length."""
    p95_tokens: Tokens = Field(alias="p95")
    """Length that 95 % of the requests do not exceed."""

    @model_validator(mode="after")
    def _possible(self) -> LongTailLength:
        _p95_above(self.mean_tokens, self.p95_tokens)
        least = (1 - P95) * self.p95_tokens + P95
        if self.mean_tokens <= least and self.p95_tokens > 1:
            raise ValueError(
                f"p95 ({self.p95_tokens:g}) is too far above mean ({self.mean_tokens:g}): 5 % of the requests are at "
                f"least that long and the others at least one token, so that the mean is more than {least:g}"
            )
        return self

    @property
    def mean(self) -> float:
        """The mean as stated."""
        return self.mean_tokens

    @property
    def p95(self) -> float:
        """The P95 as stated."""
        return self.p95_tokens

    @property
    def deviation(self) -> float:
        """From the second moments of the parts: scale^2 x gamma(1 + 2 / shape), and 0.95 + 0.05 x P95^2."""
        scale, x, share = _long_tail(self.mean_tokens, self.p95_tokens)
        first = scale**2 * float(special.gamma(1 + 2 * x))
        second = P95 + (1 - P95) * self.p95_tokens**2
        return math.sqrt(max((1 - share) * first + share * second - self.mean_tokens**2, 0.0))

    def quantile(self, u: Any) -> Values:
        """Weibull: scale x (-ln(1 - u))^(1 / shape); in the mixture, with the steps of its second part."""
        scale, x, share = _long_tail(self.mean_tokens, self.p95_tokens)
        u = np.asarray(u, dtype=np.float64)
        below_one = (1 - share) * -math.expm1(-(scale ** (-1 / x))) if share else 0.0
        brief = P95 * share
        inside = np.where(u <= below_one, u, np.maximum(u - brief, below_one)) / (1 - share)
        inside = np.where(u <= P95, inside, np.maximum((u - share) / (1 - share), P95))
        return np.asarray(scale * (-np.log1p(-inside)) ** x)


class HistogramLength(Lengths):
    """Counts or shares of lengths in bins; inside a bin every length is as likely."""

    distribution: Literal["histogram"]
    edges: Annotated[tuple[Edge, ...], Field(min_length=2, max_length=MOST_BINS + 1)]
    """Bounds of the bins, in ascending order: one more than there are bins."""
    weights: Annotated[tuple[Weight, ...], Field(min_length=1, max_length=MOST_BINS)]
    """Requests in each bin, as counts or as shares."""

    @model_validator(mode="after")
    def _fits(self) -> HistogramLength:
        if len(self.edges) != len(self.weights) + 1:
            raise ValueError(
                f"has {len(self.edges)} edges and {len(self.weights)} weights; there is one edge more than weights"
            )
        if any(later <= before for before, later in pairwise(self.edges)):
            raise ValueError("edges do not ascend")
        if not sum(self.weights):
            raise ValueError("all weights are 0")
        if self.mean < 1:
            raise ValueError(f"the mean ({self.mean:g}) is below one token")
        return self

    def _bins(self) -> tuple[Values, Values, Values]:
        edges, weights = np.array(self.edges), np.array(self.weights)
        return edges[:-1], edges[1:], weights / weights.sum()

    @property
    def mean(self) -> float:
        """Sum of share x middle of the bin."""
        low, high, share = self._bins()
        return float(share @ (low + high) / 2)

    @property
    def deviation(self) -> float:
        """From the second moment of a bin, (low^2 + low x high + high^2) / 3."""
        low, high, share = self._bins()
        return math.sqrt(max(float(share @ (low * low + low * high + high * high)) / 3 - self.mean**2, 0.0))

    def quantile(self, u: Any) -> Values:
        """Linear inside each bin that is not empty."""
        low, high, share = self._bins()
        held = share > 0
        low, high, share = low[held], high[held], share[held]
        ends = np.cumsum(share)
        u = np.asarray(u, dtype=np.float64)
        bin_ = np.minimum(np.searchsorted(ends, u * ends[-1], side="left"), len(ends) - 1)
        inside = (u * ends[-1] - (ends[bin_] - share[bin_])) / share[bin_]
        return np.asarray(low[bin_] + np.clip(inside, 0, 1) * (high[bin_] - low[bin_]))


class PercentileLength(Lengths):
    """Mean and percentiles, as a dashboard shows them; all of them hold exactly.

    Between two percentiles the quantile is low + (high - low) x t^c, t from 0 to 1, from one token at 0 on; the one
    curvature c follows from the mean. Without the longest length, it is P99 x P99 / P95.
    """

    distribution: Literal["percentiles"]
    mean_tokens: Tokens = Field(alias="mean")
    """Mean length."""
    p25_tokens: Tokens | None = Field(default=None, alias="p25")
    p50_tokens: Tokens = Field(alias="p50")
    p75_tokens: Tokens | None = Field(default=None, alias="p75")
    p90_tokens: Tokens | None = Field(default=None, alias="p90")
    p95_tokens: Tokens = Field(alias="p95")
    p99_tokens: Tokens = Field(alias="p99")
    most_tokens: Tokens | None = Field(default=None, alias="max")
    """Longest length."""

    @model_validator(mode="after")
    def _possible(self) -> PercentileLength:
        _, points = self._points()
        if np.any(np.diff(points) < 0):
            raise ValueError("the percentiles do not ascend")
        shares = self._shares()
        least, most = float(shares @ points[:-1]), float(shares @ points[1:])
        if not (least < self.mean_tokens < most or least == most == self.mean_tokens):
            raise ValueError(
                f"mean ({self.mean_tokens:g}) does not agree with the percentiles; with them it is between {least:g} "
                f"and {most:g}"
            )
        return self

    def _points(self) -> tuple[Values, Values]:
        most = self.most_tokens or self.p99_tokens * self.p99_tokens / self.p95_tokens
        stated = ((0.0, 1.0), (0.25, self.p25_tokens), (P50, self.p50_tokens), (0.75, self.p75_tokens),
                  (0.9, self.p90_tokens), (P95, self.p95_tokens), (P99, self.p99_tokens), (1.0, most))  # fmt: skip
        known = [(share, tokens) for share, tokens in stated if tokens is not None]
        return np.array([share for share, _ in known]), np.array([tokens for _, tokens in known])

    def _shares(self) -> Values:
        return np.diff(self._points()[0])

    def _bend(self) -> float:
        """1 / (c + 1)."""
        shares, points = self._shares(), self._points()[1]
        rise = float(shares @ np.diff(points))
        return (self.mean_tokens - float(shares @ points[:-1])) / rise if rise else 0.5

    @property
    def mean(self) -> float:
        """The mean as stated."""
        return self.mean_tokens

    @property
    def deviation(self) -> float:
        """From the second moment of each piece: low^2 + 2 low rise / (c + 1) + rise^2 / (2 c + 1)."""
        shares, points, bend = self._shares(), self._points()[1], self._bend()
        low, rise = points[:-1], np.diff(points)
        pieces = low * low + 2 * low * rise * bend + rise * rise * bend / (2 - bend)
        return math.sqrt(max(float(shares @ pieces) - self.mean_tokens**2, 0.0))

    def quantile(self, u: Any) -> Values:
        """Through every stated percentile."""
        at, points = self._points()
        u = np.asarray(u, dtype=np.float64)
        piece = np.clip(np.searchsorted(at, u, side="left") - 1, 0, len(at) - 2)
        t = np.clip((u - at[piece]) / np.diff(at)[piece], 0, 1)
        return np.asarray(points[piece] + np.diff(points)[piece] * t ** (1 / self._bend() - 1))

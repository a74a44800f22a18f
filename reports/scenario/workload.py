"""How long requests are, and how many there are: distributions with their mean and P95, and the demand."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

P95 = 0.95

Tokens = Annotated[float, Field(ge=1, le=1e8, allow_inf_nan=False)]
Demanded = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class Strict(BaseModel):
    """Unknown keys are refused, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False, use_attribute_docstrings=True)


class FixedLength(Strict):
    """Every request has the same length."""

    distribution: Literal["fixed"]
    tokens: Tokens

    @property
    def mean(self) -> float:
        """Mean length."""
        return self.tokens

    @property
    def p95(self) -> float:
        """Length that 95 % of the requests do not exceed."""
        return self.tokens


class UniformLength(Strict):
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
    def p95(self) -> float:
        """low + 0.95 x (high - low)."""
        return self.low + P95 * (self.high - self.low)


class NormalLength(Strict):
    """A normal distribution cut off at 0, since no request has a negative length.

    With a = mean / deviation, Z = cdf(a) the share that is kept and pdf, cdf those of the standard normal:
    mean of what is kept = mean + deviation x pdf(a) / Z, and P95 = mean + deviation x inverse_cdf(1 - 0.05 x Z).
    """

    distribution: Literal["normal"]
    normal_mean: Tokens = Field(alias="mean")
    """Mean before the cut at 0."""
    deviation: Annotated[float, Field(ge=0, le=1e8, allow_inf_nan=False)]
    """Standard deviation before the cut at 0."""

    @property
    def mean(self) -> float:
        """Mean after the cut at 0."""
        if not self.deviation:
            return self.normal_mean
        ratio = self.normal_mean / self.deviation
        return self.normal_mean + self.deviation * NormalDist().pdf(ratio) / NormalDist().cdf(ratio)

    @property
    def p95(self) -> float:
        """P95 after the cut at 0."""
        if not self.deviation:
            return self.normal_mean
        kept = NormalDist().cdf(self.normal_mean / self.deviation)
        return self.normal_mean + self.deviation * NormalDist().inv_cdf(1 - (1 - P95) * kept)


class LongTailLength(Strict):
    """Most requests are short and a few are long: stated by mean and P95, which is all that is used.

    Any P95 from the mean upwards is accepted. A log-normal distribution reaches at most P95 = 3.87 x mean
    (exp(z^2 / 2) with z = 1.645); real traces go beyond, so no distribution is fitted here.
    """

    distribution: Literal["long_tail"]
    mean: Tokens
    p95: Tokens

    @model_validator(mode="after")
    def _ordered(self) -> LongTailLength:
        if self.p95 < self.mean:
            raise ValueError(f"p95 ({self.p95:g}) is below mean ({self.mean:g}); a long tail has it above")
        return self


Length = Annotated[
    FixedLength | UniformLength | NormalLength | LongTailLength, Field(discriminator="distribution")
]

DEMAND_KEYS = ("peak_concurrency", "requests_per_s")


class ModelDemand(Strict):
    """Demand for one model: requests served at once at the peak, or requests arriving per second at the peak."""

    peak_concurrency: Demanded | None = None
    """Requests being answered at the same time, at the peak."""
    requests_per_s: Demanded | None = None
    """Requests arriving per second, at the peak."""

    @model_validator(mode="after")
    def _one(self) -> ModelDemand:
        if (self.peak_concurrency is None) == (self.requests_per_s is None):
            raise ValueError("state exactly one of peak_concurrency and requests_per_s")
        return self


class Demand(Strict):
    """Demand for every model, unless ``by_model`` states another for it."""

    peak_concurrency: Demanded | None = None
    """Requests being answered at the same time, at the peak, for each model."""
    requests_per_s: Demanded | None = None
    """Requests arriving per second, at the peak, for each model."""
    by_model: Mapping[str, ModelDemand] = Field(default_factory=dict)
    """Model -> its own demand."""

    @model_validator(mode="after")
    def _one(self) -> Demand:
        if self.peak_concurrency is not None and self.requests_per_s is not None:
            raise ValueError("state exactly one of peak_concurrency and requests_per_s")
        if self.peak_concurrency is None and self.requests_per_s is None and not self.by_model:
            raise ValueError("state peak_concurrency, requests_per_s or by_model")
        return self


class Workload(Strict):
    """What is asked of the models."""

    input_tokens: Length
    """Length of the prompt: a number, or a distribution."""
    output_tokens: Length
    """Length of the answer: a number, or a distribution."""
    demand: Demand

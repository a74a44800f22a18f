"""How many requests there are: as concurrency, arrivals, users, monthly tokens or a run to finish, and its growth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from reports.constants import HOURS_PER_MONTH
from reports.scenario.strict import Strict
from reports.yaml_problems import did_you_mean

Values = NDArray[np.float64]

Demanded = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
TokensPerMonth = Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)]
ActiveShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]

DEMAND_KEYS = ("peak_concurrency", "requests_per_s", "users", "tokens_per_month", "run")
"""The forms of a demand; exactly one is stated."""
RATE, SATURATION = "rate_per_month", "saturation"
MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
HOURS_PER_DAY, HOURS_PER_WEEK = 24, 168
FROM_TRACE = "trace"
"""The profile that the workload's trace has."""


class Users(Strict):
    """People and their habits: arrivals at the peak are count x active_share x requests_per_hour."""

    count: Demanded
    """Everybody who may use the service."""
    active_share: ActiveShare
    """Share of them who use it in the busiest hour."""
    requests_per_hour: Demanded
    """Requests that an active user sends in an hour."""


class MonthlyTokens(Strict):
    """Tokens of a whole month; requests follow from the mean lengths, the peak from the profile.

    Where both are stated, the one that means more requests counts.
    """

    input: TokensPerMonth | None = None
    """Prompt tokens."""
    output: TokensPerMonth | None = None
    """Answer tokens."""

    @model_validator(mode="after")
    def _something(self) -> MonthlyTokens:
        if self.input is None and self.output is None:
            raise ValueError("state input, output, or both")
        return self


class FiniteRun(Strict):
    """So many requests within so many hours: an evaluation, a night of documents. A fixed number is kept in flight."""

    requests: Demanded
    """Requests of one run."""
    hours: Annotated[float, Field(gt=0, le=HOURS_PER_MONTH, allow_inf_nan=False)]
    """From the first request to the last answer; at most a month."""
    per_month: Annotated[float, Field(gt=0, le=HOURS_PER_MONTH, allow_inf_nan=False)] = 1.0
    """Runs in a month, one after the other; tokens and electricity of a month follow."""

    @property
    def busy_share(self) -> float:
        """Hours of a month in which it runs, over all hours of a month."""
        return self.hours * self.per_month / HOURS_PER_MONTH

    @model_validator(mode="after")
    def _one_after_the_other(self) -> FiniteRun:
        if self.busy_share > 1:
            raise ValueError(
                f"hours x per_month is {self.hours * self.per_month:g}, more than the {HOURS_PER_MONTH:g} hours of a "
                "month; runs at the same time are one run with more requests"
            )
        return self


def _growth(given: Mapping[str, float]) -> Mapping[str, float]:
    """Months with amounts, or a rate and perhaps a saturation."""
    months = [key for key in given if MONTH.fullmatch(key)]
    others = [key for key in given if key not in (*months, RATE, SATURATION)]
    if others:
        hint = did_you_mean(others[0], (RATE, SATURATION))
        raise ValueError(
            f'unknown key "{others[0]}"; expected months such as 2027-01, or {RATE} and {SATURATION}'
            + (f" ({hint})" if hint else "")
        )
    if months and len(months) < len(given):
        raise ValueError(f"state either amounts by month, or {RATE}")
    if not months and RATE not in given:
        raise ValueError(f"state amounts by month, or {RATE}")
    if any(given[month] < 0 for month in months):
        raise ValueError("an amount is below 0")
    if given.get(RATE, 0.0) <= -1:
        raise ValueError(f"{RATE} ({given[RATE]:g}) leaves nothing; 0.05 is 5 % more every month")
    return given


Growth = Annotated[
    Mapping[str, Annotated[float, Field(ge=-1e9, le=1e12, allow_inf_nan=False)]],
    AfterValidator(_growth),
    Field(description="months with the demand from then on (2027-01: 400), or rate_per_month with perhaps saturation"),
]


def _hours(given: str | tuple[float, ...]) -> str | tuple[float, ...]:
    """A name, or one number an hour."""
    if isinstance(given, str):
        return given
    if len(given) not in (HOURS_PER_DAY, HOURS_PER_WEEK):
        raise ValueError(
            f"has {len(given)} numbers; expected {HOURS_PER_DAY} (a day, from 0 h on) or {HOURS_PER_WEEK} "
            "(a week, from Monday 0 h on)"
        )
    wrong = next((hour for hour, share in enumerate(given) if share < 0), None)
    if wrong is not None:
        raise ValueError(f"is below 0 at hour {wrong}; read {given[wrong]:g}")
    if not any(given):
        raise ValueError("is 0 at every hour")
    return given


HourlyProfile = Annotated[
    str | tuple[Annotated[float, Field(allow_inf_nan=False)], ...],
    AfterValidator(_hours),
    Field(description="a name of the catalog (gpubook catalog list profiles), 24 or 168 numbers, or trace"),
]


class ModelDemand(Strict):
    """Demand for one model, in one of five forms."""

    peak_concurrency: Demanded | None = None
    """Requests being answered at the same time, at the peak."""
    requests_per_s: Demanded | None = None
    """Requests arriving per second, at the peak."""
    users: Users | None = None
    """Users and their habits."""
    tokens_per_month: MonthlyTokens | None = None
    """Tokens of a month."""
    run: FiniteRun | None = None
    """Requests to answer within so many hours."""
    growth: Growth | None = None
    """How the demand grows; amounts are in the unit of the demand (users: their number)."""

    @property
    def stated(self) -> list[str]:
        """Which forms are stated."""
        return [key for key in DEMAND_KEYS if getattr(self, key) is not None]

    @model_validator(mode="after")
    def _one(self) -> ModelDemand:
        if len(self.stated) != 1:
            raise ValueError(f"state exactly one of {', '.join(DEMAND_KEYS[:-1])} and {DEMAND_KEYS[-1]}")
        _check_growth(self)
        return self


class Demand(Strict):
    """Demand for every model, unless ``by_model`` states another for it."""

    peak_concurrency: Demanded | None = None
    """Requests being answered at the same time, at the peak, for each model."""
    requests_per_s: Demanded | None = None
    """Requests arriving per second, at the peak, for each model."""
    users: Users | None = None
    """Users of each model and their habits."""
    tokens_per_month: MonthlyTokens | None = None
    """Tokens of a month for each model."""
    run: FiniteRun | None = None
    """Requests to answer within so many hours."""
    growth: Growth | None = None
    """How the demand grows; amounts are in the unit of the demand (users: their number)."""
    hourly_profile: HourlyProfile | None = None
    """How the load runs through the week; default: that of the trace, or the assumption average_utilisation."""
    by_model: Mapping[str, ModelDemand] = Field(default_factory=dict)
    """Model -> its own demand."""

    @property
    def stated(self) -> list[str]:
        """Which forms are stated."""
        return [key for key in DEMAND_KEYS if getattr(self, key) is not None]

    @model_validator(mode="after")
    def _one(self) -> Demand:
        if len(self.stated) > 1:
            raise ValueError(f"state exactly one of {' and '.join(self.stated)}")
        if not self.stated and not self.by_model:
            raise ValueError(f"state {', '.join(DEMAND_KEYS)} or by_model")
        if self.stated:
            _check_growth(self)
        if lists_amounts(self.growth):
            for model, own in self.by_model.items():
                if own.growth is None:
                    raise ValueError(
                        f"growth lists amounts, which the own demand of {model} cannot follow; state growth for it "
                        f"too, or {RATE} for all"
                    )
        return self


def lists_amounts(growth: Any) -> bool:
    """Whether a growth is stated as amounts, which are those of one demand, and not as a rate."""
    return isinstance(growth, Mapping) and (SATURATION in growth or any(MONTH.fullmatch(str(key)) for key in growth))


def stated_amount(demand: Demand | ModelDemand) -> float | None:
    """The number that a growth in amounts is compared with; None where two numbers are stated."""
    (form,) = demand.stated
    value = getattr(demand, form)
    if isinstance(value, Users):
        return value.count
    if isinstance(value, FiniteRun):
        return value.requests
    if isinstance(value, MonthlyTokens):
        numbers = [each for each in (value.input, value.output) if each is not None]
        return numbers[0] if len(numbers) == 1 else None
    return float(value)


def _check_growth(demand: Demand | ModelDemand) -> None:
    if not lists_amounts(demand.growth):
        return
    assert demand.growth is not None
    today = stated_amount(demand)
    if today is None:
        raise ValueError(f"growth lists amounts, but the demand has two (input and output); state one, or {RATE}")
    if SATURATION in demand.growth and demand.growth[SATURATION] <= today:
        raise ValueError(
            f"growth.saturation ({demand.growth[SATURATION]:g}) is not above the demand of today ({today:g}); for a "
            f"demand that shrinks state a negative {RATE} alone"
        )


@dataclass(frozen=True)
class GrowthCurve:
    """How one demand grows, as factors of today's."""

    kind: Literal["listed", "rate", "saturation"]
    rate_per_month: float = 0.0
    saturation_factor: float = 0.0
    """Level the demand ends at over today's; 0: none."""
    listed: Mapping[str, float] = field(default_factory=dict)
    """Month such as 2027-01 -> factor from then on."""

    def factors(self, period: str, months: int) -> Values:
        """Demand of month 0 (the period) to ``months`` over today's.

        Listed: the factor of the last month listed, 1 before the first. Rate r: (1 + r)^m. Saturation S:
        S / (1 + (S - 1) / (1 + r)^m), which starts at 1, grows by the rate at first and ends at S.
        """
        month = np.arange(months + 1, dtype=np.float64)
        if self.kind == "listed":
            found = np.ones(months + 1)
            for name, factor in sorted(self.listed.items()):
                found[max(months_between(period, name), 0) :] = factor
            return found
        compound = (1 + self.rate_per_month) ** month
        if self.kind == "rate":
            return np.asarray(compound)
        return np.asarray(self.saturation_factor / (1 + (self.saturation_factor - 1) / compound))


def months_between(first: str, second: str) -> int:
    """Months from one month such as 2026-11 to another."""
    (year, month), (later_year, later_month) = (map(int, each.split("-")) for each in (first, second))
    return (later_year - year) * 12 + later_month - month


def curve_of(demand: Demand | ModelDemand) -> GrowthCurve | None:
    """The growth of a demand that states one."""
    if demand.growth is None or not demand.stated:
        return None
    rate = demand.growth.get(RATE, 0.0)
    if not lists_amounts(demand.growth):
        return GrowthCurve("rate", rate)
    today = stated_amount(demand)
    assert today is not None
    if SATURATION in demand.growth:
        return GrowthCurve("saturation", rate, demand.growth[SATURATION] / today)
    return GrowthCurve("listed", listed={month: amount / today for month, amount in demand.growth.items()})

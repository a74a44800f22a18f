"""What users are promised: how late the first token, each further token, and the whole answer may be, and how often."""

from __future__ import annotations

from statistics import NormalDist
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from reports.scenario.workload import Strict

Statistic = Literal["mean", "p50", "p95", "p99"]
Milliseconds = Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)]

TAIL_SHARE: dict[Statistic, float] = {"mean": 1.0, "p50": 0.5, "p95": 0.05, "p99": 0.01}
"""Share of the requests that may be later than a target; a mean promises nothing of single requests."""

NO_TARGET_MS = 1e12
"""Stands for a target that nobody stated: no answer takes thirty years."""


class Targets(Strict):
    """What users are promised: time per output token (TPOT) and time to first token (TTFT), one of each.

    A target for the whole answer (from the request to its last token) and an availability may be added.
    """

    tpot_mean: Milliseconds | None = Field(default=None, alias="tpot_ms")
    """Mean time per output token."""
    tpot_p50: Milliseconds | None = Field(default=None, alias="tpot_p50_ms")
    tpot_p95: Milliseconds | None = Field(default=None, alias="tpot_p95_ms")
    tpot_p99: Milliseconds | None = Field(default=None, alias="tpot_p99_ms")
    ttft_mean: Milliseconds | None = Field(default=None, alias="ttft_ms")
    """Mean time to first token."""
    ttft_p50: Milliseconds | None = Field(default=None, alias="ttft_p50_ms")
    ttft_p95: Milliseconds | None = Field(default=None, alias="ttft_p95_ms")
    ttft_p99: Milliseconds | None = Field(default=None, alias="ttft_p99_ms")
    answer_mean: Milliseconds | None = Field(default=None, alias="answer_ms")
    """Mean time from the request to the last token of its answer."""
    answer_p50: Milliseconds | None = Field(default=None, alias="answer_p50_ms")
    answer_p95: Milliseconds | None = Field(default=None, alias="answer_p95_ms")
    answer_p99: Milliseconds | None = Field(default=None, alias="answer_p99_ms")
    availability: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    """Share of the time in which the whole demand is served, such as 0.999."""

    @model_validator(mode="after")
    def _one_each(self) -> Targets:
        wrong = [kind for kind in ("tpot", "ttft") if len(self._stated(kind)) != 1]
        if wrong:
            forms = " and ".join(f"one of {', '.join(target_keys(kind))}" for kind in wrong)
            raise ValueError(f"state exactly {forms}")
        if len(self._stated("answer")) > 1:
            raise ValueError(f"state at most one of {', '.join(target_keys('answer'))}")
        return self

    def _stated(self, kind: str) -> list[tuple[Statistic, float]]:
        found = [(statistic, getattr(self, f"{kind}_{statistic}")) for statistic in get_args(Statistic)]
        return [(statistic, value) for statistic, value in found if value is not None]

    @property
    def tpot_ms(self) -> float:
        """Target for the time per output token."""
        return self._stated("tpot")[0][1]

    @property
    def tpot_statistic(self) -> Statistic:
        """Which statistic of the time per output token the target is for."""
        return self._stated("tpot")[0][0]

    @property
    def ttft_ms(self) -> float:
        """Target for the time to first token."""
        return self._stated("ttft")[0][1]

    @property
    def ttft_statistic(self) -> Statistic:
        """Which statistic of the time to first token the target is for."""
        return self._stated("ttft")[0][0]

    @property
    def answer_ms(self) -> float:
        """Target for the time of the whole answer; ``NO_TARGET_MS`` when none is stated."""
        return self._stated("answer")[0][1] if self._stated("answer") else NO_TARGET_MS

    @property
    def answer_statistic(self) -> Statistic:
        """Which statistic of the time of the whole answer the target is for."""
        return self._stated("answer")[0][0] if self._stated("answer") else "mean"


def target_keys(kind: str) -> list[str]:
    """The keys that state one target: ``tpot_ms``, ``tpot_p50_ms``, …"""
    return [str(field.alias) for name, field in Targets.model_fields.items() if name.startswith(f"{kind}_")]


def normal_quantile_z(statistic: Statistic) -> float:
    """How many standard deviations above the mean the statistic of a normal distribution lies; 0 for a mean."""
    return 0.0 if statistic == "mean" else NormalDist().inv_cdf(1 - TAIL_SHARE[statistic])

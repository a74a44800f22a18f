"""The money and the dates a purchase must keep to: a budget, its quarters, and the day the servers are needed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reports.scenario.operations import Amount
from reports.scenario.workload import Strict

Quarter = Annotated[str, Field(pattern=r"^20[0-9]{2}-Q[1-4]$", description="a quarter such as 2026-Q4")]

Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]

MONTHS_OF_A_QUARTER = 3
ROUNDING = 1e-9


class Budget(Strict):
    """What may be spent on the purchase, and by when."""

    amount: Positive | None = None
    """The whole budget; default: no limit."""
    currency: Literal["CNY", "USD", "EUR"] | None = None
    """Of all amounts here; default: the scenario's."""
    by_quarter: Mapping[Quarter, Amount] = Field(default_factory=dict)
    """Calendar quarter -> most that may be paid in it; a quarter that is not listed has no limit."""
    next: Positive = 1e6
    """More money, of which the report says what it would buy."""
    needed_by: datetime.date | None = None
    """Day on which the servers must be there; default: as soon as they can be."""

    @model_validator(mode="after")
    def _quarters_fit(self) -> Budget:
        stated = sum(self.by_quarter.values())
        if self.amount is not None and stated > self.amount * (1 + ROUNDING):
            raise ValueError(f"by_quarter adds up to {stated:,.0f}, more than the amount of {self.amount:,.0f}")
        return self


def quarter_of(day: datetime.date) -> str:
    """Calendar quarter of a day, such as 2026-Q4."""
    return f"{day.year}-Q{(day.month - 1) // MONTHS_OF_A_QUARTER + 1}"

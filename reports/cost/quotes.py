"""Dated prices: how old one is on the day of the scenario, and the exchange rate that turns it into its currency."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.scenario.schema import Scenario

Warnings = tuple[tuple[str, dict[str, object]], ...]
"""What the cover must say: (English message with names in braces, their values)."""

DAYS, MONTHS, TIMES = "{n} days", "{n} months", "{n} times"
"""Messages: how a measure of a card is said."""


class Listed(tuple[str, ...]):
    """Ids or words that a sentence lists; a document joins and names them in its own language."""

    __slots__ = ()

    def __str__(self) -> str:
        return ", ".join(self)


@dataclass(frozen=True)
class Measured:
    """Cards with a measure each, as a sentence lists them: ``card (120 days), card (99 days)``."""

    items: tuple[tuple[str, float], ...]
    message: str

    def __str__(self) -> str:
        return ", ".join(f"{gpu} ({self.message.format(n=f'{value:g}')})" for gpu, value in self.items)


def worst_first(items: Iterable[tuple[str, float]], message: str) -> Measured:
    """Each card once with its largest measure, the largest first."""
    worst: dict[str, float] = {}
    for gpu, value in items:
        worst[gpu] = max(value, worst.get(gpu, value))
    return Measured(tuple(sorted(worst.items(), key=lambda item: (-item[1], item[0]))), message)


def ages(as_of: pd.Series, scenario: Scenario) -> pd.Series:
    """Days from the date of each price (its earliest possible day) to the scenario's; negative: it is from later."""
    dates = pd.to_datetime(as_of.astype(str), format="ISO8601")
    return (pd.Timestamp(scenario.as_of) - dates).dt.days


def exchange_row(currency: str, scenario: Scenario, catalog: Catalog) -> dict[str, object]:
    """The facts row of the rate from a quote's currency to the scenario's."""
    rate = exchange_rate(catalog.exchange, currency, scenario.currency, scenario.as_of)
    same = currency == scenario.currency
    return {
        "scope": "exchange", "key": f"{currency}/{scenario.currency}", "column": "exchange_rate", "value": rate.rate,
        "unit": "ratio" if same else f"{scenario.currency}/{currency}", "low": np.nan, "high": np.nan,
        "basis": "derived" if same else "published", "source": rate.source or "scenario", "as_of": rate.as_of,
        "confirmed": True, "note": "quoted in the currency of the scenario" if same else "", "live": not same,
    }  # fmt: skip

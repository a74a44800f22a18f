"""Dated prices: how old one is on the day of the scenario, and the exchange rate that turns it into its currency."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.scenario.schema import Scenario

Warnings = tuple[tuple[str, dict[str, object]], ...]
"""What the cover must say: (English message with names in braces, their values)."""


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

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

OLD_RATES = "Exchange rates older than the {limit_days} days allowed for prices: {rates}."
EXPIRED = "Quotes that have expired and are not used: {quotes}."
RENT_QUOTES = (
    "{gpu}: the rent is a quote of {provider}, valid until {valid_until}.",
    "{gpu}: the rent is a quote of {provider} that does not say how long it holds.",
)
PURCHASE_QUOTES = (
    "{gpu}: the purchase price is a quote of {provider}, valid until {valid_until}.",
    "{gpu}: the purchase price is a quote of {provider} that does not say how long it holds.",
)
BINDING = ("quote", "negotiated")
"""Kinds of price that somebody offered to us."""

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


def expired(valid_until: pd.Series, scenario: Scenario) -> pd.Series:
    """Whether a price no longer holds on the day of the scenario; one without a last day holds."""
    until = valid_until.astype(str)
    return (until != "") & (until < scenario.as_of.isoformat())


def refused(gpu: pd.Series, region: pd.Series, scenario: Scenario, catalog: Catalog) -> pd.Series:
    """Whether a card needs an export licence in a region, and the scenario refuses those."""
    if scenario.prices.export_restrictions != "refuse":
        return pd.Series(False, index=gpu.index)
    known = set(zip(catalog.restrictions["gpu"], catalog.restrictions["region"], strict=True))
    return pd.Series([pair in known for pair in zip(gpu, region, strict=True)], index=gpu.index, dtype=bool)


def overdue(rows: pd.DataFrame, scenario: Scenario) -> Warnings:
    """One sentence that names the quotes whose last day has passed, by provider, card and day."""
    over = rows[expired(rows["valid_until"], scenario)]
    said = [f"{row.provider} {row.gpu} ({row.valid_until})" for row in over.itertuples(index=False)]
    return ((EXPIRED, {"quotes": Listed(dict.fromkeys(said))}),) if said else ()


def old_rates(facts: pd.DataFrame, scenario: Scenario) -> Warnings:
    """One sentence that names the exchange rates in use that are older than a price may be."""
    rates = facts[(facts["column"] == "exchange_rate") & facts["live"].astype(bool)].drop_duplicates("key")
    limit = scenario.prices.max_age_days
    rates = rates[ages(rates["as_of"], scenario) > limit]
    old = [f"{key} ({str(day)[:10]})" for key, day in zip(rates["key"], rates["as_of"], strict=True)]
    return ((OLD_RATES, {"limit_days": limit, "rates": Listed(sorted(old))}),) if old else ()


def quoted(rows: pd.DataFrame, messages: tuple[str, str]) -> Warnings:
    """A sentence for each quote that is used: whose it is, and until when it holds."""
    found: dict[tuple[str, str, str], tuple[str, dict[str, object]]] = {}
    for row in rows[rows["price_kind"].isin(BINDING)].itertuples(index=False):
        key = (str(row.gpu), str(row.provider), str(row.valid_until))
        values: dict[str, object] = {"gpu": row.gpu, "provider": row.provider, "valid_until": row.valid_until}
        found[key] = (messages[0] if row.valid_until else messages[1], values)
    return tuple(found[key] for key in sorted(found))


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

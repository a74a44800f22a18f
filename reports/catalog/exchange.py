"""Exchange rates are dated rows: the newest one not after a date, directly, inverted, or through one third currency."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import pandas as pd

from reports.errors import InputError, Problem


@dataclass(frozen=True)
class Rate:
    """One unit of ``base`` is ``rate`` units of ``quote``."""

    base: str
    quote: str
    rate: float
    source: str
    as_of: str


def exchange_rate(exchange: pd.DataFrame, base: str, quote: str, as_of: datetime.date) -> Rate:
    """The rate to use on a day; InputError when the price book has none."""
    if base == quote:
        return Rate(base, quote, 1.0, "", as_of.isoformat())
    known = exchange[exchange["as_of"].astype(str).str[:10] <= as_of.isoformat()].sort_values("as_of")
    edges: dict[tuple[str, str], Rate] = {}
    for row in known.itertuples(index=False):
        pair = Rate(str(row.base), str(row.quote), float(row.rate), str(row.source), str(row.as_of))
        edges[pair.base, pair.quote] = pair
        edges[pair.quote, pair.base] = Rate(pair.quote, pair.base, 1 / pair.rate, pair.source, pair.as_of)
    if (base, quote) in edges:
        return edges[base, quote]
    for middle in sorted({first for first, _ in edges}):
        if (base, middle) in edges and (middle, quote) in edges:
            one, two = edges[base, middle], edges[middle, quote]
            return Rate(base, quote, one.rate * two.rate, f"{one.source}; {two.source}", min(one.as_of, two.as_of))
    raise InputError(
        Problem(
            file="catalogs/prices/exchange.csv",
            message=f"no exchange rate from {base} to {quote} on or before {as_of.isoformat()}",
            hint="append a dated row, or change the scenario's currency",
        )
    )

"""Cost lines: every amount as quantity times unit price, in its month, with its source. Totals only add these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.constants import HOURS_PER_MONTH
from reports.formulas.meta import Array
from reports.scenario.schema import Scenario

COLUMNS = (
    "scenario", "candidate_id", "option", "view", "month", "line", "quantity", "unit", "unit_price", "currency",
    "amount", "source",
)  # fmt: skip

RENT, BUY = "rent", "buy"
EVERY_MONTH, FIRST_DAY, END = "every month", "day of purchase", "end of the horizon"


@dataclass(frozen=True)
class LineKind:
    """One kind of cost line. The amount is a column of the option (per month for monthly lines)."""

    line: str
    option: str
    when: str
    amount: str
    quantity: str
    quantity_factor: float
    unit: str
    source: str
    """A column that names a price row, or ``assumption:<name>``."""
    inflow: bool = False


LINES: tuple[LineKind, ...] = (
    LineKind("rent", RENT, EVERY_MONTH, "rent_amount_per_month", "rented_cards", HOURS_PER_MONTH, "card-h", "offer_id"),
    LineKind("servers", BUY, FIRST_DAY, "hardware_amount", "servers_needed", 1, "server", "purchase_id"),
    LineKind("network", BUY, FIRST_DAY, "network_amount", "servers_needed", 1, "server", "assumption:network_share"),
    LineKind(
        "energy", BUY, EVERY_MONTH, "energy_amount_per_month", "energy_kwh_per_month", 1, "kWh",
        "assumption:electricity_price_per_kwh",
    ),
    LineKind(
        "colocation", BUY, EVERY_MONTH, "colocation_amount_per_month", "power_max_kw", 1, "kW-month",
        "assumption:colocation_price_per_kw_month",
    ),
    LineKind(
        "maintenance", BUY, EVERY_MONTH, "maintenance_amount_per_month", "servers_needed", 1, "server-month",
        "assumption:maintenance_share_per_year",
    ),
    LineKind(
        "residual", BUY, END, "residual_amount", "servers_needed", 1, "server", "assumption:residual_share",
        inflow=True,
    ),
)  # fmt: skip
"""A new kind of cost is one more record here and its term in the cash flow; a test holds the two together."""


def cost_lines(shortlist: pd.DataFrame, timelines: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """All lines of renting and of buying for the short list, cash view; a way without a price has no lines.

    Outflows are negative, and ``quantity`` x ``unit_price`` is the size of the amount.
    """
    horizon = int(timelines["month"].max()) if len(timelines) else 0
    parts = [_lines(kind, shortlist, horizon) for kind in LINES]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    frame.insert(0, "scenario", scenario.name)
    frame["view"] = "cash"
    frame["currency"] = scenario.currency
    frame["_kind"] = frame["line"].map({kind.line: index for index, kind in enumerate(LINES)})
    frame["_way"] = frame["option"].map({RENT: 0, BUY: 1})
    ordered = frame.sort_values(["_row", "_way", "month", "_kind"], kind="stable").reset_index(drop=True)
    return ordered[list(COLUMNS)]


def _lines(kind: LineKind, shortlist: pd.DataFrame, horizon: int) -> pd.DataFrame:
    priced = shortlist[f"{kind.option}_present_cost_amount"].notna().to_numpy()
    options = shortlist[priced]
    months = {EVERY_MONTH: np.arange(1, horizon + 1), FIRST_DAY: np.array([0]), END: np.array([horizon])}[kind.when]
    size: Array = options[kind.amount].to_numpy(dtype=float)
    quantity = options[kind.quantity].to_numpy(dtype=float) * kind.quantity_factor
    source = (
        np.full(len(options), kind.source, dtype=object)
        if kind.source.startswith("assumption:")
        else options[kind.source].astype(str).to_numpy(dtype=object)
    )

    def each_month(values: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(values, len(months))

    return pd.DataFrame(
        {
            "_row": each_month(np.flatnonzero(priced)),
            "candidate_id": each_month(options["candidate_id"].astype(str).to_numpy(dtype=object)),
            "option": kind.option,
            "month": np.tile(months, len(options)),
            "line": kind.line,
            "quantity": each_month(quantity),
            "unit": kind.unit,
            "unit_price": each_month(size / quantity),
            "amount": each_month(size if kind.inflow else 0.0 - size),
            "source": each_month(source),
        }
    )

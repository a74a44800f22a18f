"""The orders of a growth timeline as a list: when to order, what for, how many servers, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.formulas.meta import Array

COLUMNS = (
    "option_id", "service", "gpu", "order_month", "need_month", "arrival_month", "servers", "cards", "amount",
    "late_months", "why",
)  # fmt: skip
"""Months are numbers of the timeline; ``late_months`` is how long what is needed is rented until it arrives."""

NOW, GROWTH, LEASE, BUDGET = "now", "growth", "lease", "budget"
"""Why: needed today already, demand grows, today's fleet gets smaller, or the budget allows it only then."""


def orders(options: pd.DataFrame, timeline: pd.DataFrame) -> pd.DataFrame:
    """One row an order of every option that is bought, by time; ``timeline`` is that of ``growth.evaluate``."""
    rows: list[dict[str, Any]] = []
    for option in options.to_dict("records"):
        own = timeline[timeline["option_id"] == option["option_id"]].sort_values("month")
        rows += _of_one(option, {str(name): own[name].to_numpy() for name in own.columns})
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values(
        ["order_month", "option_id"], kind="stable", ignore_index=True
    )


def _of_one(option: Mapping[str, Any], month: Mapping[str, Array]) -> list[dict[str, Any]]:
    found = []
    lead = int(option["lead_time_months"])
    for at in np.flatnonzero(month["ordered_servers"] > 0):
        before = month["ordered_before_servers"][at]
        lacking = np.flatnonzero(month["lacking_servers"] > before)
        need = int(lacking[0]) if lacking.size else int(at) + lead
        arrival = int(at) + lead
        found.append(
            {
                "option_id": option["option_id"], "service": str(option["service"]), "gpu": str(option["gpu"]),
                "order_month": int(at), "need_month": need, "arrival_month": arrival,
                "servers": float(month["ordered_servers"][at]),
                "cards": float(month["ordered_servers"][at] * option["server_cards"]),
                "amount": float(month["order_amount"][at]),
                "late_months": max(arrival - need, 0), "why": _why(month, int(at), need, lead),
            }
        )  # fmt: skip
    return found


def _why(month: Mapping[str, Array], at: int, need: int, lead: int) -> str:
    if at > 0 and at > need - lead:
        return BUDGET
    if need == 0:
        return NOW
    grown = month["month_servers"][need] > month["month_servers"][need - 1]
    return GROWTH if grown else LEASE

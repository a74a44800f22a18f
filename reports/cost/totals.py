"""Totals over the winners of all services: sums of their columns, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Totals:
    """What the recommendation as a whole needs."""

    services: int
    services_rented: int
    services_bought: int
    cards_rented: float
    cards_bought: float
    servers_bought: float
    monthly_cost_amount: float
    capex_amount: float


def totals(winners: pd.DataFrame) -> Totals:
    """Sums over the winning options, each counted by the way it gets its cards."""
    rented, bought = winners[winners["way"] == "rent"], winners[winners["way"] == "buy"]
    return Totals(
        services=len(winners),
        services_rented=len(rented),
        services_bought=len(bought),
        cards_rented=float(rented["rented_cards"].sum()),
        cards_bought=float(bought["bought_cards"].sum()),
        servers_bought=float(bought["servers_needed"].sum()),
        monthly_cost_amount=float(winners["monthly_cost_amount"].sum()),
        capex_amount=float(bought["capex_amount"].sum()),
    )

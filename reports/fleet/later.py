"""The same pool a year on: demand as it is expected to grow, leases and reservations that have ended by then gone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from reports.fleet.problem import BUDGET, BUY, OWNED, FleetProblem
from reports.plan.outlook import last_day_of, period_of
from reports.scenario.demand import curve_of
from reports.scenario.schema import Scenario

AHEAD_MONTHS = 12
"""How far the second look goes: servers ordered for it can still be ordered in time."""


def month(scenario: Scenario) -> int:
    """Months from the report to the second look."""
    return min(AHEAD_MONTHS, scenario.costs.horizon_months)


def factors(scenario: Scenario) -> dict[str, float]:
    """Service -> its demand then over today's."""
    ahead = month(scenario)
    curves = {each.name: curve_of(each.demand) for each in scenario.service_axis}
    return {
        name: float(curve.factors(scenario.period, ahead)[ahead]) if curve else 1.0 for name, curve in curves.items()
    }


def later(problem: FleetProblem, machines: pd.DataFrame, scenario: Scenario) -> FleetProblem | None:
    """The problem of then; None where neither demand nor fleet has changed.

    ``machines`` (source, machines) are those of the plan of now: what it buys is there, and paid for, in a year. The
    budget of this quarter does not limit what is ordered later.
    """
    grown = factors(scenario)
    day = last_day_of(period_of(scenario, month(scenario))).isoformat()
    ended = (problem.sources["ends"] != "") & (problem.sources["ends"] < day)
    if not ended.any() and all(factor == 1 for factor in grown.values()):
        return None
    factor = problem.layouts["service"].map(grown)
    layouts = problem.layouts.assign(
        share=problem.layouts["share"] / factor, demand=problem.layouts["demand"] * factor
    )
    services = problem.services.assign(demand=problem.services["demand"] * problem.services["service"].map(grown))
    left = problem.sources[~ended].assign(book_value=np.nan, residual_amount=np.nan)  # of today: not known for then
    left = left.assign(age_months=left["age_months"] + month(scenario))
    sources = pd.concat([left, _bought(problem, machines)], ignore_index=True)
    limits = {name: limit for name, limit in problem.limits.items() if name != BUDGET}
    return replace(problem, services=services, layouts=layouts, sources=sources, limits=limits)


def _bought(problem: FleetProblem, machines: pd.DataFrame) -> pd.DataFrame:
    """Servers that the plan of now buys, as owned: their price is spread over the horizon and paid either way."""
    own = problem.sources.drop(columns="machines").merge(machines, on="source")
    own = own[(own["kind"] == BUY) & (own["machines"] > 0)]
    return own.assign(
        source="bought." + own["gpu"],
        kind=OWNED,
        committed_amount=(own["amount"] - own["running_amount"]) * own["machines"],
        amount=own["running_amount"],
        capex_amount=0.0,
    )

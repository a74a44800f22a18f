"""The months ahead: demand curves, what is left of today's fleet, and the timeline of every winner."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reports.cost.quotes import Listed, Warnings
from reports.formulas.meta import Array
from reports.plan import growth
from reports.plan.orders import orders
from reports.plan.rows import MONTH
from reports.run import Run
from reports.scenario.demand import curve_of
from reports.scenario.schema import Scenario

RENT_LATER = "{services}: buying is cheaper if today's demand stays, renting as it grows; see the section on growth."
BUY_LATER = "{services}: renting is cheaper if today's demand stays, buying as it grows; see the section on growth."

FLAT_MONTHS = 12
"""How far the timeline looks where no demand grows and no lease ends."""

MONTHS_OF_A_YEAR = 12


def months_ahead(scenario: Scenario) -> int:
    """The last month of the timeline: the horizon where something changes, a year where nothing does."""
    horizon = scenario.costs.horizon_months
    return horizon if changes(scenario) else min(horizon, FLAT_MONTHS)


def changes(scenario: Scenario) -> bool:
    """Whether demand or fleet change over the months, so that rent and buy are compared month by month."""
    return grows(scenario) or any(entry.lease_ends is not None for entry in scenario.fleet)


def grows(scenario: Scenario) -> bool:
    """Whether the demand of any service changes over the months."""
    return any(curve_of(each.demand) is not None for each in scenario.service_axis)


def period_of(scenario: Scenario, month: int) -> str:
    """Calendar month of a month of the timeline; month 0 is the month of the report."""
    year, number = (int(part) for part in scenario.period.split("-"))
    years, rest = divmod(number - 1 + month, MONTHS_OF_A_YEAR)
    return f"{year + years}-{rest + 1:02d}"


def last_day_of(period: str) -> datetime.date:
    """Last day of a month."""
    year, month = (int(part) for part in period.split("-"))
    return datetime.date(year, month, calendar.monthrange(year, month)[1])


def listed_factors(scenario: Scenario, service: str, months: int) -> Array:
    """Demand of each month over today's where the scenario lists it, 1 where it grows by a rate or not at all."""
    curve = curve_of(next(each.demand for each in scenario.service_axis if each.name == service))
    return curve.factors(scenario.period, months) if curve and curve.kind == "listed" else np.ones(months + 1)


def fleet_cards(scenario: Scenario, gpu: str, months: int) -> Array:
    """Cards of one kind of today's fleet, month by month: a lease counts up to the last month it covers whole."""
    ends = [last_day_of(period_of(scenario, month)) for month in range(months + 1)]
    cards = np.zeros(months + 1)
    for entry in scenario.fleet:
        if entry.gpu == gpu:
            cards += [entry.cards if entry.lease_ends is None or entry.lease_ends >= day else 0 for day in ends]
    return cards


def shares_of_fleet(scenario: Scenario, winners: pd.DataFrame, months: int) -> Array:
    """Whole servers of today's fleet for every winner, month by month.

    The cards of a kind go to the services that use it by tier, then in the order of the scenario, as far as today's
    demand needs them; what is left over stays with the first of them, to grow into.
    """
    tiers = {each.name: (each.tier, index) for index, each in enumerate(scenario.service_axis)}
    rows = winners.reset_index(drop=True)
    order = sorted(rows.index, key=lambda at: tiers[str(rows.at[at, "service"])])
    found = np.zeros((len(rows), months + 1))
    for gpu in dict.fromkeys(rows["gpu"].astype(str)):
        users = [at for at in order if str(rows.at[at, "gpu"]) == gpu]
        free = np.floor(fleet_cards(scenario, gpu, months) / rows.loc[users[0], "server_cards"])
        for at in users:
            found[at] = np.minimum(free, rows.at[at, "servers_needed"])
            free = free - found[at]
        found[users[0]] += free
    return found


def stage(run: Run) -> Run:
    """The run with what a loss leaves, the timeline of every winner, its results, and the orders."""
    winners = run.winners().reset_index(drop=True)
    filled = replace(run, resilience=losses(run.shortlist))
    if winners.empty:
        return filled
    months = months_ahead(run.scenario)
    listed = np.array([listed_factors(run.scenario, str(name), months) for name in winners["service"]])
    fleet = shares_of_fleet(run.scenario, winners, months)
    timeline, results = growth.evaluate(winners, listed, fleet, compared=changes(run.scenario))
    timeline.insert(2, "period", [period_of(run.scenario, month) for month in timeline[MONTH]])
    results.insert(0, "option_id", winners["option_id"])
    warnings = (*run.warnings, *(turned(winners, results) if len(run.scenario.costs.compare) > 1 else ()))
    return replace(
        filled, growth=timeline, growth_results=results, orders=orders(winners, timeline), warnings=warnings
    )


def turned(winners: pd.DataFrame, results: pd.DataFrame) -> Warnings:
    """Services for which the growth turns the cheaper way round, for the cover; ``results`` has the winners' index."""
    found: list[tuple[str, dict[str, object]]] = []
    if "growing_rent_npv_amount" not in results.columns:
        return ()
    renting = results["growing_rent_npv_amount"] > results["growing_buy_npv_amount"]
    buying = results["growing_rent_npv_amount"] < results["growing_buy_npv_amount"]
    both = np.isfinite(winners["rent_npv_amount"]) & np.isfinite(winners["buy_npv_amount"])
    for way, other, message in (("buy", renting, RENT_LATER), ("rent", buying, BUY_LATER)):
        names = winners.loc[both & other & (winners["way"] == way), "service"].astype(str).tolist()
        if names:
            found.append((message, {"services": Listed(names)}))
    return tuple(found)


def losses(shortlist: pd.DataFrame) -> pd.DataFrame:
    """One row a loss (of a card, of a server) of every short-listed option: how much of the demand is still served."""
    rows: list[dict[str, Any]] = []
    for option, kind in _pairs(shortlist):
        left = float(option[f"{kind}_loss_left_share"])
        rows.append(
            {
                "option_id": option["option_id"], "units_needed": option["units_needed"],
                "spare_units": option["spare_units"], "availability": option["availability_share"],
                "target": option["availability_target_share"], "loss": kind, "capacity_left_share": left,
                "headroom_used_left_share": float(option[f"{kind}_loss_limit_share"]),
                "serves_demand": left >= 1 - 1e-9,
            }
        )  # fmt: skip
    names = ("option_id", "units_needed", "spare_units", "availability", "target", "loss", "capacity_left_share",
             "headroom_used_left_share", "serves_demand")  # fmt: skip
    return pd.DataFrame(rows, columns=list(names))


def _pairs(shortlist: pd.DataFrame) -> Iterable[tuple[Mapping[Any, Any], str]]:
    return ((option, kind) for option in shortlist.to_dict("records") for kind in ("card", "server"))

"""The cash plan of the recommended purchase by quarter, what fits the budget, and what the next money would buy."""

from __future__ import annotations

import calendar
import datetime
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from reports.cost import comparison
from reports.cost.bill import bill
from reports.formulas import budget as formulas
from reports.run import Run
from reports.scenario.buying import MONTHS_OF_A_QUARTER, quarter_of
from reports.scenario.schema import Scenario
from reports.units import day_of

PLAN = ("quarter", "first_day", "last_day", "service", "option_id", "payment", "amount")
FITS = (
    "service", "option_id", "outlay_amount", "left_budget_amount", "fitting_servers", "servers_needed",
    "fitting_amount", "lacking_amount", "fits", "next_servers", "next_cards", "next_concurrency",
)  # fmt: skip


@dataclass(frozen=True)
class Payment:
    """One payment: the columns with its amount and its day."""

    payment: str
    label: str
    amount: str
    day: str


PAYMENTS = (
    Payment("deposit", "Deposit", "deposit_amount", "deposit_day"),
    Payment("delivery", "On delivery", "delivery_payment_amount", "delivery_payment_day"),
    Payment("acceptance", "On final acceptance", "acceptance_payment_amount", "acceptance_payment_day"),
)

MORE_QUARTERS = 2
"""The plan goes on so far after the last payment, for payments that an edit moves."""


def stage(run: Run) -> Run:
    """The run with the bill of materials, the quotes side by side, the cash plan, and what fits the budget."""
    bought = in_order(run)
    return replace(
        run,
        bill=bill(run.shortlist),
        quotes=comparison.quotes(run),
        cash_plan=cash_plan(bought),
        budget_fits=fits(bought, run.scenario.budget.amount or 0.0),
    )


def in_order(run: Run) -> list[dict[str, Any]]:
    """Winners that are bought, in the order in which a budget serves them: by tier, then as the scenario lists them."""
    place = {each.name: (each.tier, at) for at, each in enumerate(run.scenario.service_axis)}
    rows = [
        {str(name): value for name, value in row.items()}
        for row in run.winners().to_dict("records")
        if row["way"] == "buy" and np.isfinite(row["capex_amount"])
    ]
    return sorted(rows, key=lambda row: place[str(row["service"])])


def cash_plan(bought: list[dict[str, Any]]) -> pd.DataFrame:
    """One row a payment of every purchase, in its calendar quarter. Amounts are positive: money to be found."""
    rows = []
    for option in bought:
        for each in PAYMENTS:
            first, last = days_of(quarter_of(day_of(option[each.day])))
            rows.append({
                "quarter": quarter_of(first), "first_day": first.isoformat(), "last_day": last.isoformat(),
                "service": str(option["service"]), "option_id": option["option_id"], "payment": each.payment,
                "amount": float(option[each.amount]),
            })  # fmt: skip
    return pd.DataFrame(rows, columns=list(PLAN))


def days_of(quarter: str) -> tuple[datetime.date, datetime.date]:
    """First and last day of a calendar quarter such as 2026-Q4."""
    year, last = int(quarter[:4]), int(quarter[-1]) * MONTHS_OF_A_QUARTER
    return datetime.date(year, last - MONTHS_OF_A_QUARTER + 1, 1), datetime.date(
        year, last, calendar.monthrange(year, last)[1]
    )


def quarters(scenario: Scenario, plan: pd.DataFrame, more: int = 0) -> list[str]:
    """Every quarter from the report's to the last payment or budget, and ``more`` after it."""
    named = [*plan["quarter"], *scenario.budget.by_quarter, quarter_of(scenario.as_of)]
    found = [min(named)]
    while found[-1] < max(named) or more > 0:
        more -= found[-1] >= max(named)
        found.append(quarter_of(days_of(found[-1])[1] + datetime.timedelta(days=1)))
    return found


def fits(bought: list[dict[str, Any]], budget: float) -> pd.DataFrame:
    """For each purchase: what of the budget is left for it, the whole servers that buys, and what the next money buys.

    Without a budget (0) everything fits, and what is left means nothing.
    """
    rows, spent = [], 0.0
    for option in bought:
        outlay, each, wanted = (
            float(option[name]) for name in ("capex_amount", "outlay_per_server_amount", "servers_needed")
        )
        left = formulas.left_budget_amount(budget, spent)
        servers = float(formulas.fitting_servers(budget, left, each, wanted))
        amount = formulas.fitting_amount(servers, each)
        rows.append({
            "service": str(option["service"]), "option_id": option["option_id"], "outlay_amount": outlay,
            "left_budget_amount": left if budget else np.nan, "fitting_servers": servers, "servers_needed": wanted,
            "fitting_amount": amount, "lacking_amount": formulas.lacking_amount(outlay, amount),
            "fits": servers >= wanted,
            **{name: float(option[name]) for name in ("next_servers", "next_cards", "next_concurrency")},
        })  # fmt: skip
        spent = spent + amount
    return pd.DataFrame(rows, columns=list(FITS))


def over_in(scenario: Scenario, plan: pd.DataFrame) -> dict[str, float]:
    """Quarter -> by how much its payments exceed its budget, for those that do."""
    paid = plan.groupby("quarter")["amount"].sum()
    limits = scenario.budget.by_quarter
    found = {quarter: float(paid.get(quarter, 0.0)) - limit for quarter, limit in limits.items()}
    return {quarter: more for quarter, more in sorted(found.items()) if more > 0}


"""A budget in the currency of the scenario, and what of it is over before the report is made."""

from __future__ import annotations

import datetime

from reports.catalog.exchange import exchange_rate
from reports.catalog.records import Catalog
from reports.errors import Problem
from reports.scenario.buying import Budget, quarter_of
from reports.scenario.merge import Merged
from reports.yaml_problems import KeyPath, where


def in_currency(budget: Budget, currency: str, catalog: Catalog, day: datetime.date) -> Budget:
    """The budget in the currency of the scenario, at the dated rate; InputError where there is none."""
    if budget.currency in (None, currency):
        return budget
    rate = exchange_rate(catalog.exchange, str(budget.currency), currency, day).rate
    return budget.model_copy(update={
        "amount": None if budget.amount is None else budget.amount * rate,
        "by_quarter": {quarter: amount * rate for quarter, amount in budget.by_quarter.items()},
        "next": budget.next * rate, "currency": currency,
    })  # fmt: skip


def check_budget(budget: Budget, merged: Merged, day: datetime.date) -> list[Problem]:
    """Quarters and days that are over before the report is made."""
    problems = []

    def problem(path: KeyPath, message: str, *, key: bool = False, **more: str) -> None:
        place, line, column = merged.place(path, key)
        problems.append(Problem(place, message, line, column, where=where(path), **more))

    if budget.needed_by is not None and budget.needed_by < day:
        problem(("budget", "needed_by"), "is over before the report is made", read=budget.needed_by.isoformat(),
                expected=f"a day from {day.isoformat()} on")
    for quarter in budget.by_quarter:
        if quarter < quarter_of(day):
            problem(("budget", "by_quarter", quarter), "is over before the report is made", key=True, read=quarter,
                    expected=f"a quarter from {quarter_of(day)} on")
    return problems

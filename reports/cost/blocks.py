"""The money formulas in reading order, the rows of the monthly cash flow, and the ranking by monthly cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.formulas import buy, cashflow, rent, rent_against_buy
from reports.formulas.aggregate import CUMULATIVE_SUM, FIRST_WHERE, NPV, Aggregate
from reports.formulas.meta import Formula, info
from reports.methods import Block

COST_BLOCKS: tuple[Block, ...] = (
    Block("Rent", rent.FORMULAS),
    Block("Buy", buy.FORMULAS),
    Block("Rent against buy", rent_against_buy.FORMULAS),
)
"""Evaluated over all options once their cards are known and their prices attached."""

MONTH = "month"
"""The one row of the timeline that nothing makes: 0 is the day of purchase, m the end of month m."""


@dataclass(frozen=True)
class CashRow:
    """One row of the timeline, or one figure drawn from it: a formula, or an aggregate over rows above it."""

    column: str
    unit: str
    label: str
    symbol: str
    reads: tuple[str, ...]
    formula: Formula | None = None
    aggregate: Aggregate | None = None


def _month_row(function: Formula) -> CashRow:
    known = info(function)
    return CashRow(known.name, known.unit, known.label, known.symbol, known.inputs, formula=function)


CASHFLOW: tuple[CashRow, ...] = (
    *(_month_row(function) for function in cashflow.FORMULAS[:-1]),
    CashRow(
        "rent_cumulative_amount", "currency", "Rent paid, discounted, cumulative", "D_{rent}",
        ("rent_discounted_amount",), aggregate=CUMULATIVE_SUM,
    ),
    CashRow(
        "buy_cumulative_amount", "currency", "Owning, discounted, cumulative", "D_{buy}",
        ("buy_discounted_amount",), aggregate=CUMULATIVE_SUM,
    ),
    _month_row(cashflow.rent_passed_flag),
)  # fmt: skip
"""One value a month each, in reading order. ``reads`` names ``month``, rows above, and columns of the option."""

CASHFLOW_RESULTS: tuple[CashRow, ...] = (
    CashRow(
        "rent_npv_amount", "currency", "Renting, net present value", "NPV_{rent}",
        ("rent_cash_amount", "discount_factor"), aggregate=NPV,
    ),
    CashRow(
        "buy_npv_amount", "currency", "Owning, net present value", "NPV_{buy}",
        ("buy_cash_amount", "discount_factor"), aggregate=NPV,
    ),
    CashRow(
        "break_even_month", "month", "Month in which renting has cost more than owning", "m^*",
        ("rent_passed_flag", MONTH), aggregate=FIRST_WHERE,
    ),
)  # fmt: skip
"""One value an option each, drawn from the rows of the timeline."""

WAYS: tuple[str, ...] = ("rent", "buy")
"""Ways to get the cards. The equivalent cost of each is the column ``<way>_equivalent_amount_per_month``."""


def rank(options: pd.DataFrame, ways: Sequence[str] = WAYS) -> pd.DataFrame:
    """Options with ``monthly_cost_amount`` (least of the ways), ``way`` and ``rank`` within each model (1 is best).

    An infeasible option, or one without any price, has no rank. Equal costs: fewer cards first, then the id.
    """
    considered = [way for way in WAYS if way in ways]
    columns = [options[f"{way}_equivalent_amount_per_month"].to_numpy(dtype=float) for way in considered]
    costs = np.stack(columns) if columns else np.full((1, len(options)), np.nan)
    priced = np.isfinite(costs).any(axis=0) & options["feasible"].to_numpy(dtype=bool)
    finite = np.where(np.isfinite(costs), costs, np.inf)
    frame = options.copy()
    frame["monthly_cost_amount"] = np.where(priced, finite.min(axis=0, initial=np.inf), np.nan)
    frame["way"] = np.where(priced, np.array([*considered, ""], dtype=object)[finite.argmin(axis=0)], "")
    order = frame[priced].sort_values(["monthly_cost_amount", "demand_cards", "option_id"], kind="stable")
    frame["rank"] = order.groupby("model", observed=True, sort=False).cumcount().add(1).astype(float)
    return frame

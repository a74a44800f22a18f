"""The money formulas in reading order, the rows of the monthly cash flow, and the ranking by monthly cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.formulas import books, buy, cashflow, financing, per_unit, purchase, rent, rent_against_buy
from reports.formulas.aggregate import CUMULATIVE_SUM, FIRST_WHERE, IRR, LARGEST, NPV, PREVIOUS, Aggregate
from reports.formulas.meta import Formula, info
from reports.methods import Block

COST_BLOCKS: tuple[Block, ...] = (
    Block("Rent", rent.FORMULAS),
    Block("Buy", buy.FORMULAS),
    Block("Rent against buy", rent_against_buy.FORMULAS),
    Block("Loan and lease", financing.FORMULAS),
    Block("Books", books.FORMULAS),
)
"""Evaluated over all options once their cards are known and their prices attached."""

UNIT_BLOCK = Block("Cost, energy and emissions per unit", per_unit.FORMULAS)
"""What an option costs for each thing it delivers."""

PURCHASE_BLOCKS: tuple[Block, ...] = (
    UNIT_BLOCK,
    Block("Bill of materials", purchase.BILL),
    Block("Payments and budget", purchase.PAYMENTS),
)
"""Evaluated over the short list once its delivery is known: nothing here decides."""

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


def _along(column: str, label: str, symbol: str, read: str, aggregate: Aggregate) -> CashRow:
    return CashRow(column, "currency", label, symbol, (read,), aggregate=aggregate)


CASHFLOW: tuple[CashRow, ...] = (
    *(_month_row(function) for function in cashflow.FORMULAS),
    _along("rent_cumulative_amount", "Rent paid, discounted, cumulative", "D_{rent}", "rent_discounted_amount",
           CUMULATIVE_SUM),
    _along("buy_cumulative_amount", "Owning, discounted, cumulative", "D_{buy}", "buy_discounted_amount",
           CUMULATIVE_SUM),
    *(_month_row(function) for function in cashflow.COMPARED),
    _along("incremental_cumulative_amount", "Owning instead of renting, cumulative", "D_{\\Delta}",
           "incremental_cash_amount", CUMULATIVE_SUM),
    *(_month_row(function) for function in cashflow.PAID_BACK),
    *(_month_row(function) for function in cashflow.STOPPED),
    *(_month_row(function) for function in financing.MONTHS),
    *(_month_row(function) for function in books.AGE),
    _along("previous_book_value_amount", "Book value of the month before", "V_{m-1}", "book_value_amount", PREVIOUS),
    _along("previous_tax_value_amount", "Tax value of the month before", "T_{m-1}", "tax_value_amount", PREVIOUS),
    *(_month_row(function) for function in books.RESULTS_OF_MONTHS),
    *(_month_row(function) for function in financing.BOOKED),
    *(_month_row(function) for function in books.LEASED),
)  # fmt: skip
"""One value a month each, in reading order. ``reads`` names ``month``, rows above, and columns of the option."""

STOCKS = frozenset(("book_value_amount", "tax_value_amount", "lease_liability_amount", "right_of_use_amount",
                    "hindsight_amount", "rent_regret_amount", "buy_regret_amount"))  # fmt: skip
"""Rows that say what stands at the end of a month: they are not added up over months."""

CASHFLOW_BLOCK = Block("Cash flow", tuple(row.formula for row in CASHFLOW if row.formula is not None))
"""The formulas of the timeline, for those who ask what it reads."""


def _npv(way: str, label: str, symbol: str, row: str) -> CashRow:
    return CashRow(f"{way}_npv_amount", "currency", label, symbol, (row, "discount_factor"), aggregate=NPV)


CASHFLOW_RESULTS: tuple[CashRow, ...] = (
    _npv("rent", "Renting, net present value", "NPV_{rent}", "rent_cash_amount"),
    _npv("buy", "Owning, net present value", "NPV_{buy}", "buy_cash_amount"),
    _npv("finance", "Owning on a loan, net present value", "NPV_{fin}", "finance_cash_amount"),
    _npv("lease", "Leasing, net present value", "NPV_{lease}", "lease_cash_amount"),
    _npv("rent_after_tax", "Renting after tax, net present value", "NPV'_{rent}", "rent_after_tax_cash_amount"),
    _npv("buy_after_tax", "Owning after tax, net present value", "NPV'_{buy}", "buy_after_tax_cash_amount"),
    CashRow(
        "break_even_month", "month", "Month in which renting has cost more than owning", "m^*",
        ("rent_passed_flag", MONTH), aggregate=FIRST_WHERE,
    ),
    CashRow(
        "payback_month", "month", "Payback: month in which the rents saved cover the outlay", "m_{pay}",
        ("paid_back_flag", MONTH), aggregate=FIRST_WHERE,
    ),
    CashRow(
        "incremental_irr_rate", "ratio", "Return of owning over renting, a month (IRR)", "IRR",
        ("incremental_cash_amount",), aggregate=IRR,
    ),
    CashRow("rent_worst_regret_amount", "currency", "Largest regret of renting, whenever the service stops",
            "X_{rent}", ("rent_regret_amount",), aggregate=LARGEST),
    CashRow("buy_worst_regret_amount", "currency", "Largest regret of owning, whenever the service stops",
            "X_{buy}", ("buy_regret_amount",), aggregate=LARGEST),
)  # fmt: skip
"""One value an option each, drawn from the rows of the timeline. Discounted payback is the break-even month."""

WAYS: tuple[str, ...] = ("rent", "buy")
"""Ways to get the cards. The equivalent cost of each is the column ``<way>_equivalent_amount_per_month``."""


def rank(options: pd.DataFrame, ways: Sequence[str] = WAYS) -> pd.DataFrame:
    """Options with ``monthly_cost_amount`` (least of the ways), ``way`` and ``rank`` within each service (1 is best).

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
    order = frame[priced].sort_values(["monthly_cost_amount", "sized_cards", "option_id"], kind="stable")
    frame["rank"] = order.groupby("service", observed=True, sort=False).cumcount().add(1).astype(float)
    return frame

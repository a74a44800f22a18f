"""The short list month by month: cash flows, discounted and cumulative, and the break-even month."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, MONTH, CashRow
from reports.formulas.meta import Array

REACHED = "reached"
NEVER = "never-within-horizon"
NOT_COMPARED = "not-compared"


def evaluate(shortlist: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``(timelines, results)`` of the short list.

    ``timelines`` is long: option_id, month (0 to the horizon), one column a row of ``CASHFLOW``. ``results`` has the
    rows of the short list: the figures of ``CASHFLOW_RESULTS``, and ``break_even_code``: reached, never within the
    horizon, or not compared because one of the two ways has no price.
    """
    months = np.arange(_horizon(shortlist) + 1, dtype=float)
    known: dict[str, Array] = {MONTH: np.broadcast_to(months, (len(shortlist), len(months)))}
    for row in CASHFLOW:
        known[row.column] = _values(row, known, shortlist)
    results = {row.column: _values(row, known, shortlist) for row in CASHFLOW_RESULTS}

    long = pd.DataFrame({"option_id": np.repeat(shortlist["option_id"].astype(str).to_numpy(), len(months))})
    for column in (MONTH, *(row.column for row in CASHFLOW)):
        long[column] = known[column].ravel()
    long[MONTH] = long[MONTH].astype(int)
    summary = pd.DataFrame(results, index=shortlist.index)
    compared = np.isfinite(results["rent_npv_amount"]) & np.isfinite(results["buy_npv_amount"])
    reached = np.isfinite(results["break_even_month"])
    summary["break_even_code"] = np.select([~compared, reached], [NOT_COMPARED, REACHED], NEVER)
    return long, summary


def _horizon(shortlist: pd.DataFrame) -> int:
    horizons = shortlist["horizon_months"].unique()
    if len(horizons) > 1:
        raise ValueError(f"options of one timeline have one horizon, not {sorted(horizons)}")
    return int(horizons[0]) if len(horizons) else 0


def _values(row: CashRow, known: Mapping[str, Array], shortlist: pd.DataFrame) -> Array:
    """One row of the timeline for all options; blank wherever something it reads is blank."""
    inputs = [
        known[name] if name in known else shortlist[name].to_numpy(dtype=float)[:, np.newaxis] for name in row.reads
    ]
    if row.aggregate is not None:
        return row.aggregate.function(*inputs)
    assert row.formula is not None
    values = np.asarray(row.formula(*inputs), dtype=float)
    blank = np.zeros(values.shape, dtype=bool)
    for each in inputs:
        blank = blank | np.isnan(each)
    return np.where(blank, np.nan, values)

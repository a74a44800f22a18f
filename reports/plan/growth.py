"""The growth timeline of options: demand, units, servers, orders, deliveries and the rented bridge, month by month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from reports.evaluate import evaluate_frame
from reports.formulas import cashflow, growth, growth_money
from reports.formulas.meta import Array
from reports.methods import Block
from reports.plan import spares
from reports.plan.rows import COMPARED, COMPARED_RESULTS, MONTH, RESULTS, SOLVED, TIMELINE, PlanRow

BLOCK = Block("Growth and orders", growth.FORMULAS)
"""What holds for all months of an option; read after its purchase price is known."""

MONTHS = Block("Month by month", (*growth.MONTHS, *growth_money.MONTHS))
"""Not evaluated as a block: names the leaves that the timeline reads."""

ORDER_FLAG = "order_flag"
"""1 where the option is bought; where it is rented, growth is rented too."""


def with_order_flag(frame: pd.DataFrame) -> pd.DataFrame:
    """Options with the columns of ``BLOCK`` and whether they are bought."""
    bought = (frame["way"] == "buy").astype(float)
    return evaluate_frame(frame.assign(**{ORDER_FLAG: bought}), (BLOCK,))


def evaluate(
    options: pd.DataFrame, listed: Array, fleet: Array, *, compared: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``(timeline, results)`` of options that ``with_order_flag`` has completed.

    ``listed`` and ``fleet`` have one row an option and one column a month, month 0 first: the demand over today's as
    the scenario lists it (1 where it grows by a rate), and the whole servers of today's fleet that are still there.
    ``timeline`` is long: option_id, month, one column a row of ``TIMELINE``. ``results`` has the index of ``options``.
    ``compared``: also rent against buy, the rows of ``COMPARED``; the months then reach to the horizon.
    """
    rows, drawn = (TIMELINE + COMPARED, RESULTS + COMPARED_RESULTS) if compared else (TIMELINE, RESULTS)
    months = np.arange(listed.shape[1], dtype=float)
    known: dict[str, Array] = {
        MONTH: np.broadcast_to(months, listed.shape), "listed_factor": listed, "fleet_servers": fleet,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        for row in rows:
            if row.column not in known:
                known[row.column] = _solved(known, options) if row.source == SOLVED else _values(row, known, options)
        results: dict[str, Array] = {}
        for row in drawn:
            results[row.column] = _result(row, known, results, options)
    long = pd.DataFrame({"option_id": np.repeat(options["option_id"].astype(str).to_numpy(), len(months))})
    for column in (MONTH, *(row.column for row in rows)):
        long[column] = known[column].ravel()
    long[MONTH] = long[MONTH].astype(int)
    return long, pd.DataFrame(results, index=options.index)


def _column(name: str, options: pd.DataFrame) -> Array:
    values: Array = options[name].to_numpy(dtype=float)[:, np.newaxis]
    return values


def _values(row: PlanRow, known: Mapping[str, Array], options: pd.DataFrame) -> Array:
    """One row of the timeline for all options."""
    inputs = [known[name] if name in known else _column(name, options) for name in row.reads]
    shape = known[MONTH].shape
    if row.aggregate is not None:
        return np.broadcast_to(row.aggregate.function(*inputs), shape)
    assert row.formula is not None
    values = np.asarray(row.formula(*inputs), dtype=float)
    if row.formula is cashflow.rent_passed_flag:  # a way without a price is not passed, and passes none
        values = np.where(np.isnan(inputs[0]) | np.isnan(inputs[1]), np.nan, values)
    return np.broadcast_to(values, shape)


def _solved(known: Mapping[str, Array], options: pd.DataFrame) -> Array:
    """Spares of each month for the availability: more units need more of them."""
    names = (*spares.UNITS, *spares.RATES, spares.TARGET)
    columns = {name: _column(name, options) for name in names}
    return spares.least_spares({**columns, "units_needed": known["month_units_needed"]})


def _result(
    row: PlanRow, known: Mapping[str, Array], results: Mapping[str, Array], options: pd.DataFrame
) -> Array:
    inputs = [
        results[name] if name in results else known[name] if name in known else options[name].to_numpy(dtype=float)
        for name in row.reads
    ]
    if row.aggregate is not None:
        return row.aggregate.function(*inputs)
    assert row.formula is not None
    return np.asarray(row.formula(*inputs), dtype=float)


def fleet_servers(cards: Sequence[float], server_cards: float) -> Array:
    """Whole servers that cards of today's fleet fill, month by month."""
    return np.floor(np.asarray(cards, dtype=float) / server_cards)

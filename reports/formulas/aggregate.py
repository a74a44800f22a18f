"""The second closed list: sums along a timeline, each once in NumPy and once as spreadsheet and LaTeX templates.

Every function works over the last axis and keeps the others. ``excel`` is a template over cell references that the
workbook fills in: ``{row}`` the whole row of an argument (``$D10:$AN10``), ``{first}`` its first cell with the column
fixed (``$D10``), ``{here}`` the cell of the same row in this month (``D10``); a second and third argument are
``{row2}``, ``{row3}``, and ``{key}`` and ``{lag}`` (a number of months, the second argument) are single cells.
``latex`` is a template over the symbols ``{a}``, ``{b}`` of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reports.formulas.meta import Array


def total(values: ArrayLike) -> Array:
    """Sum of a row."""
    return np.sum(np.asarray(values, dtype=float), axis=-1)


def cumulative_sum(values: ArrayLike) -> Array:
    """Sum of a row from its start up to each month."""
    return np.cumsum(np.asarray(values, dtype=float), axis=-1)


def npv(values: ArrayLike, factors: ArrayLike) -> Array:
    """Net present value: each month's flow times its discount factor, added."""
    return np.sum(np.asarray(values, dtype=float) * np.asarray(factors, dtype=float), axis=-1)


def first_where(flags: ArrayLike, months: ArrayLike) -> Array:
    """The month of the first flag that is 1; NaN when there is none, or when the flags are not known."""
    flag, month = np.broadcast_arrays(np.asarray(flags, dtype=float), np.asarray(months, dtype=float))
    found = flag == 1
    at = np.argmax(found, axis=-1)[..., np.newaxis]
    return np.where(found.any(axis=-1), np.take_along_axis(month, at, axis=-1)[..., 0], np.nan)


def lookup(key: ArrayLike, keys: ArrayLike, values: ArrayLike) -> Array:
    """The value beside the first key that equals ``key``; NaN when there is none."""
    wanted = np.asarray(key, dtype=float)[..., np.newaxis]
    row, value, wanted = np.broadcast_arrays(np.asarray(keys, dtype=float), np.asarray(values, dtype=float), wanted)
    found = row == wanted
    at = np.argmax(found, axis=-1)[..., np.newaxis]
    return np.where(found.any(axis=-1), np.take_along_axis(value, at, axis=-1)[..., 0], np.nan)


def largest(values: ArrayLike) -> Array:
    """The largest of a row."""
    return np.max(np.asarray(values, dtype=float), axis=-1)


def cumulative_max(values: ArrayLike) -> Array:
    """The largest of a row from its start up to each month."""
    return np.maximum.accumulate(np.asarray(values, dtype=float), axis=-1)


def ahead(values: ArrayLike, months: ArrayLike) -> Array:
    """What a row holds ``months`` later, at the end its last value; ``months`` is a whole number for each row."""
    row = np.asarray(values, dtype=float)
    return _shifted(row, np.asarray(months, dtype=float), row[..., -1:])


def behind(values: ArrayLike, months: ArrayLike) -> Array:
    """What a row held ``months`` before, 0 before its start; ``months`` is a whole number for each row."""
    return _shifted(np.asarray(values, dtype=float), -np.asarray(months, dtype=float), 0.0)


def previous(values: ArrayLike) -> Array:
    """What a row held in the month before, 0 at its start."""
    row = np.asarray(values, dtype=float)
    return _shifted(row, -np.ones((*row.shape[:-1], 1)), 0.0)


def renewed(values: ArrayLike, months: ArrayLike) -> Array:
    """What a row holds in this month and held a whole number of ``months`` before, added; the row itself where that
    is not known."""
    row = np.asarray(values, dtype=float)
    life = np.broadcast_to(np.asarray(months, dtype=float), (*row.shape[:-1], 1))
    known = np.where(np.isfinite(life) & (life > 0), life, row.shape[-1])
    month = np.arange(row.shape[-1], dtype=float)
    back = month[:, np.newaxis] - month
    counted = (back >= 0) & (np.mod(back, known[..., np.newaxis]) == 0)
    return np.sum(np.where(counted, row[..., np.newaxis, :], 0.0), axis=-1)


def _shifted(row: Array, months: Array, outside: Array | float) -> Array:
    """Each row moved by its own number of months (the last axis of ``months`` has length 1), NaN where that is NaN."""
    known = np.isfinite(months)
    at = np.arange(row.shape[-1]) + np.where(known, months, 0)
    inside = (at >= 0) & (at < row.shape[-1])
    index = np.broadcast_to(np.where(inside, at, 0).astype(int), row.shape)
    return np.where(known, np.where(inside, np.take_along_axis(row, index, axis=-1), outside), np.nan)


def irr(values: ArrayLike) -> Array:
    """The rate a period at which a row of cash flows is worth nothing today; NaN when there is none, or several.

    Looked for between -50 % and +100 % a period, where its value changes its sign exactly once; by halving, to the last
    bit. A row whose flows change their sign only once has one rate at most.
    """
    row = np.asarray(values, dtype=float)
    period = np.arange(row.shape[-1])

    def worth(rate: Array) -> Array:
        return np.sum(row * (1 + rate[..., np.newaxis]) ** -period, axis=-1)

    grid = np.concatenate([np.linspace(-0.5, -0.05, 46), np.linspace(-0.05, 0.05, 201)[1:-1], np.linspace(0.05, 1, 96)])
    with np.errstate(all="ignore"):
        signs = np.sign(np.stack([worth(np.full(row.shape[:-1], rate)) for rate in grid], axis=-1))
    crossed = (signs[..., :-1] * signs[..., 1:] < 0) | ((signs[..., :-1] == 0) & (signs[..., 1:] != 0))
    one = (crossed.sum(axis=-1) == 1) & np.isfinite(row).all(axis=-1)
    at = np.argmax(crossed, axis=-1)
    low, high = grid[at], grid[at + 1]
    rising = worth(np.where(one, high, 0.0)) > 0
    for _ in range(IRR_HALVINGS):
        middle = (low + high) / 2
        above = worth(middle) > 0
        low, high = np.where(above == rising, low, middle), np.where(above == rising, middle, high)
    return np.where(one, (low + high) / 2, np.nan)


IRR_HALVINGS = 60
"""A double has 53 bits: more halvings change nothing."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate in all its forms."""

    name: str
    function: Callable[..., Array]
    excel: str
    """Without the leading ``=``."""
    latex: str
    along: bool = False
    """Gives a row of its own (one value a month), not one value."""

    @property
    def doc(self) -> str:
        """What it computes, in one sentence."""
        return self.function.__doc__ or ""


TOTAL = Aggregate("total", total, "SUM({row})", r"\sum_{m} {a}")
CUMULATIVE_SUM = Aggregate("cumulative_sum", cumulative_sum, "SUM({first}:{here})", r"\sum_{j \le m} {a}", along=True)
NPV = Aggregate("npv", npv, "SUMPRODUCT({row},{row2})", r"\sum_{m} {a}\,{b}")
FIRST_WHERE = Aggregate(
    "first_where", first_where, "INDEX({row2},MATCH(1,{row},0))", r"\min\lbrace {b} : {a} = 1 \rbrace"
)
LOOKUP = Aggregate("lookup", lookup, "INDEX({row3},MATCH({key},{row2},0))", r"{c}({b} = {a})")
LARGEST = Aggregate("largest", largest, "MAX({row})", r"\max_{m} {a}")
CUMULATIVE_MAX = Aggregate("cumulative_max", cumulative_max, "MAX({first}:{here})", r"\max_{j \le m} {a}", along=True)
AHEAD = Aggregate(
    "ahead", ahead, "INDEX({row},MIN(COUNT({first}:{here})+{lag},COUNT({row})))", r"{a}_{m+{b}}", along=True
)
BEHIND = Aggregate(
    "behind", behind,
    "IF(COUNT({first}:{here})>{lag},INDEX({row},MAX(COUNT({first}:{here})-{lag},1)),0)", r"{a}_{m-{b}}", along=True,
)  # fmt: skip
PREVIOUS = Aggregate(
    "previous", previous, "IF(COUNT({first}:{here})>1,INDEX({row},MAX(COUNT({first}:{here})-1,1)),0)",
    r"{a}_{m-1}", along=True,
)  # fmt: skip
RENEWED = Aggregate(
    "renewed", renewed, "SUMPRODUCT({first}:{here}*(MOD(COLUMN({here})-COLUMN({first}:{here}),{lag})=0))",
    r"\sum_{k \ge 0} {a}_{m-k{b}}", along=True,
)  # fmt: skip
IRR = Aggregate("irr", irr, "IRR({row},0)", r"\mathrm{IRR}({a})")

AGGREGATES: tuple[Aggregate, ...] = (
    TOTAL, CUMULATIVE_SUM, NPV, FIRST_WHERE, LOOKUP, LARGEST, CUMULATIVE_MAX, AHEAD, BEHIND, PREVIOUS, RENEWED, IRR,
)  # fmt: skip
"""FIRST_WHERE and LOOKUP answer #N/A where NumPy answers NaN: the workbook wraps them in IFERROR with its own words."""

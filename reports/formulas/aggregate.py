"""The second closed list: sums along a timeline, each once in NumPy and once as spreadsheet and LaTeX templates.

Every function works over the last axis and keeps the others. ``excel`` is a template over cell references that the
workbook fills in: ``{row}`` the whole row of an argument (``$D10:$AN10``), ``{first}`` its first cell with the column
fixed (``$D10``), ``{here}`` the cell of the same row in this month (``D10``); a second and third argument are
``{row2}``, ``{row3}``, and ``{key}`` is a single cell. ``latex`` is a template over the symbols ``{a}``, ``{b}`` of the
arguments.
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

AGGREGATES: tuple[Aggregate, ...] = (TOTAL, CUMULATIVE_SUM, NPV, FIRST_WHERE, LOOKUP)
"""FIRST_WHERE and LOOKUP answer #N/A where NumPy answers NaN: the workbook wraps them in IFERROR with its own words."""

"""The one search of the roofline: for each increasing quantity the largest whole batch that keeps it within its target.

One evaluation of the step gives all quantities, so each row's next trial is chosen for the first quantity that is not
settled there, and all of them learn from it. Settled rows drop out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Rows = NDArray[np.intp]

Quantities = Callable[[Values, Rows | None], Sequence[Values]]
"""(batches, rows they are for; None: all) -> the value of every quantity there."""

WORTH_DROPPING = 0.75
"""Settled rows are dropped when so few are left of those that are evaluated: choosing rows costs time as well."""


@dataclass
class _Bracket:
    """One quantity on the rows that are still looked at: it holds at ``low`` and not at ``high``."""

    target: Values
    low: Values
    high: Values
    last: Values
    """How far the last trial was above the target."""
    before: Values
    """The same of the trial before it."""

    def learn(self, trial: Values, value: Values) -> None:
        """Move the end that the trial replaces; trials outside the bracket say nothing new."""
        self.before, self.last = self.last, value - self.target
        inside = (trial > self.low) & (trial < self.high)
        holds = self.last <= 0
        np.copyto(self.low, trial, where=inside & holds)
        np.copyto(self.high, trial, where=inside & ~holds)

    def open_rows(self) -> NDArray[np.bool_]:
        """Where more than one batch is left to look at."""
        return self.high - self.low > 1

    def take(self, rows: Rows) -> _Bracket:
        """The same for some rows."""
        return _Bracket(*(part[rows] for part in (self.target, self.low, self.high, self.last, self.before)))


def largest_batches(quantities: Quantities, targets: Sequence[Values], most: Values) -> list[Values]:
    """For each quantity the largest whole batch in 0..most at which it is at most its target; 0 when one misses it.

    ``targets`` and ``most`` have one number a row. No quantity may decrease with the batch; NaN never holds. Not a
    formula: the result is proved in the workbook, where the target holds at this batch and fails, or another limit
    binds, at one more.
    """
    size = len(most)
    most = np.floor(np.nan_to_num(most))
    brackets = [
        _Bracket(np.broadcast_to(np.asarray(target, dtype=np.float64), size).copy(), np.zeros(size), most + 1,
                 np.full(size, np.nan), np.full(size, np.nan))
        for target in targets
    ]  # fmt: skip
    result = [np.zeros(size) for _ in targets]
    rows: Rows | None = None
    trial, earlier, turn = np.maximum(most, 1), np.zeros(size), 0
    with np.errstate(all="ignore"):
        while True:
            for bracket, value in zip(brackets, quantities(trial, rows), strict=True):
                bracket.learn(trial, value)
            unsettled = [bracket.open_rows() for bracket in brackets]
            left = np.logical_or.reduce(unsettled)
            number = int(np.count_nonzero(left))
            if number < WORTH_DROPPING * len(left):
                for found, bracket in zip(result, brackets, strict=True):
                    found[slice(None) if rows is None else rows] = bracket.low
                if not number:
                    return result
                kept = np.flatnonzero(left)
                rows = kept if rows is None else rows[kept]
                brackets, trial, earlier = [bracket.take(kept) for bracket in brackets], trial[kept], earlier[kept]
                unsettled = [each[kept] for each in unsettled]
            trial, earlier, turn = _trial(turn, trial, earlier, unsettled, brackets), trial, turn + 1


def _trial(
    turn: int, last: Values, before: Values, unsettled: Sequence[NDArray[np.bool_]], brackets: Sequence[_Bracket]
) -> Values:
    """The next batch of every row, for its first open quantity: where the straight line through the last two trials
    meets the target (most quantities are straight in pieces); the middle of the bracket where that leads outside, and
    every fourth time, since a queue near its limit is not straight."""
    low, high, value, earlier = (getattr(brackets[-1], name) for name in ("low", "high", "last", "before"))
    for now, bracket in zip(unsettled[-2::-1], brackets[-2::-1], strict=True):
        low, high = np.where(now, bracket.low, low), np.where(now, bracket.high, high)
        value, earlier = np.where(now, bracket.last, value), np.where(now, bracket.before, earlier)
    if turn == 0:
        return np.maximum(low, 1)
    middle = np.maximum(np.floor((low + high) / 2), 1)
    if turn % 4 == 0:
        return middle
    line = np.floor(last - value * ((last - before) / (value - earlier)))
    line = np.where(line == low, line + 1, line)
    return np.where((line > low) & (line < high), line, middle)

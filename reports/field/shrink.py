"""Fits few coefficients to few measurements: each leaves its shipped value only as far as the data insist.

The most probable values under normal errors of the logarithm (rows) and a normal prior around the shipped values
(coefficients), by Gauss-Newton steps. The prior is about as wide as machines differ, so two runs move little and fifty
decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.catalog.records import Catalog
from reports.field.predict import predict
from reports.field.rules import rule

Values = NDArray[np.float64]

QUANTILE_90 = 1.645
ROUNDS = 12
ENOUGH = 1e-4


@dataclass(frozen=True)
class Movable:
    """A coefficient that may move, where it starts, how far it may go, and how reluctantly.

    ``spread`` is the standard deviation of the logarithm, or of the value itself for an ``additive`` one.
    """

    name: str
    shipped: float
    low: float
    high: float
    spread: float
    additive: bool = False

    def value(self, point: float) -> float:
        """The coefficient at a distance of ``point`` from its shipped value, inside its bounds."""
        moved = self.shipped + point if self.additive else self.shipped * math.exp(point)
        return min(max(moved, self.low), self.high)


@dataclass(frozen=True)
class Shrunk:
    """Where the coefficients came to rest, with 90 % intervals."""

    values: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]


def shrink(
    rows: pd.DataFrame,
    catalog: Catalog,
    moving: Sequence[Movable],
    noise: float,
    fixed: Mapping[str, float] | None = None,
) -> Shrunk:
    """The most probable coefficients given the rows, which must all have a prediction.

    ``noise``: standard deviation of one row's logarithm.
    """
    doubt = rule("doubt_deviations")  # from there on a row pulls with constant force
    measured = np.log(rows["value"].to_numpy(dtype=float))
    spread = np.array([each.spread for each in moving])

    def predicted(point: Values) -> Values:
        values = {each.name: each.value(float(at)) for each, at in zip(moving, point, strict=True)}
        found = predict(rows, catalog, {**(fixed or {}), **values})["predicted"].to_numpy(dtype=float)
        return np.nan_to_num(np.log(found), nan=0.0)

    def cost(point: Values, errors: Values) -> float:
        size = np.abs(errors) / noise
        rows_cost = np.where(size < doubt, size**2, doubt * (2 * size - doubt)).sum()
        return float(rows_cost + ((point / spread) ** 2).sum())

    point = np.zeros(len(moving))
    now = predicted(point)
    for _ in range(ROUNDS):
        errors = measured - now
        slope = _slopes(predicted, point, now, spread)
        weight = np.minimum(1.0, doubt * noise / np.maximum(np.abs(errors), 1e-12)) / noise**2
        step = np.linalg.solve(
            (slope.T * weight) @ slope + np.diag(1 / spread**2), (slope.T * weight) @ errors - point / spread**2
        )
        begin = cost(point, errors)
        for _ in range(6):
            trial = predicted(point + step)
            if cost(point + step, measured - trial) <= begin:
                break
            step = step / 2
        else:
            break
        point, now = point + step, trial
        if np.all(np.abs(step) < ENOUGH * spread):
            break
    return _with_intervals(
        moving, point, _deviation(measured - now, _slopes(predicted, point, now, spread), spread, noise)
    )


def _slopes(predicted: object, point: Values, now: Values, spread: Values) -> Values:
    """Change of every logarithm with every coefficient, one at a time."""
    assert callable(predicted)
    columns = []
    for index, width in enumerate(spread):
        aside = point.copy()
        aside[index] += width / 10
        columns.append((predicted(aside) - now) / (width / 10))
    return np.stack(columns, axis=1)


def _deviation(errors: Values, slope: Values, spread: Values, noise: float) -> Values:
    """Standard deviations at rest; wider when the rows disagree more than their noise."""
    weight = np.minimum(1.0, rule("doubt_deviations") * noise / np.maximum(np.abs(errors), 1e-12)) / noise**2
    disagreement = max(float((weight * errors**2).sum() / len(errors)), 1.0)
    information = (slope.T * weight) @ slope / disagreement + np.diag(1 / spread**2)
    return np.sqrt(np.diag(np.linalg.inv(information)))


def _with_intervals(moving: Sequence[Movable], point: Values, deviation: Values) -> Shrunk:
    values, low, high = {}, {}, {}
    for each, at, width in zip(moving, point, deviation, strict=True):
        values[each.name] = each.value(float(at))
        low[each.name] = each.value(float(at - QUANTILE_90 * width))
        high[each.name] = each.value(float(at + QUANTILE_90 * width))
    return Shrunk(values, low, high)

"""What makes a function a formula: its unit, label, symbol and sources; and the two guarded roundings.

The closed list a formula's one expression may use: ``+ - * / **``, comparisons, the names of its parameters, the
constants of ``reports.constants``, the literals 0, 1 and 2, and ``np.minimum np.maximum np.where np.sqrt np.exp np.log
floor ceil binomial_tail normal_quantile normal_tail``. Each has a spreadsheet and a LaTeX form; anything
else is refused by the translator and by a test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reports.constants import ROUNDING_GUARD

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FormulaInfo:
    """What is known about a formula besides its arithmetic."""

    name: str
    unit: str
    label: str
    symbol: str
    sources: tuple[str, ...]
    inputs: tuple[str, ...]
    doc: str


Formula = Callable[..., Any]


def formula(*, unit: str, label: str, symbol: str = "", sources: Sequence[str] = ()) -> Callable[[Formula], Formula]:
    """Attach a formula's unit, English label (translated at rendering), LaTeX symbol and source ids; never wraps."""

    def attach(function: Formula) -> Formula:
        information = FormulaInfo(
            name=function.__name__,
            unit=unit,
            label=label,
            symbol=symbol,
            sources=tuple(sources),
            inputs=tuple(inspect.signature(function).parameters),
            doc=inspect.getdoc(function) or "",
        )
        function.info = information  # type: ignore[attr-defined]
        return function

    return attach


def info(function: Formula) -> FormulaInfo:
    """The record ``formula`` attached; a function without one is a programming error."""
    information: FormulaInfo = function.info  # type: ignore[attr-defined]
    return information


def floor(value: ArrayLike) -> Any:
    """Largest whole number not above ``value`` (>= 0), forgiving a relative error of 1e-9 from binary fractions."""
    return np.floor(np.multiply(value, 1 + ROUNDING_GUARD))


def ceil(value: ArrayLike) -> Any:
    """Smallest whole number not below ``value`` (>= 0), forgiving a relative error of 1e-9 from binary fractions."""
    return np.ceil(np.multiply(value, 1 - ROUNDING_GUARD))


def binomial_tail(least: ArrayLike, number: ArrayLike, share: ArrayLike) -> Any:
    """Probability that at least ``least`` of ``number`` independent things are up, each with probability ``share``.

    Whole numbers in; 1 when none is needed, 0 when more are needed than there are, NaN where an input is. The tail of
    the binomial distribution by the incomplete beta function (``scipy.special.bdtrc``).
    """
    from scipy.special import bdtrc

    wanted, count, up = np.broadcast_arrays(*(np.asarray(each, dtype=float) for each in (least, number, share)))
    known = np.isfinite(wanted) & np.isfinite(count) & np.isfinite(up)
    inside = known & (wanted >= 1) & (wanted <= count)
    n = np.where(inside, count, 1).astype(np.int64)
    k = np.where(inside, wanted - 1, 0)
    tail = np.where(wanted < 1, 1.0, np.where(inside, bdtrc(k, n, np.where(inside, up, 1.0)), 0.0))
    return np.where(known, tail, np.nan)


def normal_quantile(share: ArrayLike) -> Any:
    """How many standard deviations above its mean a normal distribution leaves ``share`` (0..1) of itself below.

    The inverse of the normal distribution function; NaN outside 0..1 and at the ends.
    """
    distinct, place = np.unique(np.asarray(share, dtype=float), return_inverse=True)
    inside = [NormalDist().inv_cdf(each) if 0 < each < 1 else np.nan for each in distinct.tolist()]
    return np.array(inside)[place].reshape(np.shape(share))[()]


def normal_tail(deviations: ArrayLike) -> Any:
    """Probability that a normal quantity lies more than so many standard deviations above its mean."""
    from scipy.special import ndtr

    return ndtr(-np.asarray(deviations, dtype=float))

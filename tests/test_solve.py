"""The search for the largest batch: exact on increasing quantities, whatever their shape, several at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.solve import Rows, Values, largest_batches


def searched(functions: list[Callable[[Values], Values]], targets: list[float], most: float) -> list[int]:
    """One row, several quantities."""

    def quantities(batch: Values, rows: Rows | None) -> list[Values]:
        return [function(batch) for function in functions]

    found = largest_batches(quantities, [np.array([each]) for each in targets], np.array([most]))
    return [int(each[0]) for each in found]


def holding(function: Callable[[Values], Values], target: float, most: int) -> int:
    """The slow answer: every batch tried."""
    every = np.arange(1, most + 1, dtype=float)
    with np.errstate(all="ignore"):
        good = every[function(every) <= target]
    return int(good[-1]) if len(good) else 0


@given(
    start=st.floats(0, 100),
    slope=st.floats(0, 5),
    curve=st.floats(0, 0.05),
    kink=st.integers(1, 2000),
    full=st.integers(1, 2000),
    target=st.floats(1, 200),
    most=st.integers(1, 3000),
)
def test_it_is_the_last_batch_that_holds(
    start: float, slope: float, curve: float, kink: int, full: int, target: float, most: int
) -> None:
    """A parabola, a line with a kink, and a queue that blows up where it is full (and stays there)."""
    functions = [
        lambda batch: start + slope * batch + curve * batch**2,
        lambda batch: start + np.maximum(kink, batch) * slope,
        lambda batch: start + 1 / np.maximum(1 - batch / full, 1e-6),
    ]
    found = searched(functions, [target] * 3, float(most))
    assert found == [holding(each, target, most) for each in functions]


def test_rows_are_independent() -> None:
    slopes = np.array([1.0, 10.0, 1000.0, 0.1])

    def quantities(batch: Values, rows: Rows | None) -> list[Values]:
        return [(slopes if rows is None else slopes[rows]) * batch]

    (found,) = largest_batches(quantities, [np.full(4, 100.0)], np.full(4, 512.0))
    assert found.tolist() == [100, 10, 0, 512]


@pytest.mark.parametrize("most", [1.0, 2.0, 255.0, 256.0, 257.0, 1024.0])
def test_the_bound_itself_is_reachable(most: float) -> None:
    assert searched([lambda batch: batch * 0], [1.0], most) == [most]


def test_a_missing_number_holds_nothing() -> None:
    assert searched([lambda batch: batch * np.nan, lambda batch: batch], [1.0, 7.0], 64.0) == [0, 7]


def test_no_batch_at_all_is_an_answer() -> None:
    assert searched([lambda batch: batch], [1.0], 0.0) == [0]
    assert searched([lambda batch: batch], [1.0], np.nan) == [0]


def test_nearly_straight_quantities_take_few_looks() -> None:
    """Bisection of 1,024 would need eleven looks; both ends of a line in two pieces are among these eight."""
    looks = 0

    def quantities(batch: Values, rows: Rows | None) -> list[Values]:
        nonlocal looks
        looks += 1
        return [20 + 0.1 * np.maximum(batch, 300)]

    (found,) = largest_batches(quantities, [np.array([65.04])], np.array([1024.0]))
    assert found[0] == 450  # 20 + 45.0 <= 65.04 < 20 + 45.1
    assert looks <= 8

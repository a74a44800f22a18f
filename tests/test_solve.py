"""The search for the largest batch: exact on increasing quantities, whatever their shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.solve import largest_batch


@given(
    start=st.floats(0, 100),
    slope=st.floats(0, 5),
    curve=st.floats(0, 0.05),
    target=st.floats(1, 200),
    most=st.integers(1, 3000),
)
def test_it_is_the_last_batch_that_holds(start: float, slope: float, curve: float, target: float, most: int) -> None:
    def quantity(batch: np.ndarray) -> np.ndarray:
        return start + slope * batch + curve * batch**2

    found = int(largest_batch(quantity, target, np.array([float(most)]))[0])
    every = np.arange(1, most + 1, dtype=float)
    holding = every[quantity(every) <= target]
    assert found == (int(holding[-1]) if len(holding) else 0)


def test_rows_are_independent() -> None:
    slopes = np.array([1.0, 10.0, 1000.0])
    found = largest_batch(lambda batch: slopes * batch, 100.0, np.array([512.0, 512.0, 512.0]))
    assert found.tolist() == [100, 10, 0]


@pytest.mark.parametrize("most", [1.0, 2.0, 255.0, 256.0, 257.0, 1024.0])
def test_the_bound_itself_is_reachable(most: float) -> None:
    assert largest_batch(lambda batch: batch * 0, 1.0, np.array([most]))[0] == most


def test_a_missing_number_holds_nothing() -> None:
    assert largest_batch(lambda batch: batch * np.nan, 1.0, np.array([64.0]))[0] == 0

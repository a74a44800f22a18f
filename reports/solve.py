"""The one search of the roofline: the largest whole batch that keeps an increasing quantity within its target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def largest_batch(quantity: Callable[[Values], Any], target: Any, most: Values) -> Values:
    """Largest whole batch in 0..most whose quantity is at most the target; 0 when one request already misses it.

    ``quantity`` must not decrease with the batch. Not a formula: the result is proved in the workbook, where the
    target holds at this batch and fails, or another limit binds, at one more.
    """
    low = np.zeros_like(most)
    high = np.asarray(most, dtype=np.float64) + 1
    for _ in range(int(np.ceil(np.log2(max(float(np.nanmax(most)), 1) + 1))) + 1):
        middle = np.floor((low + high) / 2)
        middle = np.maximum(middle, 1)
        holds = np.asarray(quantity(middle)) <= target
        low = np.where(holds, np.maximum(low, middle), low)
        high = np.where(holds, high, np.minimum(high, middle))
    return low

"""When requests arrive: at random, in bursts, as fast as others leave, or as a trace recorded them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def unit_gaps(count: int, scv: float, rng: np.random.Generator) -> Values:
    """Times between ``count`` arrivals, of mean 1, gamma distributed with a squared coefficient of variation.

    1 is a Poisson process, 0 a clock, more than 1 is bursty. The same generator state gives the same gaps, so that
    loads are compared on the same arrivals: divide by the rate.
    """
    if scv < 0:
        raise ValueError("a squared coefficient of variation is not negative")
    if scv == 0:
        return np.ones(count)
    return rng.standard_gamma(1 / scv, count) * scv


def open_loop(gaps: Values, requests_per_s: float) -> Values:
    """Arrival times in ms of requests that come at a rate, whatever leaves."""
    return np.cumsum(gaps) * (1000.0 / requests_per_s)


def at_once(count: int) -> Values:
    """A burst: everybody at time 0."""
    return np.zeros(count)


def staggered(in_flight: int, over_ms: float) -> Values:
    """The first requests of a closed loop, spread evenly over a time such as that of one request."""
    return np.linspace(0.0, over_ms, in_flight, endpoint=False)

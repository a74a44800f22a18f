"""Lengths: moments and percentiles worked by hand or from textbooks, and every class against its own quantiles."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from reports.scenario.lengths import Lengths
from reports.scenario.workload import Length

READ: TypeAdapter[Any] = TypeAdapter(Length)
FINE = (np.arange(2_000_000) + 0.5) / 2_000_000


def length(distribution: str, **numbers: Any) -> Lengths:
    found: Lengths = READ.validate_python({"distribution": distribution, **numbers})
    return found


def refused(distribution: str, **numbers: Any) -> str:
    with pytest.raises(ValidationError) as error:
        length(distribution, **numbers)
    return str(error.value)


def test_fixed_and_uniform_by_hand() -> None:
    fixed = length("fixed", tokens=512)
    assert (fixed.mean, fixed.p50, fixed.p95, fixed.p99, fixed.deviation) == (512, 512, 512, 512, 0)
    uniform = length("uniform", low=100, high=300)
    assert (uniform.mean, uniform.p50, uniform.p95, uniform.p99) == (200, 200, 290, 298)
    assert uniform.deviation == pytest.approx(200 / math.sqrt(12))


def test_a_normal_distribution_cut_at_zero_is_the_textbook_one() -> None:
    """scipy's truncated normal distribution, which is written independently, with the cut at (0 - 100) / 80."""
    cut = length("normal", mean=100, deviation=80)
    book = stats.truncnorm(-100 / 80, np.inf, loc=100, scale=80)
    assert cut.mean == pytest.approx(book.mean())
    assert cut.deviation == pytest.approx(book.std())
    assert [cut.p50, cut.p95, cut.p99] == pytest.approx(book.ppf([0.5, 0.95, 0.99]).tolist())
    assert length("normal", mean=1000, deviation=0).p99 == 1000


def test_a_log_normal_by_deviation_and_by_p95() -> None:
    """mean 100, deviation 100: s^2 = ln 2, median 100 / sqrt 2. With s = 1, mean 100: P95 = 100 exp(1.6449 - 1/2)."""
    by_deviation = length("lognormal", mean=100, deviation=100)
    assert by_deviation.p50 == pytest.approx(100 / math.sqrt(2))
    assert by_deviation.p95 == pytest.approx(100 / math.sqrt(2) * math.exp(1.6448536 * math.sqrt(math.log(2))))
    p95 = 100 * math.exp(NormalDist().inv_cdf(0.95) - 0.5)
    by_p95 = length("lognormal", mean=100, p95=p95)
    assert by_p95.deviation == pytest.approx(100 * math.sqrt(math.e - 1))  # s = 1
    assert by_p95.p50 == pytest.approx(100 * math.exp(-0.5))
    assert "386.8" in refused("lognormal", mean=100, p95=400)  # exp(1.6449^2 / 2) = 3.868
    assert "exactly one" in refused("lognormal", mean=100)
    assert "exactly one" in refused("lognormal", mean=100, p95=200, deviation=3)


def test_a_long_tail_with_the_ratio_of_the_exponential_distribution_is_it() -> None:
    """P95 = ln 20 x mean: Weibull with shape 1. Median ln 2, P99 ln 100, deviation 1, all times the mean."""
    tail = length("long_tail", mean=100, p95=100 * math.log(20))
    assert tail.p50 == pytest.approx(100 * math.log(2))
    assert tail.p99 == pytest.approx(100 * math.log(100))
    assert tail.deviation == pytest.approx(100)


def test_a_long_tail_beyond_what_one_weibull_reaches_is_the_documented_mixture() -> None:
    """Mean 100, P95 1000. The widest Weibull has P95 = 4.674 mean, so 1000 / 4.674 = 213.9; the other part has the mean
    0.05 x 1000 + 0.95 = 50.95; its share is (213.9 - 100) / (213.9 - 50.95) = 0.699, and 95 % of it are one token."""
    tail = length("long_tail", mean=100, p95=1000)
    drawn = tail.quantile(FINE)
    assert drawn.mean() == pytest.approx(100, rel=1e-3)
    assert np.quantile(drawn, 0.95, method="inverted_cdf") == pytest.approx(1000, rel=1e-3)
    assert (np.abs(drawn - 1) < 1e-9).mean() == pytest.approx(0.699 * 0.95, abs=1e-3)
    assert (np.abs(drawn - 1000) < 1e-6).mean() == pytest.approx(0.699 * 0.05, abs=1e-3)
    assert tail.deviation == pytest.approx(drawn.std(), rel=1e-2)


def test_no_lengths_have_a_p95_of_twenty_means() -> None:
    """5 % at P95 = 200 and 95 % at one token have the mean 10.95: less is impossible."""
    assert length("long_tail", mean=10.96, p95=200).p95 == 200
    assert "10.95" in refused("long_tail", mean=10.95, p95=200)
    assert "below mean" in refused("long_tail", mean=512, p95=100)


@pytest.mark.property
@given(mean=st.floats(2, 1e5), ratio=st.floats(1, 19))
def test_a_long_tail_has_the_mean_and_p95_it_was_given(mean: float, ratio: float) -> None:
    least = 0.05 * mean * ratio + 0.95
    if mean <= least * 1.0001:
        return
    tail = length("long_tail", mean=mean, p95=mean * ratio)
    u = 1 - 0.5 ** np.linspace(0.001, 45, 200_001)  # dense where the tail is
    drawn = tail.quantile(u)
    assert np.all(np.diff(drawn) >= -1e-9 * drawn[1:])
    assert np.trapezoid(drawn, u) == pytest.approx(mean, rel=2e-3)
    assert float(tail.quantile(np.float64(0.95))) == pytest.approx(mean * ratio, rel=1e-6)
    assert float(tail.quantile(np.float64(0.9499))) <= mean * ratio * (1 + 1e-9)


def test_a_histogram_by_hand() -> None:
    """Bins 0-10 (share 1/4) and 100-200 (3/4), an empty one between: mean 5/4 + 150 x 3/4 = 113.75; P50 lies a third
    into the last bin; second moment 100/3/4 + (100^2 + 100 x 200 + 200^2)/3 x 3/4 = 8.333 + 17500."""
    found = length("histogram", edges=[0, 10, 100, 200], weights=[10, 0, 30])
    assert found.mean == pytest.approx(113.75)
    assert found.p50 == pytest.approx(100 + 100 / 3)
    assert found.p95 == pytest.approx(100 + 100 * (0.70 / 0.75))
    assert found.deviation == pytest.approx(math.sqrt(25 / 3 + 17500 - 113.75**2))
    assert "3 edges and 1 weights" in refused("histogram", edges=[1, 2, 3], weights=[1])
    assert "do not ascend" in refused("histogram", edges=[1, 3, 2], weights=[1, 1])
    assert "all weights are 0" in refused("histogram", edges=[1, 2], weights=[0])
    assert "below one token" in refused("histogram", edges=[0, 1], weights=[1])
    assert refused("histogram", edges=[1, 2], weights=[-1])


def test_percentiles_hold_exactly_and_so_does_the_mean() -> None:
    """The published lengths of the Azure code trace; their curve between the percentiles follows from the mean."""
    stated = {"p25": 578, "p50": 1469, "p75": 2744, "p90": 5187, "p95": 7303, "p99": 7436, "max": 7437}
    found = length("percentiles", mean=2047.8, **stated)
    at = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
    for name, share in at.items():
        assert float(found.quantile(np.float64(share))) == pytest.approx(stated[name])
    drawn = found.quantile(FINE)
    assert drawn.mean() == pytest.approx(2047.8, rel=1e-6)
    assert found.deviation == pytest.approx(drawn.std(), rel=1e-6)
    assert found.deviation == pytest.approx(1974, rel=0.02)  # what the 8,819 requests themselves have
    # half at most 50 and a twentieth above 300: the mean is at least 0.5 x 1 + 0.45 x 50 + 0.04 x 300 + 0.01 x 400 = 39
    assert "between 39" in refused("percentiles", mean=30, p50=50, p95=300, p99=400)
    assert "do not ascend" in refused("percentiles", mean=100, p50=50, p95=300, p99=200)


@pytest.mark.parametrize(
    ("distribution", "numbers"),
    [
        ("uniform", {"low": 10, "high": 20}), ("normal", {"mean": 300, "deviation": 200}),
        ("lognormal", {"mean": 300, "p95": 900}), ("long_tail", {"mean": 300, "p95": 900}),
        ("histogram", {"edges": [1, 50, 4000], "weights": [3, 1]}),
        ("percentiles", {"mean": 100, "p50": 60, "p95": 300, "p99": 700}),
    ],
)  # fmt: skip
def test_mean_and_deviation_are_those_of_what_is_drawn(distribution: str, numbers: dict[str, Any]) -> None:
    found = length(distribution, **numbers)
    drawn = found.quantile(FINE)
    assert drawn.shape == FINE.shape
    assert drawn.mean() == pytest.approx(found.mean, rel=1e-3)
    assert drawn.std() == pytest.approx(found.deviation, rel=5e-3)
    assert np.all(np.diff(drawn) >= 0)
    assert [found.p50, found.p95, found.p99] == pytest.approx(np.quantile(drawn, [0.5, 0.95, 0.99]).tolist(), rel=1e-3)

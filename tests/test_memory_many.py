"""How many requests memory holds when they differ: worked by hand, and what must hold whatever the numbers."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.field.leaves import fixed_lengths
from reports.formulas.memory import (
    full_length_flag,
    kv_deviation_gib,
    kv_planned_gib,
    kv_request_gib,
    kv_running_gib,
    kv_spread_gib,
    memory_p95_requests,
    memory_requests,
    preemption_z,
)
from reports.formulas.meta import normal_quantile
from reports.formulas.model_shape import resident_tokens
from reports.render.translate import to_excel, to_latex

PLAUSIBLE = st.floats(0.01, 10)


def held(room: float, mean: float, spread: float, groups: float = 1, longest: float = 0.0) -> float:
    return float(memory_requests(room, longest, mean, spread, groups))


def test_the_root_by_hand() -> None:
    """100 GiB, 1 GiB a request, 2 GiB for each root of a request: 80 + 2 sqrt(80) = 97.9, 81 + 18 = 99, 82 + 18.1."""
    assert held(100, 1, 2) == 81
    assert 81 + 2 * 81**0.5 <= 100 < 82 + 2 * 82**0.5


def test_an_exact_solution_is_not_lost_to_a_binary_fraction() -> None:
    """64 + 4 x 8 = 96: exactly 64 requests, in two attention groups twice as many."""
    assert held(96, 1, 4) == 64
    assert held(96, 1, 4, groups=2) == 128


@given(room=st.floats(0.1, 1000), mean=PLAUSIBLE, spread=st.floats(0, 10))
def test_the_largest_number_that_fits(room: float, mean: float, spread: float) -> None:
    number = held(room, mean, spread)
    slack = 1e-6 * room
    assert number * mean + spread * number**0.5 <= room + slack
    assert (number + 1) * mean + spread * (number + 1) ** 0.5 > room - slack


@given(room=st.floats(0.1, 1000), mean=PLAUSIBLE)
def test_requests_that_do_not_differ_give_the_simple_quotient(room: float, mean: float) -> None:
    assert held(room, mean, 0) == np.floor(room / mean * (1 + 1e-9))


@given(room=st.floats(0.1, 1000), mean=PLAUSIBLE, spread=st.floats(0, 5), more=st.floats(0, 5))
def test_more_spread_or_less_room_never_hold_more(room: float, mean: float, spread: float, more: float) -> None:
    assert held(room, mean, spread + more) <= held(room, mean, spread)
    assert held(room / (1 + more), mean, spread) <= held(room, mean, spread)


def test_a_long_request_that_fits_nowhere_is_never_answered() -> None:
    """P95 needs 12 GiB, 10 are left: none, though ten of mean length would fit."""
    assert held(10, 1, 0, longest=12) == 0
    assert held(12, 1, 0, longest=12) == 12


def test_the_cautious_answer_counts_everybody_as_long() -> None:
    """100 GiB and 4 GiB at P95: 25 in each of two groups, where 81 of mean length and their spread fit."""
    assert memory_p95_requests(100.0, 4.0, 2.0) == 50


def test_what_a_request_holds_by_hand() -> None:
    """65,536 elements a token at 2 bytes, two ranks with half each: 1,024 tokens are 64 MiB a card; a stage holds half
    of the layers; a state of 2^20 elements at 4 bytes over two ranks adds 2 MiB."""
    gib = 2.0**30
    assert kv_running_gib(1024 * 65_536, 2, 0.5, 0, 0, 2, 1) == 64 * 2**20 / gib
    assert kv_running_gib(1024 * 65_536, 2, 0.5, 2**20, 4, 2, 1) == 66 * 2**20 / gib
    assert kv_request_gib(1024 * 65_536, 2, 0.5, 2**20, 4, 2, 2) == 33 * 2**20 / gib
    assert kv_deviation_gib(1024 * 65_536, 2, 0.5, 2) == 32 * 2**20 / gib


def test_who_counts_the_whole_length() -> None:
    """A burst, and engines that admit only what surely finishes: the mean at its end, and no spread."""
    assert [float(full_length_flag(*each)) for each in ((0, 0), (1, 0), (0, 1), (1, 1))] == [0, 1, 1, 1]
    assert float(kv_planned_gib(1, 3.0, 2.0)) == 3
    assert float(kv_planned_gib(0, 3.0, 2.0)) == 2
    assert float(kv_spread_gib(1, 1.645, 0.5)) == 0
    assert float(kv_spread_gib(0, 2.0, 0.5)) == 1


def test_caution_is_the_normal_quantile() -> None:
    """Tables: 1.6449 for 5 %, 2.3263 for 1 %, 0 for one half. Nothing below 0 or at the ends."""
    assert preemption_z(0.05) == pytest.approx(1.6449, abs=1e-4)
    assert preemption_z(0.01) == pytest.approx(2.3263, abs=1e-4)
    assert preemption_z(0.5) == 0
    found = normal_quantile(np.array([[0.0, 0.975], [1.0, np.nan]]))
    assert found.shape == (2, 2)
    assert found[0, 1] == pytest.approx(1.95996, abs=1e-5)
    assert np.isnan(found[[0, 1, 1], [0, 0, 1]]).all()
    assert to_excel(preemption_z, lambda name: "A1") == "NORMSINV(1-A1)"
    assert to_latex(preemption_z, lambda name: "p") == r"\Phi^{-1}\left(1 - p\right)"


def test_a_moment_finds_more_long_answers_than_their_share() -> None:
    """Half of the answers have 100 tokens, half 300: mean 200, deviation 100. Three quarters of the time is spent on
    long ones, which hold 150 on average, a quarter on short ones with 50: 125 = 200 (1 + 1/4) / 2."""
    assert resident_tokens(1000.0, 200.0, 100.0) == 1000 + 0.75 * 150 + 0.25 * 50
    assert resident_tokens(1000.0, 200.0, 0.0) == 1100


def shape(tokens: float, answer: float, window: float) -> dict[str, Any]:
    return fixed_lengths({
        "input_mean_tokens": np.float64(tokens), "output_mean_tokens": np.float64(answer),
        "kv_elements_per_token_full_layers": np.float64(2), "kv_elements_per_token": np.float64(5),
        "sliding_window_tokens": np.float64(window),
    })  # fmt: skip


def test_measured_rows_of_fixed_lengths() -> None:
    """Mean I + O/2, deviation O / sqrt(12), while no window is full; 5 elements a token."""
    made = shape(100, 60, 1000)
    assert made["resident_kv_elements"] == pytest.approx(5 * 130)
    assert made["resident_deviation_kv_elements"] == pytest.approx(5 * 60 / 12**0.5)
    assert made["full_kv_elements"] == 5 * 160


@given(tokens=st.integers(1, 300), answer=st.integers(1, 300), window=st.integers(1, 700))
def test_windows_by_counting(tokens: int, answer: int, window: int) -> None:
    """Against the average over 4,000 moments of an answer."""
    moments = tokens + answer * (np.arange(4000) + 0.5) / 4000
    elements = 2 * moments + 3 * np.minimum(moments, window)
    made = shape(tokens, answer, window)
    assert made["resident_kv_elements"] == pytest.approx(elements.mean(), rel=1e-6)
    assert made["resident_deviation_kv_elements"] == pytest.approx(elements.std(), rel=1e-4, abs=1e-4)
    assert made["full_kv_elements"] == 2 * (tokens + answer) + 3 * min(tokens + answer, window)


def test_the_spread_is_that_of_a_simulated_sum() -> None:
    """Forty requests with 800 + U(0, 400) tokens each, drawn 20,000 times: the 95th percentile of what they hold
    together is the mean and 1.645 deviations of one times the root of forty, to a fifth of a percent."""
    drawn = np.random.default_rng(5).uniform(800, 1200, (20_000, 40)).sum(axis=1)
    made = shape(800, 400, 1e9)
    bound = 40 * made["resident_kv_elements"] / 5 + NormalDist().inv_cdf(0.95) * 40**0.5 * (
        made["resident_deviation_kv_elements"] / 5
    )
    assert np.quantile(drawn, 0.95) == pytest.approx(bound, rel=0.002)

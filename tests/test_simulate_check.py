"""From an option's formulas to its simulation and back: step times, loads, intervals, and who decides."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports.catalog.records import Catalog
from reports.evaluate import evaluate
from reports.matrix import expand
from reports.methods import METHODS
from reports.recommend import conclude
from reports.scenario.read import read_scenario
from reports.simulate import arrivals, trial
from reports.simulate.demand import Stream, fitted
from reports.simulate.engine import Engines, Memory, Requests, StepModel, simulate
from reports.simulate.limits import limit_for
from reports.simulate.statistics import interval, requests_needed, statistic_of, warm_up
from reports.simulate.step_model import Unit, longest, units
from reports.simulate.trial import Case, Pattern, Target, decided, largest_load, run_all

METHOD = METHODS["roofline"]


@pytest.fixture(scope="module")
def feasible(catalog: Catalog, repository: Path) -> Any:
    """Feasible candidates of the shipped scenario, layouts of every kind among them."""
    scenario = read_scenario(repository / "scenarios" / "monthly-procurement.yaml", catalog)
    frame = conclude(evaluate(expand(scenario, catalog, METHOD), METHOD), METHOD.name)
    return frame[frame["feasible"]].reset_index(drop=True)


def test_a_simulated_step_takes_what_the_formula_says(feasible: Any) -> None:
    several = feasible[(feasible["data_parallel"] > 1) | (feasible["pipeline_parallel"] > 1)]
    rows = pd.concat([feasible.iloc[:: len(feasible) // 40], several.iloc[:: len(several) // 20]], ignore_index=True)
    for row, unit in zip(rows.to_dict("records"), units(METHOD, rows), strict=True):
        step, lanes = unit.engines.step, row["data_parallel"] * row["pipeline_parallel"]
        assert unit.lanes == lanes
        assert unit.engines.count == lanes * row["replicas"]
        # the load is whole requests of a replica, the table whole requests of an engine: in between it is read off
        batch = row["load_requests"] / lanes
        table = float(np.interp(batch, np.arange(len(step.decode_ms)), step.decode_ms))
        assert table == pytest.approx(row["step_ms"], rel=1e-9 if batch.is_integer() else 5e-3)
        prompt = row["input_mean_tokens"]
        squares = prompt**2 + row["input_deviation_tokens"] ** 2  # the mean of squares, not the square of the mean
        spent = step.prefill_ms_per_token * prompt + step.prefill_ms_per_token_squared * squares
        assert spent == pytest.approx(row["prefill_ms"], rel=1e-9)


def test_context_costs_what_the_formula_charges_for_it(feasible: Any) -> None:
    """Twice the resident tokens through the whole chain is what the step model charges a batch of such contexts."""
    rows = feasible.iloc[:5]
    (first, *_rest) = units(METHOD, rows)
    row, step = rows.iloc[0], first.engines.step
    batch = len(step.decode_ms) - 1
    # kv bytes of a token over the bandwidth that reads reach: the attention term of one layer set, by hand
    per_token_ms = (
        row["kv_elements_per_token_full_layers"] * row["kv_bytes_per_element"] / 1e9
        / (min(row["tensor_parallel"], row["kv_heads"]) * row["memory_bandwidth_gb_per_s"] * row["eta_kv"]) * 1000
    )  # fmt: skip
    assert step.context_ms_per_token == pytest.approx(per_token_ms, rel=1e-6)
    assert step.decode_ms[batch] > batch * step.context_ms_per_token * step.context_mean_tokens


def test_memory_holds_in_the_simulation_what_it_holds_in_the_formula(feasible: Any) -> None:
    rows = feasible.iloc[:: max(len(feasible) // 50, 1)]
    for row, unit in zip(rows.to_dict("records"), units(METHOD, rows), strict=True):
        memory = unit.engines.memory
        # one request at its end by the formula, in the elements that the simulation counts
        elements = row["full_kv_elements"] + memory.constant
        fits = memory.capacity / elements * unit.lanes
        assert fits == pytest.approx(row["kv_room_gib"] / row["kv_request_gib"] * row["data_parallel"], rel=1e-9)
        tokens = row["input_mean_tokens"] + row["output_mean_tokens"]
        assert memory.held(int(tokens)) == pytest.approx(elements, rel=16 / tokens)  # a page more or less
        assert memory.held(unit.most_tokens) <= memory.capacity < memory.held(unit.most_tokens + 1)


class Fixed:
    """A stream of requests of one length that arrive at random."""

    def __init__(self, repeat: int, prompt: int = 200, answer: int = 100, scv: float = 1.0) -> None:
        self.repeat, self.prompt, self.answer, self.scv = repeat, prompt, answer, scv

    def first(self, count: int) -> Any:
        from reports.simulate.arrivals import unit_gaps
        from reports.simulate.demand import Drawn

        gaps = unit_gaps(count, self.scv, np.random.default_rng(self.repeat))
        lengths = np.full(count, self.prompt), np.full(count, self.answer)
        return Drawn(*lengths, np.zeros(count, np.int64), gaps)


OPEN = Pattern()


def case(target: Target, *, pattern: Pattern = OPEN, replicas: int = 1, **stream: Any) -> Case:
    """A replica whose step takes 10 ms + 0.1 ms a request, and the time of a request that follows from it."""
    step = StepModel(10 + 0.1 * np.arange(201), prefill_ms_per_token=0.02, least_prefill_ms=8.0)
    memory = Memory(capacity=60_000, page_tokens=16)
    unit = Unit(Engines(step, memory, count=replicas, route="least-loaded", most_running=200), replicas, 1,
                longest(memory))  # fmt: skip
    load = np.maximum(np.arange(301), 1)
    # a step at this load, and in each step the prompts of those that arrive in it (4 ms each): 1 / (1 - rate x 4 ms)
    decode = 100 * (10 + 0.1 * load)
    request_ms = 20 + decode + load * 4
    return Case(unit, tuple(Fixed(index, **stream) for index in range(20)), (target,), request_ms / 1000, pattern)


def test_the_load_of_the_closed_form_runs_in_the_simulation() -> None:
    for replicas in (1, 3):
        (result,) = run_all([(case(Target("tpot_ms", "mean", 100.0), replicas=replicas), 50.0)], 3)
        running = result.estimates["running_requests", "mean"].mean
        assert running + result.estimates["queue_requests", "mean"].mean == pytest.approx(50, rel=0.06)
        # Little's law from outside: rate x time of a request
        stay = result.estimates["answer_ms", "mean"].mean / 1000
        assert result.requests_per_s * stay == pytest.approx(50, rel=0.06)
    (closed,) = run_all([(case(Target("tpot_ms", "mean", 100.0), pattern=Pattern(closed=True)), 50.0)], 3)
    together = closed.estimates["running_requests", "mean"].mean + closed.estimates["queue_requests", "mean"].mean
    assert together == pytest.approx(50, rel=0.02)


def test_the_largest_load_is_found_and_the_simulation_decides() -> None:
    # TPOT at b requests is about 10 + 0.1 b + 0.04 b ms: 20 ms are kept up to b = 71 by hand
    found = case(Target("tpot_ms", "mean", 20.0))
    (at_150,) = decided([(found, 150.0)])
    assert at_150.misses(found.targets[0])
    largest = largest_load(found, 150)
    assert 60 <= largest <= 80
    (there,) = decided([(found, float(largest))])
    assert not there.misses(found.targets[0])
    assert largest_load(case(Target("tpot_ms", "mean", 5.0)), 150) == 0  # not even one request: 10.1 ms
    again = largest_load(case(Target("tpot_ms", "mean", 20.0)), 150)
    assert again == largest


def test_bursts_and_tails_cost_load() -> None:
    calm, bursty = (largest_load(case(Target("ttft_ms", "p99", 60.0), scv=scv, prompt=1000), 150) for scv in (1.0, 9.0))
    assert bursty < calm


def test_same_result_every_time_and_whatever_else_is_simulated() -> None:
    one = case(Target("ttft_ms", "p95", 60.0))
    (alone,) = run_all([(one, 40.0)], 3)
    beside = run_all([(case(Target("ttft_ms", "p95", 60.0), scv=4.0), 80.0), (one, 40.0)], 3)[1]
    assert alone == beside


def test_intervals_by_hand() -> None:
    # mean 3, deviation 1.5811, t(4, 97.5 %) = 2.776: 3 -+ 2.776 x 1.5811 / sqrt 5 = 1.963
    assert interval([1, 2, 3, 4, 5]) == pytest.approx((3, 1.037, 4.963), abs=1e-3)
    # logarithms 0, 1, 2 in tens: mean 1, deviation 1, t(2, 97.5 %) = 4.303 -> 10^(1 -+ 2.484)
    assert interval([1, 10, 100], positive=True) == pytest.approx((10, 10**-1.484, 10**3.484), rel=2e-3)
    assert interval([7.0]) == (7.0, -math.inf, math.inf)


def test_how_many_requests_and_what_is_cut() -> None:
    assert requests_needed("p99") == 4000  # 40 beyond one in a hundred
    assert requests_needed("p95") == 1000  # 800 would do; at least 1,000
    assert requests_needed("mean") == 1000
    assert warm_up(200) == 600  # three request times, in each of which as many arrive as are there
    assert statistic_of(np.array([1.0, 2.0, 3.0, math.nan]), "mean") == 2.0
    assert statistic_of(np.arange(101.0), "p95") == 95.0
    assert trial.LATENCIES == ("ttft_ms", "tpot_ms", "answer_ms")


@pytest.mark.parametrize("safety", [0.5, 0.7, 0.75, 0.8, 0.9, 1.0])
def test_the_limit_leads_to_the_load(safety: float) -> None:
    from reports.formulas.limits import recommended_requests

    for load in range(1, 400):
        assert recommended_requests(limit_for(load, safety), safety) == load
    assert limit_for(0, safety) == 0


def test_as_many_requests_as_memory_is_said_to_hold_overflow_as_often_as_accepted(
    feasible: Any, catalog: Catalog, repository: Path
) -> None:
    """B requests fit when B mu + z sigma sqrt(B) is within memory, z from the accepted probability."""
    scenario = read_scenario(repository / "scenarios" / "monthly-procurement.yaml", catalog)
    services = {each.name: each for each in scenario.service_axis}
    plain = (feasible["data_parallel"] == 1) & (feasible["pipeline_parallel"] == 1)
    rows = feasible[plain & feasible["memory_requests"].between(60, 120)].reset_index(drop=True)
    rows = rows.iloc[:: max(len(rows) // 4, 1)].reset_index(drop=True)
    shares = []
    for row, unit in zip(rows.to_dict("records"), units(METHOD, rows), strict=True):
        batch = int(row["memory_requests"])
        count = 600 * batch
        drawn, _cut = fitted(Stream(services[row["service"]], 0).first(count), unit.most_tokens)
        watched = replace(unit.engines.memory, capacity=math.inf, watched=unit.engines.memory.capacity)
        engines = Engines(StepModel(np.full(batch + 1, 10.0)), watched, most_running=batch, chunk_tokens=1_000_000)
        arrival = np.concatenate([arrivals.staggered(batch, 3000.0), np.zeros(count - batch)])
        requests = Requests(arrival, drawn.input_tokens, drawn.output_tokens, drawn.cached_tokens, batch, count)
        outcome = simulate(engines, requests, measure=slice(10 * batch, count - 2 * batch))
        assert outcome.memory_used == pytest.approx(batch * (row["resident_kv_elements"] + watched.constant), rel=0.05)
        shares.append(outcome.memory_over_share)
    accepted = rows["preemption_probability"].iloc[0]
    assert accepted == 0.05
    # the normal law is near at a hundred requests with a long tail, not exact
    assert all(0.2 * accepted < share < 2 * accepted for share in shares), shares
    assert np.mean(shares) == pytest.approx(accepted, rel=0.5)

"""How many requests a second the simulation runs on one core: answers of 500 tokens at several loads.

``make bench`` appends one line a load to simulate.md beside this file; ``--plain`` measures the same loop without the
compiler, which is what it was chosen against.
"""

from __future__ import annotations

import datetime
import math
import sys
import time
from pathlib import Path

if "--plain" in sys.argv:
    sys.modules["numba"] = None  # type: ignore[assignment] - import fails, as where there is no compiler

import numpy as np
from bench_matrix import processor

from reports.simulate import arrivals
from reports.simulate.engine import Engines, Memory, Outcome, Requests, StepModel, simulate

RESULTS = Path(__file__).resolve().parent / "simulate.md"
ANSWER, PROMPT = 500, 1000
LOADS = (8, 64, 256)
"""Requests that run at once."""
REPEATS = 3


def run(load: int, count: int) -> Outcome:
    """``count`` requests at a load of a card that takes 10 ms and 0.03 ms a request for a step, 20 ms for a prompt."""
    step = StepModel(
        10 + 0.03 * np.arange(1025),
        prefill_ms_per_token=0.02,
        least_prefill_ms=8.0,
        context_ms_per_token=1e-5,
        context_mean_tokens=PROMPT + ANSWER / 2,
    )
    engines = Engines(step, Memory(capacity=2.0 * load * (PROMPT + ANSWER), page_tokens=16))
    # a step at this load takes this long, and so much of the time goes to prompts
    decode_ms = 10 + 0.03 * load
    rate_per_ms = load / (ANSWER * decode_ms + load * PROMPT * 0.02)
    rng = np.random.default_rng(1)
    arrival = arrivals.open_loop(arrivals.unit_gaps(count, 1.0, rng), rate_per_ms * 1000)
    lengths = np.full(count, PROMPT), np.maximum(1, rng.geometric(1 / ANSWER, count))
    return simulate(engines, Requests(arrival, *lengths))


def measured(load: int, count: int) -> str:
    """One line of the results."""
    best = math.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        outcome = run(load, count)
        best = min(best, time.perf_counter() - started)
    how = "plain Python" if "--plain" in sys.argv else "compiled"
    return (
        f"| {datetime.date.today()} | {load} | {outcome.running:.0f} | {count:,} | {outcome.output_tokens.mean():.0f} "
        f"| {how} | {best:.2f} | {count / best:,.0f} | {processor().split(', ')[0]}, one core; Python "
        f"{sys.version.split()[0]} |"
    )


def main() -> None:
    """Compile, measure, print the lines, append them to the results."""
    started = time.perf_counter()
    run(1, 10)
    print(f"ready after {time.perf_counter() - started:.1f} s (first run: compiling; later: reading the cache)")
    for load in LOADS:
        line = measured(load, 2_000 if "--plain" in sys.argv else 50_000)
        print(line, flush=True)
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()

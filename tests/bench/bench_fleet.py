"""How long a plan of a hundred services on a dozen kinds of card takes on one core, and how near the best it is.

``make bench`` appends a line to fleet.md beside this file. Models and demands are drawn with a fixed seed; a third of
the cards are there already, the room limits what can be bought.
"""

from __future__ import annotations

import datetime
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy

from reports import recommend
from reports.catalog.read import read_catalog
from reports.evaluate import evaluate
from reports.fleet.packing import used_machines
from reports.fleet.plan import question
from reports.fleet.program import least_cost
from reports.fleet.proof import proof
from reports.matrix import expand
from reports.methods import METHODS
from reports.pipeline import LATER
from reports.plan import spares
from reports.scenario.read import read_scenario

RESULTS = Path(__file__).resolve().parent / "fleet.md"
SERVICES, SEED = 100, 11
MODELS = (
    "qwen3-4b", "qwen2.5-7b-instruct", "qwen3-8b", "qwen3-14b", "qwen3-30b-a3b", "qwen3-32b", "qwen2.5-72b-instruct",
    "llama-3.3-70b-instruct", "glm-4.5-air", "qwen3-235b-a22b",
)  # fmt: skip
GPUS = (
    "h20-96gb", "h20-141gb", "h100-sxm5-80gb", "h200-sxm-141gb", "a100-sxm4-80gb", "a100-pcie-80gb", "h100-pcie-80gb",
    "l40s", "l20", "rtx-4090", "rtx-5090", "b200-sxm-180gb",
)  # fmt: skip


def text() -> str:
    """The scenario."""
    draw = np.random.default_rng(SEED)
    services = "\n".join(
        f"  - {{name: s{number}, model: {draw.choice(MODELS)}, tier: {draw.integers(1, 4)}, "
        f"demand: {{peak_concurrency: {round(float(np.exp(draw.normal(4.5, 1.2))) + 1)}}}}}"
        for number in range(SERVICES)
    )
    fleet = "\n".join(f"  - {{gpu: {gpu}, cards: {8 * int(draw.integers(1, 8))}}}" for gpu in GPUS[::3])
    return f"""\
title: {{en: Bench}}
period: 2026-11
currency: CNY
region: china
workload:
  input_tokens: {{distribution: long_tail, mean: 800, p95: 3000}}
  output_tokens: {{distribution: long_tail, mean: 300, p95: 900}}
targets: {{tpot_ms: 50, ttft_ms: 3000}}
services:
{services}
matrix:
  quantization: [fp8, int8]
  gpu: [{", ".join(GPUS)}]
  count: [1, 2, 4, 8]
  interconnect: [nvlink, pcie]
prices: {{regions: [china, global]}}
fleet:
{fleet}
room: {{power_kw: 500, racks: 40, kw_per_rack: 30, units_per_rack: 42}}
"""


def main() -> None:
    """Plan once, print the line, append it to the results."""
    catalog = read_catalog()
    method = METHODS["roofline"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bench.yaml")
        path.write_text(text(), encoding="utf-8")
        scenario = read_scenario(path, catalog)
    candidates = evaluate(expand(scenario, catalog, method), method, later=LATER)
    candidates = spares.size(recommend.conclude(candidates, method.name))
    started = time.perf_counter()
    problem, ways = question(scenario, catalog, candidates)
    asked = time.perf_counter()
    allocation, placement = least_cost(problem)
    solved = time.perf_counter()
    assert proof(problem, placement, used_machines(problem, placement))["holds"].all()
    line = (
        f"| {datetime.date.today()} | {len(problem.services)} | {len(scenario.matrix.gpu)} | {len(ways):,} | "
        f"{asked - started:.1f} | {solved - asked:.1f} | {allocation.status} | {allocation.gap:.2%} | "
        f"one core; Python {platform.python_version()}, SciPy {scipy.__version__} |"
    )
    print(line, flush=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    main()

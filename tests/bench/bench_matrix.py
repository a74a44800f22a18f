"""How many candidates a second the matrix evaluates, on all cores: 10,000 and 1,000,000 rows after layouts.

``make bench`` appends one line a size to results.md beside this file. A row is one layout of one candidate, with its
search for the largest batch, every column of the method and, for the layout that is kept, its readable id.
"""

from __future__ import annotations

import datetime
import math
import os
import platform
import resource
import sys
import time
from pathlib import Path

import numpy as np

from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.evaluate import evaluate
from reports.matrix import Space, expand
from reports.methods import METHODS
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

HERE = Path(__file__).resolve().parent
SCENARIO = HERE.parent.parent / "scenarios" / "monthly-procurement.yaml"
RESULTS = HERE / "results.md"
SIZES = (10_000, 1_000_000)
REPEATS = 3
METHOD = METHODS["roofline"]


def matrix_of(scenario: Scenario, models: list[str], gpus: list[str]) -> Scenario:
    """The shipped scenario with other models and cards."""
    matrix = scenario.matrix.model_copy(
        update={"model": tuple(models), "gpu": tuple(gpus), "quantization_by_model": {}}
    )
    return scenario.model_copy(update={"matrix": matrix})


def rows(space: Space) -> int:
    """Layout rows that evaluating a space visits."""
    return int(space.layouts.size[space.group].sum())


def scenario_of_size(scenario: Scenario, catalog: Catalog, wanted: int) -> Scenario:
    """Models and cards of the catalog, cut (or the models repeated) so that about ``wanted`` rows result."""
    models, gpus = list(catalog.models), list(catalog.gpus)
    a_model = rows(expand(matrix_of(scenario, models[:1], gpus), catalog, METHOD))
    if wanted < a_model:
        return matrix_of(scenario, models[:1], gpus[: max(round(len(gpus) * wanted / a_model), 1)])
    repeats = math.ceil(wanted / a_model)
    return matrix_of(scenario, [models[index % len(models)] for index in range(repeats)], gpus)


def processor() -> str:
    """The processor's name, without the machine's."""
    try:
        names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]  # fmt: skip
    except OSError:
        names = []
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores, all used"


def measured(scenario: Scenario, catalog: Catalog) -> str:
    """One line of the results: rows, candidates, columns, seconds, rows a second, peak memory."""
    best = math.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        space = expand(scenario, catalog, METHOD)
        frame = evaluate(space, METHOD)
        best = min(best, time.perf_counter() - started)
        count, (candidates, columns) = rows(space), frame.shape
        del space, frame
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return (
        f"| {datetime.date.today()} | {count:,} | {candidates:,} | {columns} | {best:.2f} | {count / best:,.0f} | "
        f"{peak_mb:,.0f} | {processor()}; Python {platform.python_version()}, NumPy {np.__version__} |"
    )


def main() -> None:
    """Measure each size on all cores, print the lines, append them to the results."""
    catalog = read_catalog()
    scenario = read_scenario(SCENARIO, catalog)
    for wanted in SIZES:
        line = measured(scenario_of_size(scenario, catalog, wanted), catalog)
        print(line, flush=True)
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()

"""What an impossible fleet lacks: each resource loosened alone, then all together, by the least that will do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from reports.fleet.problem import LIMITS, FleetProblem
from reports.fleet.program import least_exceeded

COLUMNS = ("resource", "limit", "lacking", "lacking_share", "alone")
"""``resource`` is a limit or ``source:<id>`` (its machines); ``alone``: more of it would do, whatever the others."""

SECONDS = 5.0
"""Most time of one of these solves; there is one a resource."""
MOST_SOURCES = 12
"""More present entries than this are only loosened together."""
_NOTHING = 1e-6


def shortage(problem: FleetProblem) -> pd.DataFrame:
    """One row a resource that is short, the one that lacks least of itself first; empty when nothing helps.

    Of sources only those are loosened that there is a number of: of the others a plan takes what it wants.
    """
    limits = [name for name in LIMITS if name in problem.limits]
    counted = problem.sources[np.isfinite(problem.sources["machines"])]
    entries = [f"source:{name}" for name in counted["source"]]
    rows = []
    for name in limits + (entries if len(entries) <= MOST_SOURCES else []):
        found = least_exceeded(problem, [name], seconds=SECONDS)
        if found is not None and found[name] > _NOTHING:
            rows.append(_row(problem, name, found[name], alone=True))
    if not rows:
        together = least_exceeded(problem, [*limits, *entries], seconds=2 * SECONDS) or {}
        rows = [_row(problem, name, value, alone=False) for name, value in together.items() if value > _NOTHING]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.sort_values(["alone", "lacking_share", "resource"], ascending=[False, True, True], ignore_index=True)


def _row(problem: FleetProblem, name: str, lacking: float, *, alone: bool) -> tuple[str, float, float, float, bool]:
    if name.startswith("source:"):
        machines = problem.sources.set_index("source")["machines"]
        limit, lacking = float(machines[name.removeprefix("source:")]), float(np.ceil(lacking - _NOTHING))
    else:
        limit = float(problem.limits[name])
    return name, limit, lacking, lacking / limit if limit else np.inf, alone


def without(problem: FleetProblem, limits: tuple[str, ...]) -> FleetProblem:
    """The same problem with some limits lifted."""
    return replace(problem, limits={name: value for name, value in problem.limits.items() if name not in limits})

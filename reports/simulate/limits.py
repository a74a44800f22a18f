"""Puts what the simulation allows back into the candidates: limit, load, capacity and cards by the same formulas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from reports.constraints import feasibility
from reports.evaluate import compile_blocks, run_program
from reports.formulas.meta import info
from reports.methods import Method

LEAF = "simulated_requests"
"""Requests of one replica that the simulation allows, as a limit; very large where nothing was simulated."""


def takes_limits(method: Method) -> bool:
    """Whether the method's limit is told what the simulation allows."""
    return any(LEAF in info(function).inputs for block in method.after for function in block.formulas)


def limit_for(load: float, safety_factor: float) -> float:
    """The limit of which the safety factor leaves ``load``: floor(limit x safety factor) is the load again."""
    return float(np.ceil(load / safety_factor * (1 - 1e-12)))


def limited(candidates: pd.DataFrame, method: Method, limits: Mapping[str, float]) -> pd.DataFrame:
    """Candidates as they come from the evaluation, those in ``limits`` (candidate_id -> limit) evaluated again with it.

    The layout stays: another one may carry more, and is found under another count or card.
    """
    chosen = candidates["candidate_id"].isin(list(limits)).to_numpy()
    if not chosen.any():
        return candidates
    rows = candidates[chosen].copy()
    rows[LEAF] = rows["candidate_id"].map(dict(limits)).to_numpy(dtype=np.float64)
    blocks = [*method.after, *method.sizing]
    made = {block.column(info(function).name) for block in blocks for function in block.formulas}
    columns = {
        str(name): rows[name].to_numpy()
        for name in rows.columns
        if name not in made and pd.api.types.is_numeric_dtype(rows[name])
    }
    program = compile_blocks(blocks, columns)
    with np.errstate(all="ignore"):
        run_program(program, columns)
        code = feasibility(method.name, columns)
    for name in made & set(rows.columns):
        rows[name] = np.broadcast_to(columns[name], len(rows))
    rows["excuse_code"], rows["feasible"] = code, code == 0
    result = candidates.copy()
    result.loc[chosen, rows.columns] = rows
    return result

"""Spare units: those the policies ask for, and the fewest with which the whole demand is served often enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.evaluate import compile_blocks, evaluate_frame, run_program
from reports.formulas import resilience
from reports.formulas.meta import Array, Formula, info
from reports.methods import Block

BLOCK = Block("Spares and availability", resilience.FORMULAS)
"""Evaluated over all candidates of the deciding method once their units are known."""

PROOF = Block("With one spare unit fewer", resilience.PROOF)
"""For the short list."""

SOLVED = "availability_spare_units"
LOSS, FEWER_LOSS = "loss_servers", "fewer_loss_servers"
TARGET = "availability_target_share"

UNITS = ("units_needed", "unit_cards", "server_cards")
RATES = ("card_failures_per_year", "card_repair_h", "server_failures_per_year", "server_repair_h")

MOST_SPARES, MOST_LOSSES = 10_000, 50
"""Where the searches give up and leave a blank; a target that is worth stating is met long before."""

_FIRST = (resilience.card_availability_share, resilience.server_availability_share, resilience.server_units)
_CHAIN = (
    resilience.sized_units,
    resilience.shared_servers,
    resilience.unit_availability_share,
    resilience.tolerated_servers,
    resilience.server_loss_share,
    resilience.availability_share,
)
_AVAILABILITY = compile_blocks([Block("", (*_FIRST, *_CHAIN))], (*UNITS, *RATES, "spare_units", LOSS))
_POLICIES = Block("", (resilience.server_units, resilience.spare_units))


def policy_columns() -> tuple[str, ...]:
    """What the number of spares depends on, besides the availability."""
    read: dict[str, None] = {}
    for function in _POLICIES.formulas:
        read.update(dict.fromkeys(info(function).inputs))
    return tuple(name for name in read if name not in ("server_units", SOLVED))


def best_losses(columns: Mapping[str, Any], spare_units: Array) -> tuple[Array, Array]:
    """How many lost servers to reckon with, and the availability that gives, for a number of spares in each row."""
    values = {name: np.asarray(columns[name], dtype=float) for name in (*UNITS, *RATES)}
    together = np.where(np.isfinite(spare_units), spare_units, 0)
    shared = np.maximum(np.floor(values["server_cards"] / values["unit_cards"] + 1e-9), 1)
    replaced = np.where(shared > 1, np.floor(together / shared), 0)
    most = int(min(np.nanmax(replaced, initial=0), MOST_LOSSES))
    losses = np.zeros(together.shape)
    best = np.full(together.shape, -np.inf)
    for count in range(most + 1):
        chain: dict[str, Any] = {**values, "spare_units": spare_units, LOSS: np.full(together.shape, float(count))}
        run_program(_AVAILABILITY, chain)
        found = np.where(count <= replaced, chain["availability_share"], -np.inf)
        better = found > best
        losses, best = np.where(better, float(count), losses), np.where(better, found, best)
    return losses, best


def least_spares(columns: Mapping[str, Any]) -> Array:
    """Fewest spare units with which the availability reaches its target, row by row; 0 where there is no target.

    ``columns`` holds ``availability_target_share`` (0 or NaN: none), ``UNITS`` and ``RATES``, arrays of one shape or
    numbers. NaN where the units are not known.
    """
    names = (*UNITS, *RATES, TARGET)
    arrays = np.broadcast_arrays(*(np.asarray(columns[name], dtype=float) for name in names))
    shape = arrays[0].shape
    known = {name: each.ravel() for name, each in zip(names, arrays, strict=True)}
    target = np.nan_to_num(known.pop(TARGET))
    spares = np.where(np.isfinite(known["units_needed"]), 0.0, np.nan)
    open_rows = np.flatnonzero((target > 0) & np.isfinite(spares) & np.isfinite(known["server_cards"]))
    for count in range(MOST_SPARES + 1):
        if not open_rows.size:
            return spares.reshape(shape)
        part = {name: each[open_rows] for name, each in known.items()}
        _, reached = best_losses(part, np.full(open_rows.size, float(count)))
        spares[open_rows[reached >= target[open_rows]]] = count
        open_rows = open_rows[reached < target[open_rows]]
    spares[open_rows] = np.nan
    return spares.reshape(shape)


def size(candidates: pd.DataFrame) -> pd.DataFrame:
    """Candidates with their spares, the cards that are paid for and the availability; blank where infeasible."""
    columns = {name: candidates[name].to_numpy(dtype=float) for name in (*UNITS, *RATES, TARGET, *policy_columns())}
    columns[SOLVED] = least_spares(columns)
    with np.errstate(all="ignore"):
        values: dict[str, Any] = dict(columns)
        run_program(compile_blocks([_POLICIES], values), values)
        spare = np.broadcast_to(values["spare_units"], len(candidates))
        losses, _ = best_losses(columns, spare)
        fewer, _ = best_losses(columns, np.maximum(spare - 1, 0))
    solved = {SOLVED: columns[SOLVED], LOSS: losses, FEWER_LOSS: fewer}
    return evaluate_frame(candidates.assign(**solved), (BLOCK,))


def formulas() -> tuple[Formula, ...]:
    """All formulas of this stage, in reading order."""
    return (*BLOCK.formulas, *PROOF.formulas)

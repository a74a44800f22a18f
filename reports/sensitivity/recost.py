"""The sizing and money formulas again, for all options and all cases at once: arrays (options, cases)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.cost.blocks import COST_BLOCKS, WAYS
from reports.evaluate import compile_blocks, run_program
from reports.methods import Block, Method
from reports.plan import spares
from reports.sensitivity.inputs import Uncertain

Values = NDArray[np.float64]


def blocks_of(method: Method) -> tuple[Block, ...]:
    """What is computed again: from the capacity of a unit to the money."""
    return (*method.sizing, spares.BLOCK, *COST_BLOCKS)


class Recost:
    """The chain compiled once for some rows of the short list."""

    def __init__(self, rows: pd.DataFrame, blocks: Sequence[Block]) -> None:
        made = {block.column(name) for block in blocks for name in block.made()}
        self.base: dict[str, Values] = {
            str(name): rows[name].to_numpy(dtype=float)[:, np.newaxis]
            for name in rows.columns
            if name not in made and pd.api.types.is_numeric_dtype(rows[name])
        }
        self.rows = len(rows)
        self.program = compile_blocks(blocks, self.base)

    def __call__(self, moved: Mapping[str, Values]) -> dict[str, Values]:
        """Every column, shaped (rows, cases), with the leaves in ``moved`` (same shape) in place of the known ones."""
        columns: dict[str, Values] = {**self.base, **moved}
        with np.errstate(all="ignore"):
            run_program(self.program, columns)
        return columns

    def moved(self, inputs: Sequence[Uncertain], values: Values) -> dict[str, Values]:
        """Leaves with each input at its row of ``values`` (inputs, cases)."""
        cases = values.shape[1]
        leaves: dict[str, Values] = {}
        for each, row in zip(inputs, values, strict=True):
            for index, leaf in each.members:
                if leaf not in leaves:
                    leaves[leaf] = np.repeat(self.base[leaf], cases, axis=1)
                leaves[leaf][index] = row
        return leaves

    def costs(self, columns: Mapping[str, Values], ways: Sequence[str]) -> Values:
        """Equivalent monthly cost, shaped (ways, rows, cases); infinite where a way has no price."""
        found = [np.asarray(columns[f"{way}_equivalent_amount_per_month"], dtype=float) for way in ways]
        shape = np.broadcast_shapes(*(each.shape for each in found), (self.rows, 1))
        stacked = np.stack([np.broadcast_to(each, shape) for each in found])
        return np.where(np.isfinite(stacked), stacked, np.inf)


def considered(compare: Sequence[str]) -> list[str]:
    """Ways the scenario compares, in the fixed order."""
    return [way for way in WAYS if way in compare]

"""The stage of the pipeline: what would change the money of the short list."""

from __future__ import annotations

from dataclasses import replace

from reports.run import Run
from reports.sensitivity.chances import chances
from reports.sensitivity.grid import grid
from reports.sensitivity.inputs import uncertain
from reports.sensitivity.recost import Recost, blocks_of, considered
from reports.sensitivity.tornado import tornado


def sensitivity(run: Run) -> Run:
    """The run with ``tornado``, ``chances`` and ``grid`` filled; empty where the short list is."""
    rows = run.shortlist.reset_index(drop=True)
    if rows.empty:
        return run
    blocks = blocks_of(run.method)
    inputs = uncertain(run, rows, blocks)
    recost, ways = Recost(rows, blocks), considered(run.scenario.costs.compare)
    return replace(
        run,
        tornado=tornado(rows, recost, inputs, ways),
        chances=chances(rows, recost, inputs, ways),
        grid=grid(run.winners()),
    )

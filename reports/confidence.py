"""How far an answer can be trusted: what was measured near it, and how many of its inputs rest on judgement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from reports.columns import LEAF, LEAVES, fact_reference
from reports.cost.blocks import CASHFLOW, CASHFLOW_RESULTS, WAYS
from reports.formulas.meta import info
from reports.run import Run

LABEL = "label"
"""Column of the short list with the evidence label, where the method has one."""

SCOPES: Mapping[str, tuple[str, ...]] = {"rent": ("offer", "market"), "buy": ("purchase",)}
"""Scopes of the inputs that only one way of getting the cards needs."""

ALONE: Mapping[str, tuple[str, ...]] = {"rent": (), "buy": ("server_power_kw", "servers_needed")}
"""Further columns of one way: of a server, spares need the size whichever way its cards are got."""


@dataclass(frozen=True)
class Support:
    """What stands behind some options."""

    labels: Mapping[str, int]
    """Evidence label -> how many of the options have it; empty where the method has no labels."""
    typical_error_share: float
    """Median size of the relative error of the measured figures nearest to them; NaN without any."""
    inputs: int
    """Different facts that their formulas read."""
    judged: int
    """Those of them whose basis is judgement."""
    judged_share: float


def support(run: Run, options: pd.DataFrame) -> Support:
    """Labels, error of the nearest servers, and the inputs of some rows of the short list, each fact counted once."""
    labels = options[LABEL].astype(str).value_counts(sort=False).to_dict() if LABEL in options else {}
    near = run.evidence[run.evidence["option_id"].isin(options["option_id"])] if len(run.evidence) else run.evidence
    bases = {
        (str(scope), str(key), str(column)): str(basis)
        for scope, key, column, basis in zip(
            run.facts["scope"], run.facts["key"], run.facts["column"], run.facts["basis"], strict=True
        )
    }
    read = {
        reference
        for row in options.to_dict("records")
        for reference in _references({str(name): value for name, value in row.items()}, inputs(run))
        if reference in bases
    }
    judged = sum(bases[reference] == "judgement" for reference in read)
    return Support(
        labels={str(label): int(count) for label, count in labels.items()},
        typical_error_share=float(near["error_share"].abs().median()) if len(near) else float("nan"),
        inputs=len(read),
        judged=judged,
        judged_share=judged / len(read) if read else float("nan"),
    )


def inputs(run: Run) -> tuple[str, ...]:
    """The inputs that the formulas of the run's chain read, in the order they are first read."""
    skipped = left_out(run)
    found: dict[str, None] = {}
    for block in run.blocks:
        for function in block.formulas:
            if info(function).name not in skipped:
                names = (block.resolve(name) for name in info(function).inputs)
                found.update(dict.fromkeys(name for name in names if name in LEAF))
    return tuple(found)


def left_out(run: Run) -> frozenset[str]:
    """Columns without meaning because the scenario considers one way only: inputs of the other, and what follows."""
    others = [way for way in WAYS if way not in run.scenario.costs.compare]
    scopes = {scope for way in others for scope in SCOPES[way]}
    columns = {leaf.name for leaf in LEAVES if leaf.scope in scopes} | {name for way in others for name in ALONE[way]}
    made = [(info(function).name, info(function).inputs) for block in run.blocks for function in block.formulas]
    made += [(row.column, row.reads) for row in (*CASHFLOW, *CASHFLOW_RESULTS)]
    for column, reads in made:
        if columns.intersection(reads):
            columns.add(column)
    return frozenset(columns)


def _references(row: dict[str, object], names: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    """Which facts of the run the inputs of one option are; what a search or the layout set is no fact."""
    for name in names:
        try:
            yield fact_reference(row, name)
        except KeyError:
            continue

"""The same question asked again with something changed: only some combinations, through the same stages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reports import recommend
from reports.catalog.records import Catalog
from reports.cost.blocks import COST_BLOCKS, rank
from reports.cost.offers import attach
from reports.evaluate import evaluate, evaluate_frame
from reports.matrix import Space, expand
from reports.methods import METHODS
from reports.plan import spares
from reports.scenario.schema import Scenario

ASKED_FOR = (
    *recommend.OPTION, "sized_cards", "servers_needed", "spare_units", "monthly_cost_amount", "ttft_ms", "tpot_ms",
)  # fmt: skip
"""What is read of an option that was asked for again."""

TAILS = ("ttft_tail_ms", "tpot_tail_ms")
"""Read where the method says how late the latest are, at the statistic of the target."""

Combination = tuple[str, str, str, str]
"""Service, quantization, gpu, interconnect: what an option is."""


def priced_options(scenario: Scenario, catalog: Catalog, wanted: Collection[Combination]) -> pd.DataFrame:
    """Options of the wanted combinations with spares, prices, ``monthly_cost_amount`` and ``rank``, by the deciding
    method; what cannot run, or has no price, has no rank. Simulation is not repeated."""
    method = METHODS[scenario.methods[0]]
    space = only(expand(_narrow(scenario, wanted), catalog, method), wanted)
    found = recommend.conclude(evaluate(space, method, later=(spares.BLOCK, *COST_BLOCKS)), method.name)
    if found.empty:
        return found
    options, _, _ = attach(recommend.options(spares.size(found)), scenario, catalog)
    return rank(evaluate_frame(options, COST_BLOCKS), ways=scenario.costs.compare)


def cheapest(options: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Service -> ``ASKED_FOR`` of its cheapest option."""
    if options.empty:
        return {}
    found = options.loc[options["rank"] == 1, [*ASKED_FOR, *(name for name in TAILS if name in options)]]
    return {str(row["service"]): row for row in found.to_dict("records")}


def combinations(options: pd.DataFrame) -> list[Combination]:
    """The combination of every option of a frame."""
    rows = options[recommend.OPTION].astype(str).itertuples(index=False)
    return [(str(row[0]), str(row[1]), str(row[2]), str(row[3])) for row in rows]


def only(space: Space, wanted: Collection[Combination]) -> Space:
    """A space with the candidates of the wanted combinations alone."""
    keys = ("service", "quantization", "gpu", "interconnect")
    codes = {key: {name: code for code, name in enumerate(space.axes[key])} for key in keys}
    known = {
        tuple(codes[key][name] for key, name in zip(keys, each, strict=True))
        for each in wanted
        if all(name in codes[key] for key, name in zip(keys, each, strict=True))
    }
    sizes = [len(space.axes[key]) for key in keys]
    numbered = np.ravel_multi_index([space.codes[key] for key in keys], sizes)
    keep = np.isin(numbered, [int(np.ravel_multi_index(each, sizes)) for each in known])
    return replace(
        space,
        codes={key: values[keep] for key, values in space.codes.items()},
        group=space.group[keep],
        static_excuse=space.static_excuse[keep],
    )


def _narrow(scenario: Scenario, wanted: Collection[Combination]) -> Scenario:
    """The scenario with no more quantizations, cards and links than the wanted combinations have."""
    axes = {
        name: tuple(dict.fromkeys(each[place] for each in wanted))
        for place, name in ((1, "quantization"), (2, "gpu"), (3, "interconnect"))
    }
    return scenario.model_copy(update={"matrix": scenario.matrix.model_copy(update=axes)})

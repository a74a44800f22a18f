"""What an earlier choice costs under other inputs: the same card, format, link, unit and way, sized and priced anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from reports import recommend
from reports.catalog.records import Catalog
from reports.cost.blocks import COST_BLOCKS, WAYS, rank
from reports.cost.offers import attach
from reports.errors import InputError
from reports.evaluate import evaluate, evaluate_frame
from reports.history.past import Choice, choice_of
from reports.matrix import expand
from reports.methods import METHODS
from reports.plan import again, spares
from reports.run import Run
from reports.scenario.schema import Scenario
from reports.simulate.check import settle
from reports.simulate.limits import LEAF, limited

Limits = Mapping[str, float]
"""Candidate -> requests of one replica that the simulation allows, as a limit."""

Chosen = Callable[[pd.DataFrame], pd.DataFrame]
"""From sized candidates to one row a service."""


@dataclass(frozen=True)
class Reckoned:
    """Choices under some inputs, and what the simulation allowed them."""

    choices: Mapping[str, Choice]
    limits: Limits


def reckon(
    scenario: Scenario, catalog: Catalog, held: Mapping[str, Choice], limits: Limits | None = None
) -> Reckoned:
    """Each held choice with its cards and amount under these inputs, simulated unless ``limits`` are known.

    Where it cannot run or has no price any more, the best unit of the same option stands for it, else the cheapest
    choice of the service; its id tells. A service that has none is left out.
    """
    found = _reckoned(scenario, catalog, held, limits)
    lost = [name for name in held if name not in found.choices]
    if not lost:
        return found
    alone = scenario.model_copy(
        update={"services": tuple(each for each in scenario.services if each.name in lost)}
    )
    other = _reckoned(alone, catalog, dict.fromkeys(lost), limits)
    return Reckoned({**found.choices, **other.choices}, {**found.limits, **other.limits})


def _reckoned(
    scenario: Scenario, catalog: Catalog, held: Mapping[str, Choice | None], limits: Limits | None
) -> Reckoned:
    """The held choices, or the cheapest of the services without one."""
    method = METHODS[scenario.methods[0]]
    wanted = [choice.combination for choice in held.values() if choice is not None]
    try:
        space = expand(_with_cards(scenario, catalog, held.values()), catalog, method)
    except InputError:  # a price or rate is missing altogether
        return Reckoned({}, {})
    space = again.only(space, wanted) if wanted else space
    candidates = evaluate(space, method, later=(spares.BLOCK, *COST_BLOCKS))
    if candidates.empty:
        return Reckoned({}, {})

    def sized(known: Limits) -> pd.DataFrame:
        frame = recommend.conclude(limited(candidates, method, known), method.name)
        return _chosen(spares.size(frame), scenario, catalog, held)

    if limits is None:
        def recommended(known: Limits) -> Run:
            return _stub(scenario, catalog, sized(known))

        rows = settle(recommended).shortlist
    else:
        rows = sized(limits)
    found = {str(row["service"]): choice_of({str(key): value for key, value in row.items()})
             for row in rows.to_dict("records")}  # fmt: skip
    lowered = rows[rows[LEAF] < candidates[LEAF].max()] if LEAF in rows else rows.iloc[:0]
    return Reckoned(found, dict(zip(lowered["candidate_id"].astype(str), lowered.get(LEAF, ()), strict=True)))


def _with_cards(scenario: Scenario, catalog: Catalog, held: Collection[Choice | None]) -> Scenario:
    """The scenario over the cards, links and unit sizes of the held choices besides its own."""
    chosen = [choice for choice in held if choice is not None and choice.gpu in catalog.gpus]
    counts = [int(size) for each in chosen if (size := each.candidate_id.split(".")[-2].removesuffix("x")).isdecimal()]
    matrix = scenario.matrix
    if not chosen:
        return scenario
    return scenario.model_copy(
        update={
            "matrix": matrix.model_copy(
                update={
                    "gpu": tuple(dict.fromkeys(each.gpu for each in chosen)),
                    "interconnect": tuple(dict.fromkeys(each.interconnect for each in chosen)),
                    "count": tuple(dict.fromkeys((*matrix.count, *counts))),
                }
            )
        }
    )


def _chosen(
    candidates: pd.DataFrame, scenario: Scenario, catalog: Catalog, held: Mapping[str, Choice | None]
) -> pd.DataFrame:
    """One row a service, priced: the held candidate and way, else the least of its option, else the cheapest."""
    services = candidates["service"].astype(str)
    ids = {name: choice.candidate_id for name, choice in held.items() if choice is not None}
    same = candidates["candidate_id"].astype(str) == services.map(ids)
    same &= candidates["feasible"]
    kept = same | ~services.isin(set(services[same]))
    options, _, _ = attach(recommend.options(candidates[kept]), scenario, catalog)
    priced = evaluate_frame(options, COST_BLOCKS)
    rows = []
    for name, choice in held.items():
        own = priced[priced["service"].astype(str) == name]
        ways = (choice.way,) if choice is not None else scenario.costs.compare
        ranked = rank(own, ways=ways)
        if choice is not None and not (ranked["rank"] == 1).any():
            ranked = rank(own, ways=[way for way in WAYS if way in scenario.costs.compare])
        rows.append(ranked[ranked["rank"] == 1])
    return pd.concat(rows, ignore_index=True)


def _stub(scenario: Scenario, catalog: Catalog, rows: pd.DataFrame) -> Run:
    """A run with nothing in it but the options to simulate."""
    nothing = pd.DataFrame()
    return Run(
        scenario=scenario, catalog=catalog, method=METHODS[scenario.methods[0]], facts=nothing, candidates=nothing,
        options=rows, shortlist=rows.assign(winner=False), blocks=(), timelines=nothing, cost_lines=nothing,
        verdicts=nothing, excuses=nothing, evidence=nothing, warnings=(),
    )  # fmt: skip

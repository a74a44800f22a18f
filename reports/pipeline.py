"""The flow on one page: a scenario and a catalog in, one Run out; a Run in, the files of a report out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import pandas as pd

from reports import loads, recommend
from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.constraints import verdicts
from reports.cost import api_price, payments
from reports.cost.blocks import CASHFLOW_BLOCK, COST_BLOCKS, PURCHASE_BLOCKS, rank
from reports.cost.lines import cost_lines
from reports.cost.offers import attach
from reports.cost.timeline import evaluate as evaluate_timeline
from reports.cost.ways import ways
from reports.cover import warnings as warnings_on_cover
from reports.evaluate import evaluate as evaluate_space
from reports.evaluate import evaluate_frame
from reports.facts import collect
from reports.field.evidence import COLUMNS, bands, evidence
from reports.field.measured import shipped
from reports.fleet import plan as fleet_plan
from reports.history import record
from reports.history.stage import compared, find_earlier, what_happened
from reports.matrix import expand
from reports.methods import METHODS
from reports.plan import delivery, growth, outlook, pools, spares, switches
from reports.pricebook.pin import pinned
from reports.run import Run
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario
from reports.sensitivity.stage import sensitivity
from reports.simulate.check import settle
from reports.simulate.limits import limited

Progress = Callable[[str], None]
Stage = Callable[[Run], Run]

LATER = (spares.BLOCK, *COST_BLOCKS, *PURCHASE_BLOCKS, CASHFLOW_BLOCK, growth.BLOCK, growth.MONTHS)
"""Blocks that read the candidates after their evaluation."""


def nearby(run: Run) -> Run:
    """What was measured near the short list, looked up once it is settled."""
    if run.method.name != "roofline" or run.shortlist.empty:
        return run
    return replace(run, evidence=evidence(run.shortlist, run.catalog, shipped(run.catalog)))


STAGES: tuple[Stage, ...] = (
    nearby,
    loads.stage,
    outlook.stage,
    fleet_plan.stage,
    switches.stage,
    pools.stage,
    ways,
    sensitivity,
    payments.stage,
)
"""What follows the recommendation, in order: each returns the run with its own frames filled, and changes no other."""


def evaluate(scenario: Scenario, catalog: Catalog) -> Run:
    """Every computing stage, in order. Raises InputError when a price or rate the scenario needs is missing."""
    catalog = pinned(scenario, catalog)
    spaces = [expand(scenario, catalog, METHODS[name]) for name in scenario.methods]
    evaluated = [
        evaluate_space(space, METHODS[name], later=LATER) for space, name in zip(spaces, scenario.methods, strict=True)
    ]
    first = METHODS[scenario.methods[0]]

    def recommended(limits: Mapping[str, float]) -> Run:
        return _recommended(scenario, catalog, [limited(evaluated[0], first, limits), *evaluated[1:]])

    return reduce(lambda state, stage: stage(state), STAGES, settle(recommended))


def _recommended(scenario: Scenario, catalog: Catalog, evaluated: Sequence[pd.DataFrame]) -> Run:
    """From the evaluated candidates of each method to a recommendation with its money; again where the simulation
    allows an option less."""
    frames = []
    for name, candidates in zip(scenario.methods, evaluated, strict=True):
        found = spares.size(recommend.conclude(candidates, name))
        frames.append(_with_bands(name, found, catalog))
    method = METHODS[scenario.methods[0]]
    options, price_facts, warnings = attach(recommend.options(frames[0]), scenario, catalog)
    marked = recommend.mark(rank(evaluate_frame(options, COST_BLOCKS), ways=scenario.costs.compare))
    shortlist = evaluate_frame(recommend.shortlist(marked), (*method.proofs, spares.PROOF))
    shortlist, delivery_facts = delivery.attach(shortlist, scenario, catalog)
    shortlist = growth.with_order_flag(evaluate_frame(shortlist, PURCHASE_BLOCKS))
    timelines, summary = evaluate_timeline(shortlist)
    facts = pd.concat([collect(scenario, catalog, method).frame, price_facts, delivery_facts], ignore_index=True)
    facts = facts.drop_duplicates(["scope", "key", "column"], keep="last", ignore_index=True)
    shortlist = pd.concat([shortlist, summary], axis=1)
    candidates = pd.concat(frames, ignore_index=True).copy()
    return Run(
        scenario=scenario,
        catalog=catalog,
        method=method,
        facts=facts,
        candidates=candidates,
        options=marked,
        shortlist=shortlist,
        blocks=(*method.blocks(), spares.BLOCK, spares.PROOF, *COST_BLOCKS, *PURCHASE_BLOCKS, growth.BLOCK),
        timelines=timelines,
        cost_lines=cost_lines(shortlist, timelines, scenario),
        verdicts=verdicts(method.name, method.points()[0], marked),
        excuses=recommend.excuses(candidates, marked),
        evidence=pd.DataFrame(columns=list(COLUMNS)),
        warnings=(
            *warnings,
            *api_price.warnings(scenario, catalog),
            *warnings_on_cover(scenario, catalog, shortlist, facts),
        ),
    )


def _with_bands(method: str, candidates: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """Candidates with their label and 80 % bands; only the roofline predicts what servers measure."""
    if method != "roofline":
        return candidates
    return pd.concat([candidates, bands(candidates, catalog)], axis=1)


@dataclass(frozen=True)
class BuildResult:
    """What a build wrote."""

    files: list[Path]
    run: Run


def build(
    scenario_path: Path,
    *,
    out: Path = Path("out"),
    catalog: Sequence[Path] = (),
    sets: Sequence[str] = (),
    overrides: Sequence[str] = (),
    period: str | None = None,
    previous: str | None = None,
    actuals: Path | None = None,
    progress: Progress = lambda step: None,
) -> BuildResult:
    """Evaluate one scenario and write its report folder ``out/<period>/<scenario>/`` in one step, or not at all; then
    its part of the history, ``out/history``.

    ``previous`` is the folder of an earlier run, or ``auto`` for the latest earlier month under ``out``;
    ``actuals`` a table of what happened, shown beside the forecasts of the runs under ``out``.
    """
    from reports.outputs import write_outputs
    from reports.render.glyphs import require_drawable_scenario

    progress("catalogs")
    book = read_catalog(catalog)
    progress("scenario")
    scenario = read_scenario(scenario_path, book, sets=sets, overrides=overrides, period=period)
    require_drawable_scenario(scenario, str(scenario_path))
    progress("matrix")
    earlier = find_earlier(previous, out, scenario) if previous else None
    happened = what_happened(actuals, out, scenario) if actuals else None
    run = evaluate(scenario, book)
    if previous:
        run = replace(compared(run, earlier, progress), course=record.course(run, out))
    if happened is not None:
        run = replace(run, actuals=happened)
    folder = out / scenario.period / scenario.name
    result = BuildResult(files=write_outputs(run, folder, progress, scenario_path.parent), run=run)
    record.write(run, out)
    return result


def answer(run: Run, language: str) -> list[str]:
    """The result in three lines: what to do, the dearest decision in it, and how much was compared."""
    from reports.render.i18n import translator
    from reports.render.view_summary import answer_lines
    from reports.render.wording import Wording

    return answer_lines(Wording(run, language, translator(language)))

"""The flow on one page: a scenario and a catalog in, one Run out; a Run in, the files of a report out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reports import recommend
from reports.catalog.read import read_catalog
from reports.catalog.records import Catalog
from reports.constraints import verdicts
from reports.cost.blocks import COST_BLOCKS, rank
from reports.cost.lines import cost_lines
from reports.cost.offers import attach
from reports.cost.quotes import Listed
from reports.cost.timeline import evaluate as evaluate_timeline
from reports.evaluate import evaluate as evaluate_space
from reports.evaluate import evaluate_frame
from reports.facts import collect
from reports.field.evidence import COLUMNS, bands, evidence
from reports.field.measured import shipped
from reports.matrix import expand
from reports.methods import METHODS
from reports.run import Run
from reports.scenario.read import read_scenario
from reports.scenario.schema import Scenario

Progress = Callable[[str], None]


def evaluate(scenario: Scenario, catalog: Catalog) -> Run:
    """Every computing stage, in order. Raises InputError when a price or rate the scenario needs is missing."""
    frames = []
    for name in scenario.methods:
        space = expand(scenario, catalog, METHODS[name])
        found = recommend.conclude(evaluate_space(space, METHODS[name], later=COST_BLOCKS), name)
        frames.append(_with_bands(name, found, catalog))
    method = METHODS[scenario.methods[0]]
    options, price_facts, warnings = attach(recommend.options(frames[0]), scenario, catalog)
    marked = recommend.mark(rank(evaluate_frame(options, COST_BLOCKS), ways=scenario.costs.compare))
    shortlist = evaluate_frame(recommend.shortlist(marked), method.proofs)
    timelines, summary = evaluate_timeline(shortlist)
    facts = pd.concat([collect(scenario, catalog, method).frame, price_facts], ignore_index=True)
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
        blocks=(*method.blocks(), *COST_BLOCKS),
        timelines=timelines,
        cost_lines=cost_lines(shortlist, timelines, scenario),
        verdicts=verdicts(method.name, method.points()[0], marked),
        excuses=recommend.excuses(candidates, marked),
        evidence=_nearest(method.name, shortlist, catalog),
        warnings=(*warnings, *_warnings(scenario, catalog, shortlist, facts)),
    )


def _with_bands(method: str, candidates: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """Candidates with their label and 80 % bands; only the roofline predicts what servers measure."""
    if method != "roofline":
        return candidates
    return pd.concat([candidates, bands(candidates, catalog)], axis=1)


def _nearest(method: str, shortlist: pd.DataFrame, catalog: Catalog) -> pd.DataFrame:
    """What was measured near the short list."""
    if method != "roofline" or shortlist.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    return evidence(shortlist, catalog, shipped(catalog))


def _warnings(
    scenario: Scenario, catalog: Catalog, shortlist: pd.DataFrame, facts: pd.DataFrame
) -> tuple[tuple[str, dict[str, object]], ...]:
    """What a reader must know before the numbers: targets this method cannot judge, and facts nobody confirmed."""
    found: list[tuple[str, dict[str, object]]] = []
    targets = scenario.targets
    if targets:
        for label, statistic in (("TTFT", targets.ttft_statistic), ("TPOT", targets.tpot_statistic)):
            if statistic != "mean":
                found.append(
                    (
                        "The {label} target is a {statistic}; the prediction compared with it is a mean.",
                        {"label": label, "statistic": statistic.upper()},
                    )
                )
    winners = shortlist[shortlist["winner"]] if len(shortlist) else shortlist
    cards = sorted(set(winners["gpu"].astype(str))) if len(winners) else []
    doubtful = facts[~facts["confirmed"].astype(bool)]
    unconfirmed = sorted(set(doubtful.loc[doubtful["scope"] == "gpu", "key"]) & set(cards))
    if unconfirmed:
        found.append(
            ("Data-sheet figures of {cards} are not confirmed by a source.", {"cards": Listed(unconfirmed)})
        )
    split = winners[winners["tensor_parallel"] > 1] if len(winners) else winners
    links = set(doubtful.loc[doubtful["scope"] == "link", "key"])
    guessed = sorted(set(split.loc[split["link_key"].isin(links), "gpu"].astype(str))) if len(split) else []
    if guessed:
        found.append(
            (
                "The link between cards of {cards} was not measured: latency is extrapolated.",
                {"cards": Listed(guessed)},
            )
        )
    consumer = [card for card in cards if "consumer" in catalog.gpus[card].form_factor]
    if consumer:
        found.append(
            (
                "{cards}: consumer cards. The vendor's driver licence excludes data centres; check before ordering.",
                {"cards": Listed(consumer)},
            )
        )
    return tuple(found)


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
    progress: Progress = lambda step: None,
) -> BuildResult:
    """Evaluate one scenario and write its report folder ``out/<period>/<scenario>/`` in one step, or not at all."""
    from reports.outputs import write_outputs
    from reports.render.glyphs import require_drawable_scenario

    progress("catalogs")
    book = read_catalog(catalog)
    progress("scenario")
    scenario = read_scenario(scenario_path, book, sets=sets, overrides=overrides, period=period)
    require_drawable_scenario(scenario, str(scenario_path))
    progress("matrix")
    run = evaluate(scenario, book)
    return BuildResult(files=write_outputs(run, out / scenario.period / scenario.name, progress), run=run)


def answer(run: Run, language: str) -> list[str]:
    """The result in three lines: what to do, the dearest decision in it, and how much was compared."""
    from reports.render.i18n import translator
    from reports.render.view_summary import answer_lines
    from reports.render.wording import Wording

    return answer_lines(Wording(run, language, translator(language)))
